/// A report of a run so far: for the chat's screen, as text for a terminal, an HTML page, or an entry of a JUnit file.
/// Its size is limited, and it does not contain the log, which may be long.
public struct LabReport: Hashable, Sendable {
    /// A lasting fault.
    public struct Lasting: Hashable, Sendable {
        /// The act that began it.
        public var name: LabAct.Name
        /// Its details; empty for none.
        public var detail = ""
        /// When it ends automatically; nil if it does not.
        public var end: LabTime?
    }

    /// The circumstances of the run; nil before it begins.
    public let heading: LabHeading?
    /// The figures of its ledger.
    public let figures: LabFigures
    /// Whether it passed, and what went wrong; for an unfinished run, as far as that is certain.
    public let verdict: LabVerdict
    /// The lasting faults.
    public let lasting: [Lasting]
    /// The present moment of the run.
    public let now: LabTime
    /// Whether it is over.
    public let isOver: Bool
    let timeline: LabTimeline
    let expectations: [LabExpectationResult]
    /// When acknowledged messages that were not delivered were sent, at most ``LabLedger/maximumNames``, and when
    /// others were found missing.
    let lost: [LabTime]

    /// Makes the report of a run at a moment; nil for the newest event's.
    public init(_ run: LabRun, at now: LabTime? = nil, lasting: [Lasting] = []) {
        heading = run.heading
        timeline = run.timeline
        figures = run.ledger.figures
        verdict = run.verdict
        expectations = run.expectations
        self.lasting = lasting
        self.now = run.isOver ? run.timeline.end : max(now ?? .zero, run.timeline.end)
        isOver = run.isOver
        let names = Set(run.ledger.lost)
        let events = names.isEmpty && run.ledger.missing.isEmpty ? [] : run.log.events
        lost = events.compactMap { event in
            switch event.kind {
            case .sent(let number) where names.contains(number): event.at
            case .missed: event.at
            default: nil
            }
        }
    }

    /// The title of the scenario.
    public var title: String { heading?.title ?? "a run" }

    /// The findings, as sentences safe to display.
    public var findings: [String] { verdict.findings.map { MarkupText.plain($0.words) } }

    /// `seed 7 · policy parley · 30 times as fast · nats://127.0.0.1:4222 · 8.204 s`.
    var circumstances: String {
        var words: [String] = []
        if let heading {
            words += ["seed \(heading.seed)", "policy \(heading.policy)"]
            if heading.speed != 1 { words.append("\(Self.number(heading.speed)) times as fast") }
            words += [heading.server, heading.time].compactMap { $0 }
        }
        words.append("\(timeline.end)")
        return words.joined(separator: " · ")
    }

    var outcome: String { verdict.isPassed ? "passed" : "failed" }

    static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? LabTime(seconds: value).map { $0.fixed(digits: 1) } ?? "\(value)"
    }

    /// The timeline up to the present moment, one line per lane.
    public func strips(columns: Int, ascii: Bool = false) -> [String] {
        timeline.strips(columns: columns, ascii: ascii, lost: lost, until: now)
    }

    /// The report as lines for a terminal of this width, without colours or control sequences, perhaps in ASCII only.
    public func lines(columns: Int = 80, ascii: Bool = false) -> [String] {
        var lines = ["\(MarkupText.plain(title)): \(outcome)", MarkupText.plain(circumstances), ""]
        lines += strips(columns: max(40, columns), ascii: ascii)
        lines.append("")
        let longest = figures.rows.map(\.words.count).max() ?? 0
        lines += figures.rows.map { _, words, value in
            words + String(repeating: " ", count: longest - words.count + 2) + (ascii && value == "–" ? "-" : value)
        }
        if !findings.isEmpty { lines += [""] + findings }
        guard ascii else { return lines }
        return lines.map { line in String(line.map { $0.isASCII ? $0 : $0 == "·" ? "-" : "?" }) }
    }
}
