import Relay

/// A screen's engine, which may start after the first frame, and the queue of its requests. Ending it takes a limited
/// time. Confined to the screen's thread: other threads see only what is handed over.
final class EngineRun {
    /// The most requests that may wait for the engine.
    static let limit = 65_536
    /// The notice for a request beyond that.
    static let tooMuch = "Too many requests are waiting; this one was dropped. Try again later."
    /// How long the process waits before it stops: a tenth of what the terminal's session grants it.
    private static let patience = Duration.milliseconds(500)

    /// How often a text is handed over while it is being typed; each time wakes other threads and writes to the disk.
    /// A crash costs no more than about the last half second.
    static let draftPause = Duration.milliseconds(400)

    private let (stream, requests) = AsyncStream.makeStream(
        of: ChatEngine.Request.self, bufferingPolicy: .bufferingOldest(EngineRun.limit))
    let queue: EventQueue
    private let standIn: ((ChatEngine.Request) -> Bool)?
    /// Effects to hand over once the frame is drawn, or before the thread sleeps, so that no key waits for another
    /// thread to wake: those of one look at the input and one portion of news, and drafts.
    private var held: [CoreEffect] = []
    /// When a draft was last handed over.
    private var lastDraft: ContinuousClock.Instant?
    /// Opened when what was typed is saved, and when the session is over; nil before the start.
    private var ends: (kept: Gate, left: Gate)?

    /// - Parameter standIn: takes the requests in place of an engine; returns false if it cannot.
    init(queue: EventQueue, standIn: ((ChatEngine.Request) -> Bool)? = nil) {
        (self.queue, self.standIn) = (queue, standIn)
    }

    /// Holds a request for the engine until it is handed over.
    func hold(_ effect: CoreEffect) {
        // A conversation's later draft replaces the earlier one.
        if case .store(.keepDraft(let draft)) = effect, case .store(.keepDraft(let earlier))? = held.last,
            earlier.conversation == draft.conversation
        {
            held.removeLast()
        }
        held.append(effect)
    }

    /// Whether to hand over now. A draft on its own waits a moment after the one before it.
    func isDue(at now: ContinuousClock.Instant) -> Bool { draftDue.map { $0 <= now } ?? true }

    /// When drafts that wait on their own are due; nil if there are none or something else waits too.
    var draftDue: ContinuousClock.Instant? {
        guard let lastDraft, !held.isEmpty, held.allSatisfy(\.isDraft) else { return nil }
        return lastDraft + Self.draftPause
    }

    /// Hands over what is held; returns how many requests could not be taken.
    func handOver(at now: ContinuousClock.Instant) -> Int {
        guard !held.isEmpty else { return 0 }
        let due = held
        if due.contains(where: \.isDraft) { lastDraft = now }
        held.removeAll(keepingCapacity: true)
        return due.count { !send(.effect($0)) }
    }

    /// Hands over a request at once; false if no more can wait.
    func send(_ request: ChatEngine.Request) -> Bool {
        if let standIn { return standIn(request) }
        if case .dropped = requests.yield(request) { return false }
        return true
    }

    /// Closes the connections in good order, after all earlier requests, because the process is about to stop. The
    /// calling thread waits for that, but not for long.
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

    /// The longest that ending may take altogether, with a second to spare.
    static let endingSeconds: UInt32 = 13

    /// Saves what was typed, for which a slow disk gets ten seconds, and leaves the networks in good order, for which
    /// they get two.
    static func end(_ runs: [EngineRun]) {
        let ends = runs.compactMap(\.ends)
        for run in runs where run.ends != nil {
            run.queue.close()
            _ = run.handOver(at: .now)
            run.requests.finish()
        }
        let slow = Gate.closed(ends.map(\.kept), after: .seconds(2))
        if !slow.isEmpty {
            Output.complain("Still saving what you typed to the local store; ^C quits without it.")
            if !Gate.closed(slow, after: .seconds(8)).isEmpty {
                Output.complain("The local store did not save what you typed last; anything unsent is lost.")
            }
        }
        Gate.closed(ends.map(\.left), after: .seconds(2))
    }
}

extension CoreEffect {
    fileprivate var isDraft: Bool { if case .store(.keepDraft) = self { true } else { false } }
}
