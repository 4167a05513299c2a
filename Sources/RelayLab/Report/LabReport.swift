/// A run's report: one page of HTML, text for a terminal, or an entry of a JUnit file. All are made of the same run, so
/// that they say the same.
public struct LabReport: Hashable, Sendable {
    /// The run.
    public let run: LabRun
    /// What became of the messages.
    public let figures: LabFigures
    /// What went wrong.
    public let verdict: LabVerdict

    /// The report of a run; of one that is not over, as far as it has come.
    public init(_ run: LabRun) {
        self.run = run
        figures = run.ledger.figures
        verdict = run.verdict
    }

    /// What it rehearsed.
    public var title: String { run.heading?.title ?? "a run" }

    /// `seed 7 · policy parley · 30 times as fast · nats://127.0.0.1:4222 · 8.204 s`.
    var circumstances: String {
        var words: [String] = []
        if let heading = run.heading {
            words += ["seed \(heading.seed)", "policy \(heading.policy)"]
            if heading.speed != 1 { words.append("\(Self.number(heading.speed)) times as fast") }
            words += [heading.server, heading.time].compactMap { $0 }
        }
        words.append("\(run.timeline.end)")
        return words.joined(separator: " · ")
    }

    /// The figures in words and in numbers, in the order in which they are shown.
    var rows: [(name: String, words: String, value: String)] { figures.rows }

    /// `passed` or `failed`.
    var outcome: String { verdict.isPassed ? "passed" : "failed" }

    static func number(_ value: Double) -> String {
        Int(exactly: value).map(String.init) ?? LabTime(seconds: value).map { $0.fixed(digits: 1) } ?? "\(value)"
    }
}
