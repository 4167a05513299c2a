/// Whether a run went well, and if not, what went wrong with which messages.
public struct LabVerdict: Hashable, Sendable {
    /// One thing that went wrong.
    public struct Finding: Hashable, Sendable {
        /// What it is, as ``LabFigures/counts`` names it; `expectation` or `run` for what is about no message.
        public var kind: String
        /// The messages, ``LabLedger/maximumNames`` at most.
        public var numbers: [LabNumber]
        /// A sentence that names them.
        public var words: String
    }

    /// What went wrong, the worst first.
    public var findings: [Finding]

    /// Whether nothing did.
    public var isPassed: Bool { findings.isEmpty }

    /// What a ledger and the expectations come to.
    ///
    /// - Parameters:
    ///   - failure: why the run could not be carried through; nil where it was.
    ///   - isOver: whether nothing is on its way any more. Before, what has not ended is no fault.
    public init(
        _ ledger: LabLedger, _ expectations: [LabExpectationResult] = [], failure: String? = nil, isOver: Bool = true
    ) {
        let figures = ledger.figures
        var findings: [Finding] = []
        if let failure { findings.append(Finding(kind: "run", numbers: [], words: failure)) }
        func add(
            _ kind: String, _ count: Int, _ numbers: [LabNumber], _ what: String, arrivals: [LabArrival] = []
        ) {
            guard count > 0 else { return }
            let names = numbers.map(\.description) + arrivals.map(\.description)
            findings.append(
                Finding(kind: kind, numbers: numbers, words: "\(what): \(Self.names(names, of: count))."))
        }
        let missing = ledger.missing.values.reduce(0, +)
        if isOver { add("lost", figures.lost - missing, ledger.lost, "Acknowledged and never delivered") }
        for (topic, count) in ledger.missing.sorted(by: { $0.key < $1.key }) {
            findings.append(Finding(kind: "lost", numbers: [], words: "Missing on \(topic): \(count)."))
        }
        add("doubled", figures.doubled, ledger.doubled, "Delivered again", arrivals: ledger.arrivedAgain)
        add(
            "outOfOrder", figures.outOfOrder, ledger.outOfOrder, "Delivered behind a later one",
            arrivals: ledger.arrivedLate)
        add("contradicted", figures.contradicted, ledger.contradicted, "Delivered, and reported as not sent")
        add("strange", figures.strange, ledger.strange, "Delivered, and sent by nobody")
        if isOver {
            add("unsettled", figures.unsettled, ledger.unsettled, "Neither acknowledged nor reported as not sent")
        }
        for result in expectations where !result.isMet {
            let instead = result.instead.map { "; there was \($0)" } ?? ""
            findings.append(
                Finding(
                    kind: "expectation", numbers: [],
                    words: "Not within \(result.took): \(result.words)\(instead)."))
        }
        self.findings = findings
    }

    /// `a 1, a 2, b 7 and 3 more`, of at most twenty by name.
    static func names(_ names: [String], of count: Int) -> String {
        let named = names.prefix(20)
        let text = named.joined(separator: ", ")
        return count > named.count ? "\(text) and \(count - named.count) more" : text
    }
}
