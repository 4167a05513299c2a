import Relay
import Terminal

/// How a conversation's rows become lines of a pane of some width. Only the rows asked for are measured, so that the
/// cost is that of a screen, however long the conversation is.
struct ConversationLayout {
    let conversation: Conversation
    let columns: Int
    let zone: DisplayZone
    /// The present year; dates of other years name theirs.
    let currentYear: Int?

    /// Characters of one message that are shown at most.
    static let characterLimit = 16_384
    /// Lines of one message that are shown at most.
    static let lineLimit = 200

    /// One line of the pane.
    enum Line: Hashable {
        /// A line across the pane with words in it.
        case separator(Separator, String)
        /// A line of a message; the first one has the time and the name.
        case text(SafeText, isFirst: Bool, row: ConversationRow)
        /// Why an own line was not sent.
        case failure(SafeText)
    }

    /// What a separator means.
    enum Separator: Hashable {
        case beginning
        case date
        case new
        case gap
    }

    /// How many columns each part of a line has.
    struct Columns: Hashable {
        let time: Int
        let name: Int
        let text: Int

        /// Where the text begins.
        var indent: Int { 1 + (time > 0 ? time + 2 : 0) + name + 2 }
    }

    /// The widths of the parts: on a narrow pane the time goes first, then the name is cut.
    var widths: Columns {
        let time = columns >= 36 ? 5 : 0
        let name = min(conversation.nameColumns, max(4, columns / 4))
        let fixed = 1 + (time > 0 ? time + 2 : 0) + name + 2 + 2
        return Columns(time: time, name: name, text: max(1, columns - fixed))
    }

    /// The lines of the row at `index`, with the separators above it.
    func lines(ofRow index: Int) -> [Line] {
        guard let row = conversation.row(at: index) else { return [] }
        var lines: [Line] = []
        if index == 0, let words = beginningWords { lines.append(.separator(.beginning, words)) }
        if let date = dateLine(above: index, row) { lines.append(.separator(.date, date)) }
        if row.position == conversation.newMarker { lines.append(.separator(.new, "new")) }
        switch row {
        case .gap(_, let lost):
            let count = Wording.count(Int(clamping: lost), "message")
            lines.append(.separator(.gap, "\(count) \(lost == 1 ? "was" : "were") lost"))
        case .restart:
            lines.append(.separator(.gap, "deleted and made again: here it begins"))
        case .message(let line):
            let shown = line.topic == conversation.name ? line.text : "[\(line.topic)] \(line.text)"
            lines += wrapped(shown).enumerated().map { .text($1, isFirst: $0 == 0, row: row) }
        case .pending(let line):
            lines += wrapped(line.text).enumerated().map { .text($1, isFirst: $0 == 0, row: row) }
            if case .failed(let reason) = line.state {
                let words = SafeText("\(reason) /resend or /discard")
                lines += words.wrapped(columns: widths.text).prefix(4).map { .failure($0) }
            }
        }
        return lines
    }

    /// How many lines the row at `index` takes.
    func height(ofRow index: Int) -> Int { lines(ofRow: index).count }

    // MARK: The viewport

    /// The lines that a pane of `rows` shows, and how many rows of the conversation are below its edge.
    func viewport(rows: Int) -> (lines: [Line], rowsBelow: Int) {
        guard rows > 0, conversation.count > 0 else { return ([], 0) }
        let (edge, hidden) = settled(edge(of: conversation.scroll), rows: rows)
        var shown: [Line] = []
        var index = edge
        while index >= 0, shown.count < rows {
            var block = lines(ofRow: index)
            if index == edge { block.removeLast(min(hidden, block.count)) }
            shown.insert(contentsOf: block.suffix(rows - shown.count), at: 0)
            index -= 1
        }
        return (shown, conversation.count - 1 - edge)
    }

