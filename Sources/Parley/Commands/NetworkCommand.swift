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
            NetworkBlockCommand.self, NetworkUnblockCommand.self, NetworkHostCommand.self,
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
        commandName: "stop", abstract: "Stop the private network, or let it end with its last client.",
        discussion: "While clients use it, it goes on, and the exit status is 75; it ends after the last one.")
    @Flag(help: "Stop it even while clients use it.") var force = false
    @Flag(help: "Print one JSON object.") var json = false

    func run() async throws {
        try await reportingFailures {
            let outcome = try await NetworkControl.stop(evenIfUsed: force)
            if json { try await NetworkStatusCommand.write(json: true) }
            guard outcome == .inUse else { return }
            throw CommandFailure(
                CommandFailure.notAcknowledged,
                "Clients still use the network, so it runs on. It ends after the last one, or now with --force.")
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
        commandName: "user", abstract: "Make users of the private network, look at them, and say what they may do.",
        subcommands: [
            NetworkUserAddCommand.self, NetworkUserListCommand.self, NetworkUserShowCommand.self,
            NetworkUserGrantCommand.self, NetworkUserExpireCommand.self, NetworkUserKickCommand.self,
            NetworkUserBanCommand.self,
            NetworkUserUnbanCommand.self, NetworkUserDeactivateCommand.self, NetworkUserActivateCommand.self,
        ])
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
