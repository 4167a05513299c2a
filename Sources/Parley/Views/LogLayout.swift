import Relay
import Terminal

/// Where the person looks in the connection log.
enum LogScroll: Hashable, Sendable {
    /// The newest entry, whatever comes.
    case end
    /// The entry at the pane's bottom edge, by its serial, and how many of its lines are below that edge.
    case entry(UInt64, hiddenLines: Int)
}

/// How the log's entries become lines of a pane of some width. Only the entries asked for are measured.
struct LogLayout {
    let log: ConnectionLog
    let columns: Int
    let zone: DisplayZone

    /// One line of the pane.
    enum Line: Hashable {
        /// A line across the pane with the date of the entries below it.
        case date(String)
        /// The first line of an entry: the time and, from its symbol on, what happened. The first `markColumns` of the
        /// text are in the colour of `state`; nil is for what is no status.
        case head(time: String, SafeText, state: ConnectionStatus.State?, markColumns: Int)
        /// What did not fit there.
        case rest(SafeText)
    }

    /// Columns of a time.
    static let timeColumns = 12
    /// Where the text of an entry begins: next to the time if there is room for both, otherwise below it.
    var indent: Int { isStacked ? 2 : Self.timeColumns + 3 }
    private var isStacked: Bool { columns < 44 }

    /// The lines of the entry at `index`, with the date above it where that is another one than before.
    func lines(ofEntry index: Int) -> [Line] {
        guard log.entries.indices.contains(index) else { return [] }
        let entry = log.entries[index]
        let civil = CivilTime(entry.at, zone: zone)
        var lines: [Line] = []
        let dayBefore = index > 0 ? CivilTime(log.entries[index - 1].at, zone: zone).dayNumber : nil
        if civil.dayNumber != dayBefore { lines.append(.date(civil.dateLine(currentYear: nil))) }
        let (mark, text, state) = parts(of: entry.event)
        if isStacked {
            // The symbol stays next to the time, and so does the word if it fits.
            let room = columns - Self.timeColumns - 2
            let isWhole = mark.width <= room
            lines.append(
                .head(
                    time: civil.preciseClock, isWhole ? mark : mark.prefix(columns: max(0, min(room, 1))), state: state,
                    markColumns: mark.width))
            let below = isWhole ? text : mark.dropFirst(columns: 2) + SafeText(text.isEmpty ? "" : " · ") + text
            if !below.isEmpty { lines += below.wrapped(columns: columns - indent).map(Line.rest) }
        } else {
            let whole = text.isEmpty ? mark : mark + SafeText(state == nil ? " " : " · ") + text
            for (number, line) in whole.wrapped(columns: columns - indent - 1).enumerated() {
                lines.append(
                    number == 0
                        ? .head(time: civil.preciseClock, line, state: state, markColumns: mark.width) : .rest(line))
            }
        }
        return lines
    }

    private func parts(of event: ConnectionLog.Event) -> (mark: SafeText, text: SafeText, ConnectionStatus.State?) {
        switch event {
        case .status(let change):
            let mark = SafeText("\(change.state.symbol) \(change.state.word)")
            return (mark, SafeText(change.details.joined(separator: " · ")), change.state)
        case .life(let life): return (SafeText("·"), SafeText(life.words), nil)
        case .remark(let words): return (SafeText("·"), SafeText(words), nil)
        }
    }

    // MARK: The viewport

    /// The lines that a pane of `rows` shows, and how many entries are below its edge.
    func viewport(rows: Int, scroll: LogScroll) -> (lines: [Line], entriesBelow: Int) {
        guard rows > 0, !log.entries.isEmpty else { return ([], 0) }
        let (edge, hidden) = settled(edge(of: scroll), rows: rows)
        var shown: [Line] = []
        var index = edge
        while index >= 0, shown.count < rows {
            var block = lines(ofEntry: index)
            if index == edge { block.removeLast(min(hidden, block.count)) }
            shown.insert(contentsOf: block.suffix(rows - shown.count), at: 0)
            index -= 1
        }
        return (shown, log.entries.count - 1 - edge)
    }

    /// The scroll position `lines` above the given one (below it when negative), kept inside the log.
    func scrolled(_ scroll: LogScroll, up lines: Int, rows: Int) -> LogScroll {
        guard rows > 0, !log.entries.isEmpty else { return .end }
        var (index, hidden) = settled(edge(of: scroll), rows: rows)
        hidden += lines
        while index > 0, hidden >= height(index) {
            hidden -= height(index)
            index -= 1
        }
        while hidden < 0 {
            guard index + 1 < log.entries.count else { return .end }
            index += 1
            hidden += height(index)
        }
        return self.scroll(at: settled((index, hidden), rows: rows))
    }

    /// The scroll position that shows the oldest entry.
    func beginning(rows: Int) -> LogScroll {
        guard rows > 0, !log.entries.isEmpty else { return .end }
        return scroll(at: settled((0, height(0)), rows: rows))
    }

    private func height(_ index: Int) -> Int { lines(ofEntry: index).count }

    private func scroll(at edge: (index: Int, hidden: Int)) -> LogScroll {
        if edge.index == log.entries.count - 1, edge.hidden <= 0 { return .end }
        return .entry(log.entries[edge.index].serial, hiddenLines: edge.hidden)
    }

    private func edge(of scroll: LogScroll) -> (index: Int, hidden: Int) {
        guard case .entry(let serial, let hidden) = scroll else { return (log.entries.count - 1, 0) }
        return (min(log.index(atOrAfter: serial), log.entries.count - 1), max(0, hidden))
    }

    /// Moves the edge down as far as it takes to fill the pane, and never past the newest entry.
    private func settled(_ edge: (index: Int, hidden: Int), rows: Int) -> (index: Int, hidden: Int) {
        var (index, hidden) = edge
        hidden = min(hidden, height(index))
        var missing = rows - linesAbove(index, hidden: hidden, upTo: rows)
        while missing > 0 {
            let step = min(hidden, missing)
            hidden -= step
            missing -= step
            guard missing > 0, index + 1 < log.entries.count else { break }
            index += 1
            hidden = height(index)
        }
        return (index, hidden)
    }

    private func linesAbove(_ index: Int, hidden: Int, upTo limit: Int) -> Int {
        var total = height(index) - hidden
        var above = index - 1
        while above >= 0, total < limit {
            total += height(above)
            above -= 1
        }
        return min(total, limit)
    }
}
