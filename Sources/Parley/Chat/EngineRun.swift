import Relay

/// An engine at work for a screen, perhaps from some time behind the first frame on: what is asked of it until then
/// waits, it goes there in order, and the end has a time. All on the screen's thread.
final class EngineRun {
    /// What waits for the engine at most.
    static let limit = 65_536
    /// What is said where more comes.
    static let tooMuch = "Too much is waiting to be done; that was not done."
    /// So long the process waits before it stops: a tenth of what the terminal's session grants it.
    private static let patience = Duration.milliseconds(500)

    private let (stream, requests) = AsyncStream.makeStream(
        of: ChatEngine.Request.self, bufferingPolicy: .bufferingOldest(EngineRun.limit))
    let queue: EventQueue
    /// Opened when what was typed is kept, and when the session is over; nil before the start.
    private var ends: (kept: Gate, left: Gate)?

    init(queue: EventQueue) { self.queue = queue }

    /// Hands over what the engine is asked for; false where no more can wait.
    func send(_ effect: CoreEffect) -> Bool {
        if case .dropped = requests.yield(.effect(effect)) { false } else { true }
    }

    /// Lets the connections go in good order, behind all that was asked for, as the process is about to stop. The
    /// calling thread waits for that, though not for long.
    static func letGo(_ runs: [EngineRun]) {
        let gates = runs.filter { $0.ends != nil }.map { run in
            let done = Gate()
            run.requests.yield(.letGo(done))
            return done
        }
        Gate.closed(gates, after: patience)
    }

    func start(_ connector: Connector, _ configuration: ChatConfiguration) {
        let engine = ChatEngine(connector, queue: queue)
        let (kept, left) = (Gate(), Gate())
        ends = (kept, left)
        Task.detached { [stream, queue] in
            async let _ = ConfigurationFollower.follow(configuration, queue)
            await engine.run(stream, kept: kept)
            left.open()
        }
    }

    /// So long the end may take altogether, with a second to spare, in seconds.
    static let endingSeconds: UInt32 = 13

    /// Keeps what was typed, for which a slow disk gets ten seconds, and leaves the networks in good order, for two
    /// seconds at most.
    static func end(_ runs: [EngineRun]) {
        let ends = runs.compactMap(\.ends)
        for run in runs where run.ends != nil {
            run.queue.close()
            run.requests.finish()
        }
        let slow = Gate.closed(ends.map(\.kept), after: .seconds(2))
        if !slow.isEmpty {
            Output.complain("Still writing what you typed to the local store; ^C ends it without.")
            if !Gate.closed(slow, after: .seconds(8)).isEmpty {
                Output.complain("The local store did not take what you typed last: it is lost where it was not sent.")
            }
        }
        Gate.closed(ends.map(\.left), after: .seconds(2))
    }
}
