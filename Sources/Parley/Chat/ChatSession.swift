import Relay
import Terminal

/// The interactive client: the terminal and the engine, and the loop between them.
struct ChatSession {
    private let engine: EngineRun
    private let configuration: ChatConfiguration
    private var loop: ChatLoop

    /// Runs the client until its person leaves. The screen is up before anything of the network is touched.
    static func run(
        _ connector: Connector, topics: [String], configuration: ChatConfiguration, appearance: Appearance
    ) throws {
        let log = ErrorLog()
        let terminal: TerminalSession
        var options = TerminalSession.Options()
        // Without a log the terminal's own capture keeps the screen clean.
        options.capturesStandardError = log == nil
        options.terminationGrace = EngineRun.endingSeconds
        options.asksBackground = appearance.asksTerminal && options.colors
        do throws(TerminalError) { terminal = try TerminalSession(options: options) } catch {
            log?.end()
            var words = error.description
            if case .notATerminal = error { words += " parley --plain needs none." }
            throw CommandFailure(CommandFailure.badConfiguration, words)
        }
        var session = ChatSession(terminal, connector, configuration, appearance)
        session.run(topics, keeps: connector.hasStore)
        terminal.close(endsProcess: true)
        session.engine.end()
        log?.end()
        if let signal = session.loop.endingSignal { TerminalSession.endProcess(by: signal) }
    }

    private init(
        _ terminal: TerminalSession, _ connector: Connector, _ configuration: ChatConfiguration,
        _ appearance: Appearance
    ) {
        self.configuration = configuration
        let queue = EventQueue { [waker = terminal.waker] in waker.wake() }
        engine = EngineRun(connector, configuration, queue: queue)
        var model = ChatModel(
            identity: .init(user: connector.user, network: connector.network, isNamed: connector.isNamed),
            size: terminal.size, now: Self.now, status: .initialized, origin: RelayClient.newID())
        model.configure(configuration.settings)
        model.suspension.time = connector.configuration.lifecycle.grace
        loop = ChatLoop(
            terminal, queue: queue, model: model, appearance: appearance, colors: terminal.colorCount,
            clock: { Self.now }, send: engine.send, atRest: CodePages.giveBack, letGo: engine.letGo)
    }

    private static var now: Moment { Moment(instant: .now, wall: WallClock.now) }

    private mutating func run(_ topics: [String], keeps: Bool) {
        // What was joined before is known when the store is open.
        let isNothingNamed = topics.isEmpty && configuration.settings.join.isEmpty && !keeps
        loop.begin(isNothingNamed ? [ChatModel.firstTopic] : topics, keeps: keeps)
        engine.start()
        loop.run()
    }
}
