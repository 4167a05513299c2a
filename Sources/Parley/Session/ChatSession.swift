import Relay
import Terminal

/// The interactive client: the terminal and the engine, and the loop between them.
struct ChatSession {
    private let queue: EventQueue
    private let engine: ChatEngine
    private let effects: AsyncStream<ChatEffect>.Continuation
    private let runner: Task<Void, Never>
    private let configuration: ChatConfiguration
    private var follower: Task<Void, Never>?
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
        options.asksBackground = appearance.asksTerminal && options.colors
        do throws(TerminalError) { terminal = try TerminalSession(options: options) } catch {
            log?.end()
            throw CommandFailure(CommandFailure.badConfiguration, error.description)
        }
        var session = ChatSession(terminal, connector, configuration, appearance)
        session.run(topics, keeps: connector.hasStore)
        terminal.close()
        session.end()
        log?.end()
        if let signal = session.loop.endingSignal { TerminalSession.endProcess(by: signal) }
    }

    private init(
        _ terminal: TerminalSession, _ connector: Connector, _ configuration: ChatConfiguration,
        _ appearance: Appearance
    ) {
        self.configuration = configuration
        let queue = EventQueue { [waker = terminal.waker] in waker.wake() }
        self.queue = queue
        let engine = ChatEngine(connector, queue: queue)
        self.engine = engine
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChatEffect.self, bufferingPolicy: .bufferingOldest(65_536))
        effects = continuation
        runner = Task.detached { for await effect in stream { await engine.perform(effect) } }
        var model = ChatModel(
            identity: .init(user: connector.user, network: connector.network, isNamed: connector.isNamed),
            size: terminal.size, now: Self.now, status: .initialized, origin: RelayClient.newID())
        model.configure(configuration.settings)
        loop = ChatLoop(
            terminal, queue: queue, model: model, appearance: appearance, colors: terminal.colorCount,
            clock: { Self.now },
            send: { effect in
                if case .dropped = continuation.yield(effect) { return false }
                return true
            })
    }

    private static var now: Moment { Moment(instant: .now, wall: WallClock.now) }

    private mutating func run(_ topics: [String], keeps: Bool) {
        // What was joined before is known when the store is open.
        let isNothingNamed = topics.isEmpty && configuration.settings.join.isEmpty && !keeps
        loop.begin(isNothingNamed ? [ChatModel.firstTopic] : topics, keeps: keeps)
        let engine = engine
        Task.detached { await engine.start() }
        follower = Task.detached { [configuration, queue] in await ConfigurationFollower.follow(configuration, queue) }
        loop.run()
    }

    /// Leaves the network in good order, for two seconds at most.
    private func end() {
        follower?.cancel()
        queue.close()
        effects.finish()
        let done = Gate()
        let (runner, engine) = (runner, engine)
        Task.detached {
            // A line that was sent with the last key is still on its way to the engine.
            await runner.value
            await engine.stop()
            done.open()
        }
        done.wait(atMost: .seconds(2))
    }
}
