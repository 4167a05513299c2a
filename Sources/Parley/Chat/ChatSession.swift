import Relay
import Terminal

/// The interactive client: the terminal and the engine, and the loop between them.
struct ChatSession {
    private let engine: EngineRun
    private let queue: EventQueue
    private let configuration: ChatConfiguration
    private var loop: ChatLoop

    /// Runs the client until its person leaves. The screen is up, and takes keys, before anything of the network is
    /// read, made or touched.
    ///
    /// - Throws: what keeps the screen or the network's own files from being used; the terminal is as it was then.
    static func run(
        _ plan: ConnectionPlan, _ suspension: Suspension, topics: [String], configuration: ChatConfiguration
    ) throws {
        let log = ErrorLog()
        let terminal: TerminalSession
        var options = TerminalSession.Options()
        // Without a log the terminal's own capture keeps the screen clean.
        options.capturesStandardError = log == nil
        options.focus = plan.watchesLifecycle
        options.terminationGrace = EngineRun.endingSeconds
        options.asksBackground = plan.appearance.asksTerminal && options.colors
        do throws(TerminalError) { terminal = try TerminalSession(options: options) } catch {
            log?.end()
            var words = error.description
            if case .notATerminal = error { words += " parley --plain needs none." }
            throw CommandFailure(CommandFailure.badConfiguration, words)
        }
        var session = ChatSession(terminal, plan, suspension, configuration)
        session.begin(topics, keeps: plan.store != nil)
        let (waker, policy) = (terminal.waker, suspension.policy)
        let preparation = Preparation(wake: { waker.wake() }) { try Connector(plan, for: .chat(policy)) }
        do {
            // Another program may hold the network's files: keys count meanwhile, and so does an end.
            if let prepared = session.loop.run(until: { preparation.result }) { session.connect(try prepared.get()) }
        } catch {
            terminal.close()
            log?.end()
            session.endBySignal(terminal)
            throw error
        }
        session.loop.run()
        terminal.close(endsProcess: true)
        session.engine.end()
        log?.end()
        session.endBySignal(terminal)
        if let failure = session.loop.model.connectionGivenUp { throw failure }
    }

    private init(
        _ terminal: TerminalSession, _ plan: ConnectionPlan, _ suspension: Suspension,
        _ configuration: ChatConfiguration
    ) {
        self.configuration = configuration
        queue = EventQueue { [waker = terminal.waker] in waker.wake() }
        engine = EngineRun(queue: queue)
        var model = ChatModel(
            identity: plan.identity, size: terminal.size, now: Self.now, status: .initialized,
            origin: RelayClient.newID())
        model.configure(configuration.settings)
        model.attention.suspension.time = suspension.policy.grace
        model.attention.isWatched = plan.watchesLifecycle
        loop = ChatLoop(
            terminal, queue: queue, model: model, appearance: plan.appearance, colors: terminal.colorCount,
            clock: { Self.now }, send: { [engine] in engine.send($0) }, letGo: { [engine] in engine.letGo() })
    }

    private static var now: Moment { Moment(instant: .now, wall: WallClock.now) }

    /// Draws the first frame.
    private mutating func begin(_ topics: [String], keeps: Bool) {
        // What was joined before is known when the store is open.
        let isNothingNamed = topics.isEmpty && configuration.settings.join.isEmpty && !keeps
        loop.begin(isNothingNamed ? [ChatModel.firstTopic] : topics, keeps: keeps)
    }

    private func connect(_ connector: Connector) { engine.start(connector, configuration) }

    /// Ends the process as a signal does that has asked for its end, also where the loop was over before it heard of
    /// that.
    private func endBySignal(_ terminal: TerminalSession) {
        if let signal = loop.endingSignal ?? terminal.pendingSignal { TerminalSession.endProcess(by: signal) }
    }
}
