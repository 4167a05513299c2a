import RelayLab
import Terminal

/// The parts of the lab in the main pane: the choices or the ledger, the description of the selected row, the timeline,
/// and the ledger in a line.
struct LabLayout {
    /// The choices, one in each row; the ledger, once the lab is over.
    let table: Rect
    let words: Rect
    /// The timeline, one lane in each row.
    let strips: Rect
    /// The ledger in a line; empty once it is shown as a table.
    let figures: Rect
    let ledger: [LedgerLine]

    enum LedgerLine: Hashable {
        /// The verdict, or a finding.
        case words(SafeText, isGood: Bool)
        case figure(SafeText, SafeText, isBad: Bool)
    }

    /// The width from which the timeline is beside the list.
    static let wideFrom = 88
    static let lanes = 9

    init(_ lab: LabDesk, area: Rect) {
        if area.columns >= Self.wideFrom, area.rows >= 14 {
            let halves = area.split(left: 42)
            let parts = halves.left.split(bottom: lab.isOn ? 3 : 0)
            (table, words) = (parts.rest, parts.bottom)
            let right = halves.rest.split(top: Self.lanes)
            strips = right.top
            figures = lab.isOn ? right.rest.split(top: 1).rest.split(top: 8).top : area.split(top: 0).top
        } else {
            var rest = area
            func take(_ rows: Int) -> Rect {
                let parts = rest.split(bottom: max(0, min(rows, rest.rows)))
                rest = parts.rest
                return parts.bottom
            }
            figures = take(lab.isOn && area.rows >= 3 ? 1 : 0)
            // The choices come first, but the lanes that change most always have room.
            let spare = lab.isOn ? max(4, area.rows - 2 - LabChoice.allCases.count) : Self.lanes
            strips = take(area.rows >= 11 ? min(Self.lanes, spare, area.rows - 10) : area.rows >= 6 ? 1 : 0)
            words = take(lab.isOn && area.rows >= 9 ? 1 : 0)
            table = rest
        }
        ledger = lab.isOn ? [] : Self.ledger(of: lab.glance, columns: table.columns - 2)
    }

    /// The lanes drawn if `count` fit, in order: those that change most are kept longest.
    static func lanes(_ count: Int) -> [Int] {
        // In the order of ``LabTimeline``: state, faults, attempts, round trip, queued, sent, recovered, doubled, lost.
        let byImportance = [0, 4, 1, 5, 3, 2, 8, 7, 6]
        return byImportance.prefix(count).sorted()
    }

    private static func ledger(of glance: LabReport?, columns: Int) -> [LedgerLine] {
        guard let glance else { return [] }
        let bad: Set = ["doubled", "lost", "outOfOrder", "contradicted", "strange", "unsettled"]
        let optional: Set = ["notSent", "uncertain", "unsettled", "contradicted", "strange"]
        let isGood = glance.findings.isEmpty
        let verdict =
            !isGood
            ? LabWords.notAccountedFor
            : glance.figures.sent == 0 && glance.figures.received == 0
                ? LabWords.nothingWasSent : LabWords.accountedFor
        var lines: [LedgerLine] = SafeText(verdict).wrapped(columns: columns).map { .words($0, isGood: isGood) }
        for (name, words, value) in glance.figures.rows where !optional.contains(name) || value != "0" {
            lines.append(.figure(SafeText(words), SafeText(value), isBad: bad.contains(name) && value != "0"))
        }
        for finding in glance.findings {
            lines += SafeText(String(finding.prefix(1_024))).wrapped(columns: columns).map { .words($0, isGood: false) }
        }
        return lines
    }
}
