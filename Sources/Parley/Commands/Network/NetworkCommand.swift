import ArgumentParser
import Platform
import Relay
import RelayNetwork

struct NetworkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network", abstract: "Start, stop and inspect the private network; create and invite users.",
        subcommands: [
            NetworkStartCommand.self, NetworkStopCommand.self, NetworkStatusCommand.self, NetworkUserCommand.self,
            NetworkKeyCommand.self, NetworkTokenCommand.self, NetworkInviteCommand.self, NetworkProvisionCommand.self,
            NetworkServeCommand.self, NetworkClusterCommand.self, NetworkBlockCommand.self, NetworkUnblockCommand.self,
            NetworkHostCommand.self,
        ])
}

struct NetworkStartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start the private network and keep it running.",
        discussion: "With --listen, users invited by parley network invite can use it too, until it is stopped.")

    @Option(
        help: ArgumentHelp(
            "An address of this machine to listen at, 0.0.0.0 for all of them; port 4222 if none is named.",
            valueName: "address"))
    var listen: String?

    @Option(help: ArgumentHelp("The server's certificate, in PEM.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "The certificate authority, in PEM, if others' systems do not trust it.", valueName: "file"))
    var tlsCa: String?

    @Flag(help: "Run in this process until a signal, for a service manager.") var foreground = false
    @OptionGroup var logging: LoggingOption
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key go together.")
        }
        guard tlsCert != nil || tlsCa == nil else { throw ValidationError("--tls-ca goes with --tls-cert.") }
        guard listen != nil || tlsCert == nil else { throw ValidationError("--tls-cert goes with --listen.") }
    }

    func run() async throws {
        var tls: NetworkListener.TLS?
        if let tlsCert, let tlsKey {
            tls = NetworkListener.TLS(certificateFile: tlsCert, keyFile: tlsKey, authorityFile: tlsCa)
        }
        let listener = try listen.map { try NetworkListener(listen: $0, tls: tls) }
        guard !foreground else {
            var options = NetworkHost.Options()
            if let logger = try logging.logger() { options.logger = logger }
            return try await NetworkControl.run(listener: listener, options: options)
        }
        _ = try await NetworkControl.start(listener: listener, hostCommand: Connector.hostCommand)
        try await NetworkStatusCommand.write(json: json)
    }
}

struct NetworkStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop the private network, now or after its last client.",
        discussion: "If clients still use it, it stops after the last one, and the exit status is 75.")
    @Flag(help: "Stop it even while clients use it.") var force = false
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        let outcome = try await NetworkControl.stop(evenIfUsed: force)
        if json { try await NetworkStatusCommand.write(json: true) }
        guard outcome == .inUse else { return }
        throw CommandFailure(
            .notAcknowledged,
            "Clients still use the network. It stops after the last one, or now with --force.")
    }
}

struct NetworkStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether the private network is running.",
        discussion: """
            With --network it reports on a network on a cluster: its servers, each stream's leader, copies and size, its \
            services and connected users. Whatever does not answer is reported on standard error.
            """)
    @OptionGroup var choice: NetworkChoice
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        guard choice.network != nil else { return try await Self.write(json: json) }
        try await Self.write(choice.directory(), json: json)
    }

    static func write(_ directory: NetworkDirectory, json: Bool) async throws {
        let report = try await directory.report()
        let addresses = try directory.cluster()?.servers ?? []
        if json {
            return Output.json(
                report.json, ["addresses": MessageValue(addresses), "store": .string(directory.path)])
        }
        for line in report.lines { Output.line(line) }
        Output.line("reached at " + addresses.map(Output.safe).joined(separator: ", "))
        for trouble in report.troubles { Output.complain("parley: \(trouble)") }
    }

    static func write(json: Bool) async throws {
        let directory = NetworkDirectory.standard()
        let network = try await directory.running()
        let clients = if let network { try? await directory.clientCount(of: network) } else { Int?.none }
        if json {
            Output.json([
                "running": .bool(network != nil), "server": MessageValue(network?.url),
                "listens": MessageValue(network?.listens), "version": MessageValue(network?.serverVersion),
                "store": .string(directory.store), "clients": MessageValue(clients),
            ])
        } else if let network {
            let connected = clients.map { ", \($0) connected" } ?? ""
            Output.line("running at \(network.url), nats-server \(network.serverVersion)\(connected)")
            if let listens = network.listens { Output.line("listens at \(listens)") }
            Output.line("data in \(directory.store)")
        } else {
            Output.line("not running")
        }
    }
}

struct NetworkUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Create users of the private network, list them, and manage their rights.",
        subcommands: [
            NetworkUserAddCommand.self, NetworkUserListCommand.self, NetworkUserShowCommand.self,
            NetworkUserGrantCommand.self, NetworkUserExpireCommand.self, NetworkUserKickCommand.self,
            NetworkUserBanCommand.self, NetworkUserUnbanCommand.self, NetworkUserDeactivateCommand.self,
            NetworkUserActivateCommand.self,
        ])
}

/// `parley network host`: the process that keeps the private network; clients start it automatically.
struct NetworkHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Keep the private network running.", shouldDisplay: false)

    func run() async throws {
        if case .failed(let error) = await NetworkHost().run() { throw ExitCode(of: CommandFailure(error).code) }
    }
}
