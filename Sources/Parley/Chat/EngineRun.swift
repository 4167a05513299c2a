import Relay

/// An engine at work for a screen, perhaps from some time behind the first frame on: what is asked of it until then
/// waits, it goes there in order, and the end has a time. All on the screen's thread.
final class EngineRun {
    /// What is asked of the engine, in order.
    private enum Request: Sendable {
        case effect(CoreEffect)
        /// Let the connection go, and open the gate.
        case letGo(Gate)
    }

    /// What waits for the engine at most.
    static let limit = 65_536
    /// So long the process waits before it stops: a tenth of what the terminal's session grants it.
    private static let patience = Duration.milliseconds(500)

    private let (stream, requests) = AsyncStream.makeStream(
        of: Request.self, bufferingPolicy: .bufferingOldest(EngineRun.limit))
    private let queue: EventQueue
    /// The engine, what is asked of it and what follows the configuration; nil before the start.
    private var work: (engine: ChatEngine, runner: Task<Void, Never>, follower: Task<Void, Never>)?

    init(queue: EventQueue) { self.queue = queue }

    /// Hands over what the engine is asked for; false where no more can wait.
    func send(_ effect: CoreEffect) -> Bool {
        if case .dropped = requests.yield(.effect(effect)) { false } else { true }
    }

    /// Lets the connection go in good order, behind all that was asked for, as the process is about to stop. The
    /// calling thread waits for that, though not for long.
    func letGo() {
        guard work != nil else { return }
        let done = Gate()
        requests.yield(.letGo(done))
        done.wait(atMost: Self.patience)
    }

    /// Goes to the network.
    func start(_ connector: Connector, _ configuration: ChatConfiguration) {
        let engine = ChatEngine(connector, queue: queue)
        let runner = Task.detached { [stream] in
            for await request in stream {
                switch request {
                case .effect(let effect): await engine.perform(effect)
                case .letGo(let gate):
                    await engine.letGo()
                    gate.open()
                }
            }
        }
        let follower = Task.detached { [queue] in await ConfigurationFollower.follow(configuration, queue) }
        work = (engine, runner, follower)
        Task.detached { await engine.start() }
    }

    /// So long the end may take altogether, with a second to spare, in seconds.
    static let endingSeconds: UInt32 = 13

    /// Keeps what was typed, for which a slow disk gets ten seconds, and leaves the network in good order, for two
    /// seconds at most.
    func end() {
        guard let (engine, runner, follower) = work else { return }
        follower.cancel()
        queue.close()
        requests.finish()
        let (kept, left) = (Gate(), Gate())
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
