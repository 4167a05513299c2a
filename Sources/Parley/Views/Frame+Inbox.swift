import Relay
import Terminal

extension Frame {
    /// The postbox: a table of letters, the open letter, and the progress of a deletion.
    mutating func drawInbox(_ box: String?) {
        drawHeading(SafeText(inboxWords(box)))
        let parts = InboxLayout(model: model, area: layout.main)
        let columns = InboxColumns(columns: parts.table.columns, showsBox: box == nil)
        if model.inbox.letters.isEmpty { drawEmptyInbox(parts.table) }
        for offset in 0..<parts.table.rows {
            let index = model.inbox.firstVisible + offset
            guard model.inbox.letters.indices.contains(index) else { break }
            let row = Rect(
                row: parts.table.row + offset, column: parts.table.column, rows: 1, columns: parts.table.columns)
            drawLetter(model.inbox.letters[index], in: row, columns, isSelected: index == model.inbox.selected)
        }
        drawReader(parts)
        drawProgress(parts)
    }

    private func inboxWords(_ box: String?) -> String {
        var words = box.map { "postbox \(model.inbox.name(ofBox: $0))" } ?? "postbox"
        if let box, model.inbox.boxes.first(where: { $0.id == box })?.isEnabled == false { words += " (off)" }
        words += " ─ page \(model.inbox.pageNumber)\(model.inbox.hasMore ? ", more ▸" : "")"
        if let kept = model.inbox.kept { words += keptWords(kept) }
        if !model.inbox.marked.isEmpty { words += " ─ \(model.inbox.marked.count) marked" }
        if model.inbox.fetch != nil { words += " ─ listing …" }
        return words
    }

    /// That the page is what this machine keeps, and as of when.
    private func keptWords(_ kept: Inbox.Kept) -> String {
        guard let asOf = kept.asOf else { return " ─ offline" }
        return " ─ offline, as of \(CivilTime(asOf, zone: model.zone).shortStamp.drop { $0 == " " })"
    }

    private mutating func drawEmptyInbox(_ area: Rect) {
        guard !area.isEmpty else { return }
        var words = model.inbox.isLoaded ? "No letters." : "Listing …"
        var style = theme.dimmed
        if let failure = model.inbox.failure {
            let key = model.settings.keys.label(of: .refresh, in: InboxPane.self)
            words = "✗ \(failure)" + (key.map { " \($0) tries again." } ?? "")
            style = theme.failure
        }
        for (offset, line) in SafeText(words).wrapped(columns: area.columns - 3).prefix(area.rows).enumerated() {
            canvas.write(line, row: area.row + offset, column: area.column + 2, style: style)
        }
        if model.focus == .main { canvas.cursor = Position(row: area.row, column: area.column) }
    }

    private mutating func drawLetter(
        _ letter: PostboxMessage, in row: Rect, _ columns: InboxColumns, isSelected: Bool
    ) {
        let isUnread = model.inbox.isUnread(letter)
        let isLeaving = model.inbox.isBeingDeleted(letter.id)
        let style = isLeaving ? theme.dimmed : isUnread ? Style(attributes: .bold) : .plain
        let mark = isLeaving ? "✕" : model.inbox.marked.contains(letter.id) ? "*" : " "
        canvas.write(isSelected ? "▌" : " ", row: row.row, column: row.column, style: theme.heading)
        canvas.write(mark, row: row.row, column: row.column + 1, style: theme.marker)
        canvas.write(isUnread ? "•" : " ", row: row.row, column: row.column + 2, style: theme.unread)
        var column = row.column + InboxLayout.markColumns
        if columns.time > 0 {
            let stamp = CivilTime(letter.createdAt, zone: model.zone).shortStamp
            canvas.write(stamp, row: row.row, column: column, style: theme.time)
            column += columns.time + 2
        }
        let from = letter.from.flatMap { $0.isEmpty ? nil : $0 } ?? "?"
        let name = NameBook.shown(from).shortened(columns: columns.from)
        canvas.write(name, row: row.row, column: column, style: theme.style(ofName: from))
        column += columns.from + 2
        if columns.box > 0 {
            let name = SafeText(String(model.inbox.name(ofBox: letter.postboxId).prefix(64)))
            canvas.write(name.truncated(columns: columns.box), row: row.row, column: column, style: theme.dimmed)
            column += columns.box + 2
        }
        let firstLine = letter.message.prefix(512).split(whereSeparator: \.isNewline).first.map(String.init) ?? ""
        canvas.write(SafeText(firstLine).truncated(columns: columns.line), row: row.row, column: column, style: style)
        guard isSelected, model.focus == .main else { return }
        let selection = theme.selection(over:)
        canvas.restyle(row) { $0 = selection($0) }
        canvas.cursor = Position(row: row.row, column: row.column)
    }

    private mutating func drawReader(_ parts: InboxLayout) {
        guard let letter = model.inbox.openLetter, let reader = parts.reader else { return }
        if let heading = parts.readerHeading {
            let stamp = CivilTime(letter.createdAt, zone: model.zone)
            let from = String((letter.from ?? "?").prefix(64))
            let box = model.inbox.name(ofBox: letter.postboxId)
            let words = "from \(from) to \(box), \(stamp.shortStamp.drop { $0 == " " })"
            drawSeparator(SafeText(words), in: heading, words: theme.title, rule: theme.rule)
        }
        let first = min(model.inbox.readerScroll, parts.lastReaderScroll)
        for (offset, line) in parts.letterLines.dropFirst(first).prefix(reader.rows).enumerated() {
            canvas.write(withKey(line), row: reader.row + offset, column: reader.column + 1)
        }
        if first < parts.lastReaderScroll, !reader.isEmpty {
            canvas.write("↓", row: reader.endRow - 1, column: reader.endColumn - 1, style: theme.dimmed)
        }
        if parts.table.isEmpty, model.focus == .main {
            canvas.cursor = Position(row: reader.row, column: reader.column)
        }
    }

    private mutating func drawProgress(_ parts: InboxLayout) {
        guard let area = parts.progress, let deletion = model.inbox.deletion else { return }
        let width = min(20, max(0, area.columns - 30))
        let filled = deletion.total > 0 ? width * min(deletion.done, deletion.total) / deletion.total : 0
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let key = deletion.waiting.isEmpty ? nil : model.settings.keys.label(of: .escape)
        let stop = key.map { "   \($0) stops" } ?? ""
        let words = " \(bar) deleting \(deletion.done) of \(deletion.total)\(stop)"
        canvas.fill(area)
        canvas.write(
            SafeText(words).truncated(columns: area.columns), row: area.row, column: area.column, style: theme.marker)
    }
}
