/// A run as far as it has come: its log, and what the log comes to. The one value that a screen, a page and a verdict
/// are made of.
public struct LabRun: Hashable, Sendable {
    /// All events.
    public private(set) var log = LabLog()
    /// What became of the messages.
    public private(set) var ledger = LabLedger()
    private(set) var timeline = LabTimeline()
    /// How the expectations ended so far.
    public private(set) var expectations: [LabExpectationResult] = []
    /// What it is; nil before it begins.
    public private(set) var heading: LabHeading?
    /// Why it could not be carried through; nil where it could.
    public private(set) var failure: String?
    /// Whether it is over.
    public private(set) var isOver = false

    init() {}

    /// The run that a log tells of.
    public init(_ log: LabLog) {
        for event in log.events { take(event) }
    }

    /// Takes in what happened.
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

    /// Ends the run: the last event has what it came to.
    public mutating func end(at now: LabTime) {
        let last = LabVerdict(ledger, expectations, failure: failure)
        take(LabEvent(at: now, .ended(ledger.figures, passed: last.isPassed)))
    }

    /// What there is to say of it now.
    public var verdict: LabVerdict { LabVerdict(ledger, expectations, failure: failure, isOver: isOver) }
}
