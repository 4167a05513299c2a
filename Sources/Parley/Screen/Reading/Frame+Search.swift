import Relay
import Terminal

/// The parts of a search in the main pane: its results, and the open letter.
struct SearchLayout: Hashable {
    /// One row for each result; empty if the open letter takes the whole pane.
    let table: Rect
    let readerHeading: Rect?
    let reader: Rect?
    let letterLines: [SafeText]

    init(search: Search, area: Rect) {
        guard let letter = search.openLetter else {
            (table, readerHeading, reader, letterLines) = (area, nil, nil, [])
            return
        }
        let parts = area.split(top: area.rows >= 14 ? max(4, area.rows / 3) : 0)
        table = parts.top
        let split = parts.rest.split(top: parts.rest.rows >= 2 ? 1 : 0)
        readerHeading = split.top.isEmpty ? nil : split.top
        reader = split.rest
        letterLines = InboxLayout.wrapped(letter.text, columns: split.rest.columns - 2)
    }

    var lastReaderScroll: Int { max(0, letterLines.count - (reader?.rows ?? 0)) }
}

private struct SearchColumns {
    let time: Int
    let from: Int
    let topic: Int
    let line: Int

    /// The columns before the first one.
    static let indent = 2

    /// On a narrow pane the topic is cut and the time dropped; if the text still has no room, the topic is dropped as
    /// well.
    init(columns: Int) {
        let rest = columns - Self.indent
        time = rest >= 56 ? 12 : 0
        topic = rest >= 72 ? 16 : rest >= 32 ? 10 : 0
        from = min(Conversation.nameColumnLimit, max(6, rest / 6))
        line = max(0, rest - (time > 0 ? time + 2 : 0) - (topic > 0 ? topic + 2 : 0) - from - 2)
    }
}

extension Frame {
    func drawSearch(_ search: Search) {
        drawHeading(SafeText(words(of: search)))
        let parts = SearchLayout(search: search, area: layout.main)
        let columns = SearchColumns(columns: parts.table.columns)
        let match = SearchMatch(search.query)
        if search.items.isEmpty { drawNothing(of: search, in: parts.table) }
        for offset in 0..<parts.table.rows {
            let index = search.firstVisible + offset
            guard search.items.indices.contains(index) else { break }
            let (item, row) = (search.items[index], parts.table.line(offset))
            draw(item, of: search.places[item], in: row, columns, match, isSelected: index == search.selected)
        }
        drawFoundLetter(search, parts, match)
    }

    private func words(of search: Search) -> String {
        let asked = SafeText(String(search.text.prefix(256))).truncated(columns: max(8, layout.main.columns / 2))
        var words = "search: \(asked)"
        let count = search.items.count
        if search.request != nil {
            words += " ─ searching …"
        } else if count >= Search.limit {
            words += " ─ the newest \(Wording.grouped(count)), before: has older ones"
        } else if count > 0 {
            words += " ─ \(Wording.grouped(count)) found\(search.isComplete ? "" : ", more ▸")"
        }
        if search.failure != nil, count > 0 { words += " ─ ✗ the rest cannot be read" }
        return model.isOffline ? words + offlineWords(asOf: model.storedThrough) : words
    }

    private func drawNothing(of search: Search, in area: Rect) {
        guard !area.isEmpty else { return }
        var words = "Nothing was found on this machine."
        var style = theme.dimmed
        if let failure = search.failure {
            words = "✗ \(failure)"
            style = theme.failure
        } else if search.request != nil {
            words = "Searching …"
        } else if !search.isComplete {
            words =
                "Nothing was found among the newest messages that have these words. before: with a date goes further back."
        }
        write(SafeText(words).wrapped(columns: area.columns - 3), in: area, indent: 2, style: style)
        if model.screen.focus == .main { canvas.cursor = Position(row: area.row, column: area.column) }
    }

    private func draw(
        _ item: FoundItem, of chat: Int?, in row: Rect, _ columns: SearchColumns, _ match: SearchMatch, isSelected: Bool
    ) {
        canvas.write(isSelected ? "▌" : " ", row: row.row, column: row.column, style: theme.heading)
        var column = row.column + SearchColumns.indent
        if columns.time > 0 {
            let stamp = CivilTime(item.time, zone: model.zone).shortStamp
            canvas.write(stamp, row: row.row, column: column, style: theme.time)
            column += columns.time + 2
        }
        let (from, place, text) = parts(of: item, chat)
        var name = SafeText(name: from)
        if case .letter = item { name = SafeText("✉ ") + name }
        name = name.truncated(columns: columns.from)
        canvas.write(name, row: row.row, column: column, width: columns.from, style: theme.style(ofName: from))
        column += columns.from + 2
        if columns.topic > 0 {
            let topic = SafeText(String(place.prefix(64))).shortened(columns: columns.topic)
            canvas.write(topic, row: row.row, column: column, width: columns.topic, style: theme.dimmed)
            column += columns.topic + 2
        }
        // Only this much of a text is searched for each row of each frame.
        let safe = SafeText(String(text.prefix(512)))
        let found = match.columns(of: safe)
        let skipped =
            found.first.map { $0.upperBound > columns.line ? max(0, $0.lowerBound - columns.line / 3) : 0 } ?? 0
        let shown = skipped > 0 ? SafeText("…") + safe.dropFirst(columns: skipped + 1) : safe
        canvas.write(shown.truncated(columns: columns.line), row: row.row, column: column)
        mark(found.map { $0.lowerBound - skipped..<$0.upperBound - skipped }, in: row, from: column, columns.line)
        guard isSelected, model.screen.focus == .main else { return }
        drawSelection(row)
        canvas.cursor = Position(row: row.row, column: row.column)
    }

