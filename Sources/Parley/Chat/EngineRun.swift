import Relay

/// An engine at work for a screen, perhaps from some time behind the first frame on, and the queue of what is asked of
/// it. The end has a time. All on the screen's thread: other threads see of it only what is handed over.
final class EngineRun {
    /// What waits for the engine at most.
    static let limit = 65_536
    /// What is said where more comes.
    static let tooMuch = "Too much is waiting to be done; that was not done."
    /// So long the process waits before it stops: a tenth of what the terminal's session grants it.
    private static let patience = Duration.milliseconds(500)

    /// While somebody types, the text is handed over this often, since each time wakes other threads and writes to the
    /// disk. No crash takes more than about the last half second.
    static let draftPause = Duration.milliseconds(400)

    private let (stream, requests) = AsyncStream.makeStream(
        of: ChatEngine.Request.self, bufferingPolicy: .bufferingOldest(EngineRun.limit))
    let queue: EventQueue
    /// Takes the requests where there is no engine.
    private let standIn: ((ChatEngine.Request) -> Bool)?
    /// What is handed over when the frame is drawn, or before the thread sleeps, so that no key waits until another
    /// thread is awake: what comes of one look at the input and one portion of news, and texts being written.
    private var held: [CoreEffect] = []
    /// When the text being written was handed over last.
    private var lastDraft: ContinuousClock.Instant?
    /// Opened when what was typed is kept, and when the session is over; nil before the start.
    private var ends: (kept: Gate, left: Gate)?

    /// - Parameter standIn: takes the requests in an engine's stead; false where it cannot.
    init(queue: EventQueue, standIn: ((ChatEngine.Request) -> Bool)? = nil) {
        (self.queue, self.standIn) = (queue, standIn)
    }

    /// Holds what the engine is asked for.
    func hold(_ effect: CoreEffect) {
        // A later text of the same conversation says all that the one before it does.
        if case .store(.keepDraft(let draft)) = effect, case .store(.keepDraft(let earlier))? = held.last,
            earlier.conversation == draft.conversation
        {
            held.removeLast()
        }
        held.append(effect)
    }

    /// Whether what is held is handed over now. The text that is being written waits a moment behind the one before
    /// it, unless there is something else as well.
    func isDue(at now: ContinuousClock.Instant) -> Bool { draftDue.map { $0 <= now } ?? true }

    /// When the text being written is handed over that waits alone; nil where it does not.
    var draftDue: ContinuousClock.Instant? {
        guard let lastDraft, !held.isEmpty, held.allSatisfy(\.isDraft) else { return nil }
        return lastDraft + Self.draftPause
    }

    /// Hands over what is held; counts what could not be taken.
    func handOver(at now: ContinuousClock.Instant) -> Int {
        guard !held.isEmpty else { return 0 }
        let due = held
        if due.contains(where: \.isDraft) { lastDraft = now }
        held.removeAll(keepingCapacity: true)
        return due.count { !send(.effect($0)) }
    }

    /// Hands over at once what the engine is asked for; false where no more can wait.
    func send(_ request: ChatEngine.Request) -> Bool {
        if let standIn { return standIn(request) }
        if case .dropped = requests.yield(request) { return false }
        return true
    }

    /// Lets the connections go in good order, behind all that was asked for, as the process is about to stop. The
    /// calling thread waits for that, though not for long.
    static func letGo(_ runs: [EngineRun]) {
        let gates = runs.filter { $0.ends != nil || $0.standIn != nil }.map { run in
            let done = Gate()
            _ = run.send(.letGo(done))
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
            _ = run.handOver(at: .now)
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

extension CoreEffect {
    /// Whether it keeps a text that is being written.
    fileprivate var isDraft: Bool { if case .store(.keepDraft) = self { true } else { false } }
}
