import ArgumentParser
import Relay
import RelayNetwork

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `parley network`: the private network as a service, and its users.
struct NetworkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "network", abstract: "Start, stop and look at the private network; make users.",
        subcommands: [
            NetworkStartCommand.self, NetworkStopCommand.self, NetworkStatusCommand.self, NetworkUserCommand.self,
            NetworkHostCommand.self,
        ])
}

/// `parley network start`.
struct NetworkStartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start the private network and keep it running.")
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        try await reportingFailures {
            _ = try await NetworkControl.start(hostCommand: Connector.hostCommand)
            try await NetworkStatusCommand.write(json: json)
        }
    }
}

/// `parley network stop`.
struct NetworkStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop the private network, or let it end with its last client.")
    @Flag(help: "Stop it even while clients use it.") var force = false
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        try await reportingFailures {
            if try await NetworkControl.stop(evenIfUsed: force) == .inUse {
                Output.complain("parley: clients still use the network; it ends after the last one, or with --force")
            }
            if json { try await NetworkStatusCommand.write(json: true) }
        }
    }
}

/// `parley network status`.
struct NetworkStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Tell whether the private network runs, and how.")
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        try await reportingFailures { try await Self.write(json: json) }
    }

    static func write(json: Bool) async throws {
        let status = try await NetworkDirectory.standard().status()
        if json {
            Output.json([
                "running": .bool(status.running), "server": MessageValue(status.server),
                "version": MessageValue(status.version), "store": .string(status.store),
                "clients": status.clients.map { .int(Int64($0)) } ?? .null,
            ])
        } else if status.running {
            let clients = status.clients.map { ", \($0) connected" } ?? ""
            Output.line("running at \(status.server ?? "?"), nats-server \(status.version ?? "?")\(clients)")
            Output.line("data in \(status.store)")
        } else {
            Output.line("not running")
        }
    }
}

/// `parley network user`.
struct NetworkUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Make users of the private network, and keep them out.",
        subcommands: [
            NetworkUserAddCommand.self, NetworkUserKickCommand.self, NetworkUserBanCommand.self,
            NetworkUserUnbanCommand.self, NetworkUserDeactivateCommand.self, NetworkUserActivateCommand.self,
        ])
}

/// `parley network user add`.
struct NetworkUserAddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Make a user and write the credentials file.")

    @Option(help: ArgumentHelp("How long the credentials hold, such as 12h or 30d.", valueName: "length"))
    var expires: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("Topics the user may use; all when left out.", valueName: "pattern"))
    var topics: [String] = []

    @Option(help: ArgumentHelp("Where the credentials file goes.", valueName: "file"))
    var out: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    @Argument(help: "The user's name.")
    var name: String

    func validate() throws {
        if let expires, PastTime.seconds(expires) == nil {
            throw ValidationError("--expires takes a length such as 12h or 30d.")
        }
    }

    func run() throws {
        try reportingFailures {
            let now = WallClock.now.milliseconds / 1_000
            let end = expires.flatMap(PastTime.seconds).map { now + Int64($0) }
            let directory = NetworkDirectory.standard()
            let credentials = try directory.issueCredentials(
                for: name, topics: topics.isEmpty ? [">"] : topics, expires: end)
            var path = directory.credentialsPath(for: try UserName(name))
            if let out {
                try CredentialsFile.write(credentials.fileText(), to: out)
                path = out
            }
            let key = credentials.keyPair.publicKey.description
            let endText = end.map { Timestamp(milliseconds: $0 * 1_000).iso8601 }
            if json {
                Output.json([
                    "user": .string(name), "publicKey": .string(key), "creds": .string(path),
                    "expires": MessageValue(endText),
                ])
            } else {
                Output.line("\(name)  \(key)")
                Output.line("credentials in \(path)" + (endText.map { ", until \($0)" } ?? ""))
            }
        }
    }
}

/// `parley network host`: the process that keeps the private network; clients start it by themselves.
struct NetworkHostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host", abstract: "Keep the private network running.", shouldDisplay: false)

    func run() async throws {
        switch await NetworkHost().run() {
        case .alreadyRunning, .idle, .stopped: return
        case .failed(let error): throw ExitCode(CommandFailure(error).code)
        }
    }
}