    private func parts(of item: FoundItem, _ chat: Int?) -> (from: String, place: String, text: String) {
        if let chat, model.window.chats.indices.contains(chat) {
            let (from, place, text) = parts(of: item, nil)
            return (from, "\(model.window.chats[chat].name): \(place)", text)
        }
        switch item {
        case .message(let message): return (message.from.isEmpty ? "?" : message.from, message.topic, message.text)
        case .letter(let letter):
            let person = letter.person.flatMap { $0.isEmpty ? nil : $0 } ?? "?"
            let text = LetterSubject.prefix(letter.subject) + letter.text
            switch letter.direction {
            case .received: return (person, model.network.inbox.title(ofBox: letter.postbox), text)
            case .sent: return (model.network.identity.user, "\(person)/\(letter.postbox)", text)
            }
        }
    }

    private func drawFoundLetter(_ search: Search, _ parts: SearchLayout, _ match: SearchMatch) {
        guard let letter = search.openLetter, let reader = parts.reader else { return }
        if let heading = parts.readerHeading {
            let (from, place, _) = self.parts(of: .letter(letter), search.places[.letter(letter)])
            let stamp = CivilTime(letter.time, zone: model.zone).stamp
            let about = LetterSubject.suffix(letter.subject)
            let words = "from \(SafeText(name: from)) to \(place.prefix(64)), \(stamp)\(about)"
            drawSeparator(SafeText(words), in: heading, words: theme.title, rule: theme.rule)
        }
        let first = min(search.readerScroll, parts.lastReaderScroll)
        for (offset, line) in parts.letterLines.dropFirst(first).prefix(reader.rows).enumerated() {
            let row = reader.line(offset)
            canvas.write(line, row: row.row, column: row.column + 1, width: reader.columns - 1)
            mark(match.columns(of: line), in: row, from: row.column + 1, reader.columns - 1)
        }
        if first < parts.lastReaderScroll, !reader.isEmpty {
            canvas.write("↓", row: reader.endRow - 1, column: reader.endColumn - 1, style: theme.dimmed)
        }
        if parts.table.isEmpty, model.screen.focus == .main {
            canvas.cursor = Position(row: reader.row, column: reader.column)
        }
    }

    // MARK: In a conversation

    func drawExcerpt(_ excerpt: Excerpt) {
        let time = CivilTime(excerpt.message.time, zone: model.zone)
        let year = time.year == CivilTime(model.now.wall, zone: model.zone).year ? "" : " \(time.year)"
        let heading = SafeText("\(excerpt.conversation.name) ─ around \(time.stamp)\(year), as stored here")
        guard let failure = excerpt.failure else { return drawRows(of: excerpt.conversation, heading) }
        drawHeading(heading)
        let area = layout.main
        write(SafeText("✗ \(failure)").wrapped(columns: area.columns - 3), in: area, indent: 2, style: theme.failure)
    }

    /// Marks what a find looks for, and the message that a search has led to, with what that looked for.
    func drawMark(_ text: SafeText, of source: ConversationRow, in row: Rect, _ widths: ConversationLayout.Columns) {
        if let find = model.screen.marks.find, source.isMessage {
            mark(find.text.columns(of: text), in: row, from: row.column + widths.indent, widths.text)
        }
        guard let found = model.screen.marks.found, found.position == source.position else { return }
        canvas.write("▌", row: row.row, column: row.column, style: theme.heading)
        mark(SearchMatch(found.query).columns(of: text), in: row, from: row.column + widths.indent, widths.text)
    }

    /// Marks columns of a text that begins at `column` and is `width` wide.
    func mark(_ found: [Range<Int>], in row: Rect, from column: Int, _ width: Int) {
        let style = theme.found(in:)
        for range in found {
            let place = Rect(
                row: row.row, column: column + max(0, range.lowerBound), rows: 1,
                columns: min(range.upperBound, width) - max(0, range.lowerBound))
            canvas.restyle(place) { $0 = style($0) }
        }
    }
}

extension SearchMatch {
    fileprivate func columns(of line: SafeText) -> [Range<Int>] {
        let text = line.description.unicodeScalars
        return parts(of: String(text)).map { place in
            let start = SafeText(String(text[..<place.lowerBound])).width
            return start..<start + SafeText(String(text[place])).width
        }
    }
}
