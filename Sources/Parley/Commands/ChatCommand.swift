import ArgumentParser
import Platform
import Relay

/// `parley chat`: the interactive client. `run` blocks the calling thread.
struct ChatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Chat and read the postbox in the terminal (the default).")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var limit: ConnectTimeoutOption

    @Option(
        help: ArgumentHelp(
            "How long the connection is kept out of focus: seconds, 5m or 2h; 0 or never keeps it. 120 s unless "
                + "configured.",
            valueName: "time"))
    var suspendAfter: SuspensionTime?

    @Flag(help: "Read and write lines, without a screen: for screen readers and pipes.")
    var plain = false

    @Argument(
        help: "Topics to join, besides those joined before; * matches one token, > at the end the rest.")
    var topics: [String] = []

    func run() throws {
        try Self.run(connection, within: limit.time, suspendAfter: suspendAfter, plain: plain, topics: topics)
    }

    static func run(
        _ flags: some ConnectionFlags = NoConnectionFlags(), within limit: Duration? = nil,
        suspendAfter: SuspensionTime? = nil, plain: Bool = false, topics: [String]
    ) throws {
        for topic in topics { _ = try StoreOptions.pattern(topic) }
        func plan(_ flags: some ConnectionFlags, topics: [String] = []) throws -> ChatPlan {
            var (plan, configuration) = try flags.chat()
            plan.connectTimeout = limit ?? plan.connectTimeout
            var suspension = Suspension()
            if let seconds = plan.suspendAfter { suspension.time = seconds > 0 ? .seconds(seconds) : nil }
            if let suspendAfter { suspension.time = suspendAfter.time }
            return ChatPlan(
                name: flags.profile ?? plan.identity.network,
                // Without flags it is the default profile.
                profile: flags.profile ?? (flags.server.isEmpty && flags.user == nil ? "default" : nil),
                connection: plan, suspension: suspension, topics: topics, configuration: configuration)
        }
        guard !plain else {
            var plan = try plan(flags)
            // Without a terminal there is no focus to watch.
            plan.connection.handlesLifecycle = plan.connection.handlesLifecycle ?? (isatty(STDIN_FILENO) == 1)
            let connector = try Connector(plan.connection, for: .chat(plan.suspension.policy))
            return try PlainSession.run(connector, topics: topics, configuration: plan.configuration)
        }
        var plans: [ChatPlan] = []
        if flags.profiles.count < 2 {
            plans = [try plan(flags, topics: topics)]
        } else {
            for flags in try flags.each() { plans.append(try plan(flags, topics: plans.isEmpty ? topics : [])) }
        }
        for plan in plans { try Connector.check(plan.connection) }
        // The command line's identity is for the first network only.
        let (config, proxy, log) = (flags.config, flags.proxy, flags.log)
        try ChatSession.run(plans) { name in
            let flags = try NoConnectionFlags(profiles: [name], config: config, proxy: proxy, log: log).each()
            let plan = try plan(flags[0])
            try Connector.check(plan.connection)
            return plan
        }
    }
}

/// The flag's value: how long the connection is kept out of focus.
struct SuspensionTime: ExpressibleByArgument, Hashable, Sendable {
    /// Nil for no limit.
    let time: Duration?

    init?(argument: String) {
        guard let time = Suspension.time(argument) else { return nil }
        self.time = time
    }
}
