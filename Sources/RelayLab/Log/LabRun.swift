/// A run so far: its log, and its results. Screens, pages and verdicts are made from this value alone.
public struct LabRun: Hashable, Sendable {
    /// All events.
    public private(set) var log = LabLog()
    /// The outcome of the messages.
    public private(set) var ledger = LabLedger()
    private(set) var timeline = LabTimeline()
    /// The results of the expectations so far.
    public private(set) var expectations: [LabExpectationResult] = []
    /// Its circumstances; nil before it begins.
    public private(set) var heading: LabHeading?
    /// Why it could not be completed, if it could not.
    public private(set) var failure: String?
    /// Whether it is over.
    public private(set) var isOver = false

    init() {}

    /// Replays a log.
    public init(_ log: LabLog) {
        for event in log.events { take(event) }
    }

    /// Adds an event.
    public mutating func take(_ event: LabEvent) {
        guard !isOver else { return }
        log.append(event)
        timeline.take(event, delivery: ledger.take(event))
        switch event.kind {
        case .began(let heading): self.heading = heading
        case .expectation(let result): expectations.append(result)
        case .failed(let words): failure = failure ?? words
        case .ended: isOver = true
        default: break
        }
    }

    /// Ends the run: the last event contains its results.
    public mutating func end(at now: LabTime) {
        let last = LabVerdict(ledger, expectations, failure: failure)
        take(LabEvent(at: now, .ended(ledger.figures, passed: last.isPassed)))
    }

    /// The verdict so far.
    public var verdict: LabVerdict { LabVerdict(ledger, expectations, failure: failure, isOver: isOver) }
}
