import Relay

/// An engine at work for a screen: what is asked of it goes there in order, and the end has a time.
struct EngineRun {
    /// What is asked of the engine, in order.
    private enum Request: Sendable {
        case effect(ChatEffect)
        /// Let the connection go, and open the gate.
        case letGo(Gate)
    }

    /// So long the process waits before it stops: a tenth of what the terminal's session grants it.
    private static let patience = Duration.milliseconds(500)

    private let engine: ChatEngine
    private let requests: AsyncStream<Request>.Continuation
    private let runner: Task<Void, Never>
    private let follower: Task<Void, Never>
    private let queue: EventQueue

    init(_ connector: Connector, _ configuration: ChatConfiguration, queue: EventQueue) {
        self.queue = queue
        let engine = ChatEngine(connector, queue: queue)
        self.engine = engine
        let (stream, continuation) = AsyncStream.makeStream(
            of: Request.self, bufferingPolicy: .bufferingOldest(65_536))
        requests = continuation
        runner = Task.detached {
            for await request in stream {
                switch request {
                case .effect(let effect): await engine.perform(effect)
                case .letGo(let gate):
                    await engine.letGo()
                    gate.open()
                }
            }
        }
        follower = Task.detached { await ConfigurationFollower.follow(configuration, queue) }
    }

    /// Hands over what the engine is asked for.
    var send: (ChatEffect) -> Bool {
        { [requests] effect in
            if case .dropped = requests.yield(.effect(effect)) { return false }
            return true
        }
    }

    /// Lets the connection go in good order, behind all that was asked for, as the process is about to stop. The
    /// calling thread waits for that, though not for long.
    var letGo: () -> Void {
        { [requests] in
            let done = Gate()
            requests.yield(.letGo(done))
            done.wait(atMost: Self.patience)
        }
    }

    /// Goes to the network.
    func start() {
        let engine = engine
        Task.detached { await engine.start() }
    }

    /// So long the end may take altogether, with a second to spare, in seconds.
    static let endingSeconds: UInt32 = 13

    /// Keeps what was typed, for which a slow disk gets ten seconds, and leaves the network in good order, for two
    /// seconds at most.
    func end() {
        follower.cancel()
        queue.close()
        requests.finish()
        let (kept, left) = (Gate(), Gate())
        let (runner, engine) = (runner, engine)
        Task.detached {
            // A line that was sent with the last key is still on its way to the engine.
            await runner.value
            await engine.keepAll()
            kept.open()
            await engine.stop()
            left.open()
        }
        if !kept.wait(atMost: .seconds(2)) {
            Output.complain("Still writing what you typed to the local store; ^C ends it without.")
            if !kept.wait(atMost: .seconds(8)) {
                Output.complain("The local store did not take what you typed last: it is lost where it was not sent.")
            }
        }
        left.wait(atMost: .seconds(2))
    }
}
