/// Whether a run passed, and if not, what went wrong with which messages.
public struct LabVerdict: Hashable, Sendable {
    /// One thing that went wrong.
    public struct Finding: Hashable, Sendable {
        /// Its kind, named as in ``LabFigures/counts``; `expectation` or `run` if no message is concerned.
        public var kind: String
        /// A sentence that names the messages.
        public var words: String
    }

    /// The findings, worst first.
    public var findings: [Finding] = []

    /// Whether there are no findings.
    public var isPassed: Bool { findings.isEmpty }

    /// Judges a ledger and the expectations. Before a run is over, a missing outcome is no finding.
    init(_ ledger: LabLedger, _ expectations: [LabExpectationResult], failure: String?, isOver: Bool = true) {
        let figures = ledger.figures
        func add(_ kind: String, _ words: String) { findings.append(Finding(kind: kind, words: words)) }
        func add(_ kind: String, _ count: Int, _ names: [String], _ what: String) {
            if count > 0 { add(kind, "\(what): \(Self.names(names, of: count)).") }
        }
        func names(_ numbers: [LabNumber]) -> [String] { numbers.map(\.description) }
        func names(_ delivery: LabLedger.Delivery) -> [String] { ledger.faulty[delivery] ?? [] }
        if let failure { add("run", failure) }
        let missing = ledger.missing.values.reduce(0, +)
        if isOver { add("lost", figures.lost - missing, names(ledger.lost), "Acknowledged and never delivered") }
        for (topic, count) in ledger.missing.sorted(by: { $0.key < $1.key }) {
            add("lost", "Missing on \(topic): \(count).")
        }
        add("doubled", figures.doubled, names(.again), "Delivered again")
        add("outOfOrder", figures.outOfOrder, names(.late), "Delivered behind a later one")
        let contradicted = names(ledger.contradicted)
        add("contradicted", figures.contradicted, contradicted, "Delivered, and reported as not sent")
        add("strange", figures.strange, names(.strange), "Delivered, and sent by nobody")
        if isOver {
            let unsettled = names(ledger.unsettled)
            add("unsettled", figures.unsettled, unsettled, "Neither acknowledged nor reported as not sent")
        }
        for result in expectations where !result.isMet {
            let instead = result.instead.map { "; there was \($0)" } ?? ""
            add("expectation", "Not within \(result.took): \(result.words)\(instead).")
        }
    }

    /// `a 1, a 2, b 7 and 3 more`, naming at most twenty.
    static func names(_ names: [String], of count: Int) -> String {
        let named = names.prefix(20)
        let text = named.joined(separator: ", ")
        return count > named.count ? "\(text) and \(count - named.count) more" : text
    }
}
