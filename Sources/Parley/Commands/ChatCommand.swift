import ArgumentParser
import Relay

/// `parley chat`: the interactive client.
///
/// Its `run` does not suspend, so that it keeps the process's first thread and no thread of the tasks' pool.
struct ChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Chat and read the postbox in the terminal (the default).")

    @OptionGroup var connection: ConnectionOptions

    @Option(
        help: ArgumentHelp(
            "Seconds out of focus after which the connection is suspended; 0 keeps it. 120 unless configured.",
            valueName: "seconds"))
    var suspendAfter: Double?

    @Flag(help: "Write lines and read lines, without a screen: for a screen reader, and for pipes.")
    var plain = false

    @Argument(
        help: "Topics to join, besides those that were joined before; * matches one token, > at the end the rest.")
    var topics: [String] = []

    func validate() throws {
        if let suspendAfter, !(suspendAfter >= 0 && suspendAfter < 1e9) {
            throw ValidationError("--suspend-after takes a number of seconds, 0 or more.")
        }
    }

    func run() throws {
        try reportingFailures {
            for topic in topics { _ = try StoreOptions.pattern(topic) }
            let plan = try connection.plan()
            let seconds = suspendAfter ?? plan.suspendAfter
            let policy = seconds.map { $0 > 0 ? LifecyclePolicy.suspend(after: .seconds($0)) : .ignore } ?? .rongcloud
            let connector = try Connector(plan, for: .chat(policy))
            let configuration = try connection.chatConfiguration()
            guard !plain else { return try PlainSession.run(connector, topics: topics, configuration: configuration) }
            try ChatSession.run(
                connector, topics: topics, configuration: configuration, appearance: plan.appearance)
        }
    }
}
