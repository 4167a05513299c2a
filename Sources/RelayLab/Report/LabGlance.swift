/// A run as far as it has come, for a screen that looks at it again and again: of a bounded size, and without the log,
/// which may be long.
public struct LabGlance: Hashable, Sendable {
    /// A fault that lasts.
    public struct Lasting: Hashable, Sendable {
        /// What it is.
        public var name: LabAct.Name
        /// What else there is to say of it; empty for nothing.
        public var detail = ""
        /// When it ends by itself; nil where it does not.
        public var end: LabTime?
    }

    /// What the run is.
    public var heading: LabHeading?
    /// What happened when.
    public var timeline: LabTimeline
    /// What became of the messages.
    public var figures: LabFigures
    /// When those were sent that were acknowledged and not delivered, ``LabLedger/maximumNames`` at most, and when
    /// others were found missing.
    public var lost: [LabTime]
    /// What went wrong, in sentences; of a run that is not over, as far as it is sure.
    public var findings: [String]
    /// The faults that last.
    public var lasting: [Lasting]
    /// The present moment of the run.
    public var now: LabTime
    /// Whether it is over.
    public var isOver: Bool

    /// A look at a run.
    public init(_ run: LabRun, at now: LabTime, lasting: [Lasting] = []) {
        heading = run.heading
        timeline = run.timeline
        figures = run.ledger.figures
        lost = run.timesOfLost
        findings = run.verdict.findings.map { MarkupText.plain($0.words) }
        self.lasting = lasting
        self.now = run.isOver ? run.timeline.end : max(now, run.timeline.end)
        isOver = run.isOver
    }

    /// The timeline, a lane each line, up to the present moment.
    public func strips(columns: Int, ascii: Bool = false) -> [String] {
        timeline.strips(columns: columns, ascii: ascii, lost: lost, until: now)
    }
}

extension LabRun {
    /// When those messages were sent that were acknowledged and not delivered, as far as the ledger names them, and
    /// when others were found missing.
    var timesOfLost: [LabTime] {
        let names = Set(ledger.lost)
        guard !names.isEmpty || !ledger.missing.isEmpty else { return [] }
        return log.events.compactMap { event in
            switch event.kind {
            case .sent(let number) where names.contains(number): event.at
            case .missed: event.at
            default: nil
            }
        }
    }
}
