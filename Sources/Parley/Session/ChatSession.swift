import Relay
import Terminal

/// The interactive client on one thread: sleeps in the terminal's poll, updates the model, draws.
struct ChatSession {
    private let terminal: TerminalSession
    private let queue: EventQueue
    private let engine: ChatEngine
    private let effects: AsyncStream<ChatEffect>.Continuation
    private let runner: Task<Void, Never>
    private let configuration: ChatConfiguration
    private var follower: Task<Void, Never>?
    private var model: ChatModel
    private var frames = FrameLimiter()
    private var appearance: Appearance
    private var theme: Theme
    private var isOver = false
    private var endingSignal: Int32?

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
        session.loop(topics, keeps: connector.hasStore)
        terminal.close()
        session.end()
        log?.end()
        if let signal = session.endingSignal { TerminalSession.endProcess(by: signal) }
    }

    private init(
        _ terminal: TerminalSession, _ connector: Connector, _ configuration: ChatConfiguration,
        _ appearance: Appearance
    ) {
        self.terminal = terminal
        self.appearance = appearance
        theme = appearance.theme(colors: terminal.colorCount)
        queue = EventQueue(waker: terminal.waker)
        model = ChatModel(
            identity: .init(user: connector.user, network: connector.network, isNamed: connector.isNamed),
            size: terminal.size, now: Self.now, status: .initialized, origin: RelayClient.newID())
        model.configure(configuration.settings)
        self.configuration = configuration
        let engine = ChatEngine(connector, queue: queue)
        self.engine = engine
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChatEffect.self, bufferingPolicy: .bufferingOldest(65_536))
        effects = continuation
        runner = Task.detached { for await effect in stream { await engine.perform(effect) } }
    }

    private static var now: Moment { Moment(instant: .now, wall: WallClock.now) }

    // MARK: Loop

    private mutating func loop(_ topics: [String], keeps: Bool) {
        // What was joined before is known when the store is open.
        let isNothingNamed = topics.isEmpty && model.settings.join.isEmpty && !keeps
        apply(.start(topics: isNothingNamed ? [ChatModel.firstTopic] : topics, keeps: keeps))
        draw()
        let engine = engine
        Task.detached { await engine.start() }
        follower = Task.detached { [configuration, queue] in await ConfigurationFollower.follow(configuration, queue) }
        while !isOver {
            let deadlines = [frames.deadline(now: .now), model.nextChange(after: .now)].compactMap(\.self)
            let wakes = terminal.wait(until: deadlines.min())
            apply(.tick(Self.now))
            for wake in wakes { handle(wake) }
            for event in queue.drain() { apply(event) }
            if frames.takeFrame(now: .now) { draw() }
        }
    }

    private mutating func handle(_ wake: TerminalSession.Wake) {
        switch wake {
        case .input(let events):
            for event in events {
                if case .reply(let reply) = event { take(reply) }
                apply(.input(event))
            }
        case .resized(let size): apply(.resized(size))
        case .resumed: apply(.resumed)
        case .suspending: suspend()
        case .hangUp: isOver = true
        case .terminate(let signal):
            endingSignal = signal
            isOver = true
        case .woken, .timedOut: break
        }
    }

    /// Draws again where the terminal's word changes the colours.
    private mutating func take(_ reply: TerminalReply) {
        guard appearance.take(reply) else { return }
        theme = appearance.theme(colors: terminal.colorCount)
        frames.invalidate()
    }

    private mutating func apply(_ event: ChatEvent) {
        // Only what can be seen is drawn: a tick that changes no figure costs nothing.
        let before = if case .tick = event { shownTime } else { nil as ShownTime? }
        for effect in update(&model, event) { perform(effect) }
        if let before, before == shownTime, model.status.nextRetryAt == nil { return }
        frames.invalidate()
    }

    /// What the passing of time alone can change on the screen, other than a countdown. It is small because a copy of the
    /// model that outlived an event would cause everything to be copied that the event touches.
    private struct ShownTime: Equatable {
        let notice: ChatModel.Notice?
        let outage: String?
        let attempt: String?
    }

    private var shownTime: ShownTime {
        let now = model.now.instant
        return ShownTime(
            notice: model.notice, outage: StatusText.longOutage(model.status, now: now),
            attempt: StatusText.trying(since: model.attemptBegan, now: now))
    }

    private func draw() {
        terminal.present(render(model, size: terminal.size, now: model.now.instant, theme: theme))
    }

    // MARK: Effects

    private mutating func perform(_ effect: ChatEffect) {
        switch effect {
        case .quit: isOver = true
        case .redraw: terminal.redraw()
        case .bell: terminal.bell()
        case .setTitle(let title): terminal.setTitle(title)
        case .suspendProcess: suspend()
        case .openStore, .keepJoined, .keepLine, .keepDraft, .keepReadMark, .search, .readAround, .subscribe,
            .unsubscribe, .loadHistory, .keepLetterRead, .publish, .sendAgain, .drop, .openPostbox, .countLetters,
            .listPage,
            .deleteMessage, .bulkDelete, .postLetter, .keyValue, .changeKey, .setActive, .nudge, .disconnect,
            .reconnect:
            if case .dropped = effects.yield(effect) {
                apply(.notice("Too much is waiting to be done; that was not done.", isFailure: true))
            }
        }
    }

    private mutating func suspend() {
        apply(.suspending)
        let isStopped = terminal.suspend()
        apply(.tick(Self.now))
        apply(.resumed)
        if !isStopped { apply(.notice("There is no shell to return to.", isFailure: true)) }
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
