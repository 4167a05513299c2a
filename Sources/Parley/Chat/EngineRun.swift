import Relay

/// An engine at work for a screen: what is asked of it goes there in order, and the end has a time.
struct EngineRun {
    private let engine: ChatEngine
    private let effects: AsyncStream<ChatEffect>.Continuation
    private let runner: Task<Void, Never>
    private let follower: Task<Void, Never>
    private let queue: EventQueue

    init(_ connector: Connector, _ configuration: ChatConfiguration, queue: EventQueue) {
        self.queue = queue
        let engine = ChatEngine(connector, queue: queue)
        self.engine = engine
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChatEffect.self, bufferingPolicy: .bufferingOldest(65_536))
        effects = continuation
        runner = Task.detached { for await effect in stream { await engine.perform(effect) } }
        follower = Task.detached { await ConfigurationFollower.follow(configuration, queue) }
    }

    /// Hands over what the engine is asked for.
    var send: (ChatEffect) -> Bool {
        { [effects] effect in
            if case .dropped = effects.yield(effect) { return false }
            return true
        }
    }

    /// Goes to the network.
    func start() {
        let engine = engine
        Task.detached { await engine.start() }
    }

    /// Leaves the network in good order, for two seconds at most.
    func end() {
        follower.cancel()
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
