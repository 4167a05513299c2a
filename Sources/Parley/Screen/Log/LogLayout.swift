import Relay
import Terminal

enum LogScroll: Hashable, Sendable {
    /// The newest entry, whatever is added.
    case end
    /// The entry at the pane's bottom edge, by its serial, and how many of its lines are below that edge.
    case entry(UInt64, hiddenLines: Int)
}

/// How the log's entries become lines of a pane of some width.
struct LogLayout: ScrollableRows {
    let log: ConnectionLog
    let columns: Int
    let zone: DisplayZone

    enum Line: Hashable {
        /// A line across the pane with the date of the entries below it.
        case date(String)
        /// The first line of an entry: the time, then its symbol and what happened. The first `markColumns` of the text
        /// have the colour of `kind`, which is nil if this is no status.
        case head(time: String, SafeText, kind: StatusText.Kind?, markColumns: Int)
        case rest(SafeText)
    }

    static let timeColumns = 12
    /// Where the text of an entry begins: next to the time if there is room for both, otherwise below it.
    var indent: Int { isStacked ? 2 : Self.timeColumns + 3 }
    private var isStacked: Bool { columns < 44 }

    var rowCount: Int { log.entries.count }

    /// The lines of the entry at `index`, with the date above it if that differs from the one before.
    func lines(ofRow index: Int) -> [Line] {
        guard log.entries.indices.contains(index) else { return [] }
        let entry = log.entries[index]
        let civil = CivilTime(entry.at, zone: zone)
        var lines: [Line] = []
        let dayBefore = index > 0 ? CivilTime(log.entries[index - 1].at, zone: zone).dayNumber : nil
        if civil.dayNumber != dayBefore { lines.append(.date(civil.dateLine(currentYear: nil))) }
        let (mark, text, kind) = parts(of: entry.event)
        func head(_ words: SafeText) -> Line {
            .head(time: civil.preciseClock, words, kind: kind, markColumns: mark.width)
        }
        if isStacked {
            // The symbol stays next to the time, and so does the word if it fits.
            let room = columns - Self.timeColumns - 2
            let isWhole = mark.width <= room
            lines.append(head(isWhole ? mark : mark.prefix(columns: max(0, min(room, 1)))))
            let below = isWhole ? text : mark.dropFirst(columns: 2) + SafeText(text.isEmpty ? "" : " · ") + text
            if !below.isEmpty { lines += below.wrapped(columns: columns - indent).map(Line.rest) }
        } else {
            let whole = text.isEmpty ? mark : mark + SafeText(kind == nil ? " " : " · ") + text
            for (number, line) in whole.wrapped(columns: columns - indent - 1).enumerated() {
                lines.append(number == 0 ? head(line) : .rest(line))
            }
        }
        return lines
    }

    private func parts(of event: ConnectionLog.Event) -> (mark: SafeText, text: SafeText, StatusText.Kind?) {
        switch event {
        case .status(let change):
            let mark = SafeText("\(change.state.symbol) \(change.state.word)")
            let kind = StatusText.Kind(change.state, isSilent: change.silence != nil)
            return (mark, SafeText(change.details.joined(separator: " · ")), kind)
        case .life(let life): return (SafeText("·"), SafeText(life.rawValue), nil)
        case .remark(let words): return (SafeText("·"), SafeText(words), nil)
        case .failure(let words): return (SafeText("✗"), SafeText(words), nil)
        }
    }

    func visibleLines(rows: Int, scroll: LogScroll) -> [Line] {
        visibleLines(rows: rows, above: edge(of: scroll)).lines
    }

    /// What is below the edge of a pane of `rows`, in words; nil if nothing is.
    func wordsBelow(_ scroll: LogScroll, rows: Int) -> String? { wordsBelow(edge(of: scroll), rows: rows) }

    /// The scroll position `lines` above the given one, below it if negative, kept inside the log.
    func scrolled(_ scroll: LogScroll, up lines: Int, rows: Int) -> LogScroll {
        self.scroll(at: moved(edge(of: scroll), up: lines, rows: rows))
    }

    func beginning(rows: Int) -> LogScroll { scroll(at: oldestEdge(rows: rows)) }

    private func scroll(at edge: PaneEdge?) -> LogScroll {
        guard let edge else { return .end }
        return .entry(log.entries[edge.index].serial, hiddenLines: edge.hidden)
    }

    private func edge(of scroll: LogScroll) -> PaneEdge {
        guard case .entry(let serial, let hidden) = scroll else { return newestEdge }
        return PaneEdge(index: min(log.index(atOrAfter: serial), log.entries.count - 1), hidden: max(0, hidden))
    }
}
