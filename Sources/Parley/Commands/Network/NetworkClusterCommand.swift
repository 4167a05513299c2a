import ArgumentParser
import Platform
import Relay
import RelayNetwork

struct NetworkClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Run three servers on this machine, with a network that each has a copy of.",
        discussion: """
            You are a user of it, by parley --profile cluster, and its administrator, by --network cluster. It listens on \
            this machine only.
            """,
        subcommands: [
            NetworkClusterStartCommand.self, NetworkClusterStopCommand.self, NetworkClusterStatusCommand.self,
            NetworkClusterHostCommand.self,
        ])
}

struct NetworkClusterStartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start the cluster, with earlier data if there is any, and write a profile.")

    @Option(help: ArgumentHelp("Your user name in it; by default your login name.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("The configuration file for the profile.", valueName: "file"))
    var config: String?

    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        let cluster = LocalCluster.standard(environment: environment)
        // Everything that can fail early comes before servers are started.
        _ = try profiles()
        let name = user ?? ConnectionOptions.loginName(environment)
        if self.credentials() == nil || user != nil { _ = try UserName(name) }
        if isatty(STDERR_FILENO) == 1, try await cluster.directory.running() == nil {
            Output.complain("parley: starting three servers, which takes a few seconds")
        }
        let (running, ranBefore) = try await cluster.start(
            hostCommand: [Connector.executablePath, "network", "cluster", "host"])
        if ranBefore { Output.complain("parley: the cluster runs already") }
        // Keeps the same user as before.
        let kept = user == nil ? self.credentials(in: running) : nil
        let credentials = if let kept { kept } else { try await cluster.credentials(for: name) }
        let outcome = Result { try keep(running, credentials, isOwnChoice: user != nil) }
        try await NetworkClusterStatusCommand.write(json: json)
        try outcome.get()
        if !json { Output.line("use it by parley --profile \(LocalCluster.name)") }
    }

    private func profiles() throws(CommandFailure) -> ProfileWriter {
        try ProfileWriter(flag: config, ProcessInfo.processInfo.environment)
    }

    /// The credentials file of the cluster's profile, if it is readable.
    ///
    /// - Parameter cluster: the cluster that the profile must be for; nil if not known yet.
    private func credentials(in cluster: NetworkDescription? = nil) -> String? {
        guard let known = (try? profiles())?.profile(LocalCluster.name), let file = known.creds,
            FileManager.default.isReadableFile(atPath: file)
        else { return nil }
        guard let cluster else { return file }
        return known.namespace == cluster.namespace && known.hash == cluster.hash ? file : nil
    }

    /// Writes the profile, or updates the servers in an existing one.
    ///
    /// - Parameter isOwnChoice: whether to switch the profile to these credentials.
    /// - Throws: why it cannot; the cluster can be used without the profile.
    private func keep(_ cluster: NetworkDescription, _ credentials: String, isOwnChoice: Bool) throws(CommandFailure) {
        let writer = try profiles()
        let servers = MessageValue(cluster.servers)
        guard let known = writer.profile(LocalCluster.name) else {
            let settings: MessageMap = [
                "servers": servers, "creds": .string(credentials), "namespace": .string(cluster.namespace),
                "hash": .string(cluster.hash), "api": .string(cluster.api),
            ]
            return try writer.write(writer.adding(LocalCluster.name, settings))
        }
        guard known.namespace == cluster.namespace, known.hash == cluster.hash else {
            throw CommandFailure(
                .cannotCreate,
                "The profile “\(LocalCluster.name)” is for something else: rename it and start again, or use --server "
                    + "\(cluster.servers.first ?? "URL") --creds \(credentials).")
        }
        if isOwnChoice, let creds = known.creds, creds != credentials {
            try writer.write(writer.replacing(["profiles", LocalCluster.name, "creds"], .string(credentials)))
            return try keep(cluster, credentials, isOwnChoice: false)
        }
        if known.servers != cluster.servers {
            try writer.write(writer.replacing(["profiles", LocalCluster.name, "servers"], servers))
        }
    }
}

struct NetworkClusterStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop the servers; stored data stays.")
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        let ran = try await LocalCluster.standard().stop()
        if json { return try await NetworkClusterStatusCommand.write(json: true) }
        Output.line(ran ? "stopped" : "not running")
    }
}

struct NetworkClusterStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether the cluster is running.")
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws { try await Self.write(json: json) }

    static func write(json: Bool) async throws {
        let directory = LocalCluster.standard().directory
        let isHosted = try directory.isHosted()
        if isHosted, try directory.announced() != nil {
            // The host restarts servers that do not answer now.
            try await NetworkStatusCommand.write(directory, json: json)
            if !json { Output.line("data in \(directory.path)") }
        } else if json {
            Output.json(
                isHosted ? ["running": false, "starting": true] : ["running": false],
                [
                    "server": .null, "version": .null, "store": .string(directory.path), "clients": .null,
                    "servers": [], "addresses": [],
                ])
        } else {
            let progress = "see \(directory.hostLog) for the progress"
            Output.line(isHosted ? "starting: \(progress)" : "not running")
        }
    }
}

/// `parley network cluster host`: the process that keeps the cluster; `start` starts it.
struct NetworkClusterHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Keep the cluster running.", shouldDisplay: false)

    func run() async throws {
        if case .failed(let error) = await LocalClusterHost().run() { throw ExitCode(of: CommandFailure(error).code) }
    }
}