    /// The scroll position `lines` above the present one (below it when negative), kept inside the conversation.
    func scrolled(up lines: Int, rows: Int) -> Conversation.Scroll {
        guard conversation.count > 0, rows > 0 else { return .bottom }
        var (index, hidden) = settled(edge(of: conversation.scroll), rows: rows)
        hidden += lines
        while index > 0, hidden > 0 {
            let height = height(ofRow: index)
            if hidden < height { break }
            hidden -= height
            index -= 1
        }
        while hidden < 0 {
            guard index + 1 < conversation.count else { return .bottom }
            index += 1
            hidden += height(ofRow: index)
        }
        return scroll(at: settled((index, hidden), rows: rows))
    }

    /// The scroll position that shows the oldest row.
    func beginning(rows: Int) -> Conversation.Scroll {
        guard conversation.count > 0, rows > 0 else { return .bottom }
        return scroll(at: settled((0, height(ofRow: 0)), rows: rows))
    }

    /// Whether the oldest row's first line is in view.
    func showsBeginning(rows: Int) -> Bool {
        let (index, hidden) = settled(edge(of: conversation.scroll), rows: rows)
        return linesAbove(index, hidden: hidden, upTo: rows + 1) <= rows
    }

    private func scroll(at edge: (index: Int, hidden: Int)) -> Conversation.Scroll {
        if edge.index == conversation.count - 1, edge.hidden <= 0 { return .bottom }
        guard let row = conversation.row(at: edge.index) else { return .bottom }
        return .row(row.position, hiddenLines: edge.hidden)
    }

    private func edge(of scroll: Conversation.Scroll) -> (index: Int, hidden: Int) {
        guard case .row(let position, let hidden) = scroll else { return (conversation.count - 1, 0) }
        let index = min(conversation.index(atOrAfter: position), conversation.count - 1)
        return (index, max(0, hidden))
    }

    /// Moves the edge down as far as it takes to fill the pane, and never past the newest row.
    private func settled(_ edge: (index: Int, hidden: Int), rows: Int) -> (index: Int, hidden: Int) {
        var (index, hidden) = edge
        hidden = min(hidden, height(ofRow: index))
        var missing = rows - linesAbove(index, hidden: hidden, upTo: rows)
        while missing > 0 {
            let step = min(hidden, missing)
            hidden -= step
            missing -= step
            guard missing > 0, index + 1 < conversation.count else { break }
            index += 1
            hidden = height(ofRow: index)
        }
        return (index, hidden)
    }

    private func linesAbove(_ index: Int, hidden: Int, upTo limit: Int) -> Int {
        var total = height(ofRow: index) - hidden
        var above = index - 1
        while above >= 0, total < limit {
            total += height(ofRow: above)
            above -= 1
        }
        return min(total, limit)
    }

    // MARK: Parts

    private var beginningWords: String? {
        switch conversation.history {
        case .unknown: nil
        case .loading: "loading older messages …"
        case .more: "older messages: PgUp or /history"
        case .complete: "the beginning"
        }
    }

    private func dateLine(above index: Int, _ row: ConversationRow) -> String? {
        guard let time = row.time else { return nil }
        let civil = CivilTime(time, zone: zone)
        var earlier = index - 1
        while let before = conversation.row(at: earlier) {
            if let time = before.time {
                if CivilTime(time, zone: zone).dayNumber == civil.dayNumber { return nil }
                break
            }
            earlier -= 1
        }
        return civil.dateLine(currentYear: currentYear)
    }

    private func wrapped(_ text: String) -> [SafeText] {
        var shown = text
        if text.utf8.count > Self.characterLimit {
            shown = String(text.prefix(Self.characterLimit))
            if shown.utf8.count < text.utf8.count { shown += " …" }
        }
        let width = widths.text
        var lines: [SafeText] = []
        for line in SafeText.lines(shown) {
            lines += line.wrapped(columns: width)
            if lines.count > Self.lineLimit {
                return lines.prefix(Self.lineLimit) + [SafeText("… the message goes on")]
            }
        }
        return lines
    }
}

extension ChatModel {
    /// The layout of a conversation in a pane of `columns`.
    func conversationLayout(_ conversation: Conversation, columns: Int) -> ConversationLayout {
        ConversationLayout(
            conversation: conversation, columns: columns, zone: zone,
            currentYear: CivilTime(now.wall, zone: zone).year)
    }
}
