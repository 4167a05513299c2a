import Relay
import Terminal

/// The places of the postbox's table, the open letter and the progress of a deletion in the main pane.
struct InboxLayout: Hashable {
    /// The letters' rows; empty where the open letter takes the whole pane.
    let table: Rect
    /// The line above the open letter.
    let readerHeading: Rect?
    let reader: Rect?
    let progress: Rect?
    /// The open letter's lines, wrapped.
    let letterLines: [SafeText]

    /// Columns at a row's left edge where a click marks.
    static let markColumns = 4
    /// Lines of one letter that are shown at most.
    static let lineLimit = 2_000

    init(model: ChatModel, area: Rect) {
        var rest = area
        if model.inbox.deletion != nil, area.rows >= 3 {
            let parts = rest.split(bottom: 1)
            rest = parts.rest
            progress = parts.bottom
        } else {
            progress = nil
        }
        guard let letter = model.inbox.openLetter else {
            table = rest
            readerHeading = nil
            reader = nil
            letterLines = []
            return
        }
        let parts = rest.split(top: rest.rows >= 14 ? max(4, rest.rows / 3) : 0)
        table = parts.top
        let split = parts.rest.split(top: parts.rest.rows >= 2 ? 1 : 0)
        readerHeading = split.top.isEmpty ? nil : split.top
        reader = split.rest
        letterLines = Self.wrapped(letter.message, columns: split.rest.columns - 2)
    }

    /// The furthest that the reader scrolls.
    var lastReaderScroll: Int { max(0, letterLines.count - (reader?.rows ?? 0)) }

    /// The lines of a letter.
    static func wrapped(_ text: String, columns: Int) -> [SafeText] {
        let limit = 262_144
        let shown = text.utf8.count > limit ? String(text.prefix(limit)) : text
        let goesOn = [ConversationLayout.goesOn]
        var lines: [SafeText] = []
        for line in SafeText.lines(shown) {
            lines += line.wrapped(columns: max(1, columns))
            if lines.count > lineLimit { return lines.prefix(lineLimit) + goesOn }
        }
        return shown.utf8.count < text.utf8.count ? lines + goesOn : lines
    }
}

/// The columns of the letters' table.
struct InboxColumns: Hashable {
    let time: Int
    let from: Int
    let box: Int
    let line: Int

    /// On a narrow pane the postbox goes first, then the time.
    init(columns: Int, showsBox: Bool) {
        let rest = columns - InboxLayout.markColumns
        time = rest >= 40 ? 12 : 0
        box = showsBox && rest >= 56 ? 12 : 0
        from = min(Conversation.nameColumnLimit, max(6, rest / 5))
        line = max(0, rest - (time > 0 ? time + 2 : 0) - (box > 0 ? box + 2 : 0) - from - 2)
    }
}
