import Relay
import Terminal

extension Frame {
    func drawInbox(_ box: String?) {
        drawHeading(SafeText(inboxWords(box)))
        let parts = InboxLayout(model: model, area: layout.main)
        let columns = InboxColumns(columns: parts.table.columns, showsBox: box == nil, model: model)
        if model.network.inbox.letters.isEmpty { drawEmptyInbox(parts.table) }
        for offset in 0..<parts.table.rows {
            let index = model.network.inbox.firstVisible + offset
            guard model.network.inbox.letters.indices.contains(index) else { break }
            drawLetter(
                model.network.inbox.letters[index], in: parts.table.line(offset), columns,
                isSelected: index == model.network.inbox.selected)
        }
        let first = model.network.inbox.firstVisible
        drawMoreMarks(
            parts.table, above: first > 0, below: first + parts.table.rows < model.network.inbox.letters.count)
        if let divider = parts.divider { canvas.fill(divider, with: "│", style: theme.rule) }
        drawReader(parts)
        drawFilter(parts)
        drawPending(parts)
        drawProgress(parts)
    }

    private func inboxWords(_ box: String?) -> String {
        let inbox = model.network.inbox
        var words = box.map { "postbox \(inbox.fullName(ofBox: $0))" } ?? "postbox"
        if let box, inbox.boxes.first(where: { $0.id == box })?.isEnabled == false { words += " (off)" }
        if let marking = inbox.marking {
            let stop = model.settings.keys.label(of: .escape).map { ", \($0) stops" } ?? ""
            return words + " ─ \(Wording.grouped(inbox.marks.count)) marked, \(marking.progress)\(stop)"
        }
        words += inbox.finding == nil ? " ─ \(inbox.pageWords(box: box))" : " ─ filtered"
        words += (inbox.order == .oldestFirst ? ", oldest first" : "")
        if let kept = inbox.kept {
            let stamp = kept.asOf.map { CivilTime($0, zone: model.zone).stamp }
            words += " ─ offline" + (stamp.map { ", as of \($0)" } ?? "")
        }
        if !inbox.marks.isEmpty { words += " ─ \(markWords)" }
        if let sort = inbox.sort.words { words += " ─ \(sort)" }
        if inbox.newer > 0 { words += " ─ \(Wording.grouped(inbox.newer)) newer" }
        if inbox.fetch != nil { words += " ─ listing …" }
        return words
    }

    private var markWords: String {
        let (all, here) = (model.network.inbox.marks.count, model.network.inbox.markedShown)
        let place = model.network.inbox.filter == nil ? "on this page" : "shown"
        return "\(Wording.grouped(all)) marked" + (here < all ? ", \(Wording.grouped(here)) \(place)" : "")
    }

    private func drawEmptyInbox(_ area: Rect) {
        guard !area.isEmpty else { return }
        var words = model.network.inbox.isLoaded ? "No letters." : "Listing …"
        if model.network.inbox.isLoaded, model.network.inbox.filter?.terms.isEmpty == false {
            words = model.network.inbox.finding.map { $0.end == nil } == true ? "Looking …" : "No letter matches."
        }
        var style = theme.dimmed
        if let failure = model.network.inbox.failure {
            let key = model.settings.keys.label(of: .refresh, in: InboxPane.self)
            words = "✗ \(failure)" + (key.map { " \($0) tries again." } ?? "")
            style = theme.failure
        }
        write(SafeText(words).wrapped(columns: area.columns - 3), in: area, indent: 2, style: style)
        if model.screen.focus == .main { canvas.cursor = Position(row: area.row, column: area.column) }
    }

    private func drawLetter(_ letter: PostboxMessage, in row: Rect, _ columns: InboxColumns, isSelected: Bool) {
        let isUnread = model.network.inbox.isUnread(letter)
        let isLeaving = model.network.inbox.isBeingDeleted(letter.id)
        let style = isLeaving ? theme.dimmed : isUnread ? Style(attributes: .bold) : .plain
        let mark = isLeaving ? "✕" : model.network.inbox.isMarked(letter.id) ? "*" : " "
        canvas.write(isSelected ? "▌" : " ", row: row.row, column: row.column, style: theme.heading)
        canvas.write(mark, row: row.row, column: row.column + 1, style: theme.marker)
        canvas.write(isUnread ? "•" : " ", row: row.row, column: row.column + 2, style: theme.unread)
        var column = row.column + InboxLayout.markColumns
        func put(_ width: Int, _ text: @autoclosure () -> SafeText, _ style: Style) {
            guard width > 0 else { return }
            canvas.write(text(), row: row.row, column: column, style: style)
            column += width + 2
        }
        put(columns.persona, InboxColumns.persona(letter).shortened(columns: columns.persona), theme.dimmed)
        put(
            columns.box, InboxColumns.boxName(letter, model.network.inbox).shortened(columns: columns.box), theme.dimmed
        )
        let nameStyle =
            isLeaving ? theme.dimmed : theme.style(ofName: letter.from.flatMap { $0.isEmpty ? nil : $0 } ?? "?")
        put(columns.from, InboxColumns.sender(letter).shortened(columns: columns.from), nameStyle)
        put(columns.subject, InboxColumns.subject(letter).truncated(columns: columns.subject), style)
        let firstLine = letter.shownText.prefix(512).split(whereSeparator: \.breaksLine).first.map(String.init) ?? ""
        let words = (columns.subject > 0 ? "" : LetterSubject.prefix(letter.subject)) + firstLine
        canvas.write(SafeText(words).truncated(columns: columns.line), row: row.row, column: column, style: style)
        if columns.age > 0 {
            let age = InboxColumns.age(letter, model)
            let start = row.endColumn - InboxColumns.margin - age.utf8.count
            canvas.write(age, row: row.row, column: start, style: theme.time)
        }
        guard isSelected, model.screen.focus == .main else { return }
        drawSelection(row)
        canvas.cursor = Position(row: row.row, column: row.column)
    }

    private func drawReader(_ parts: InboxLayout) {
        guard let letter = model.network.inbox.openLetter, let reader = parts.reader else { return }
        if let heading = parts.readerHeading {
            let stamp = CivilTime(letter.createdAt, zone: model.zone).stamp
            let from = SafeText(name: letter.from ?? "?")
            let box = model.network.inbox.fullName(ofBox: letter.postboxId)
            let about = LetterSubject.suffix(letter.subject)
            let words = "from \(from) to \(box), \(stamp)\(about)"
            drawSeparator(SafeText(words), in: heading, words: theme.title, rule: theme.rule)
        }
        let first = min(model.network.inbox.readerScroll, parts.lastReaderScroll)
        for (offset, line) in parts.letterLines.dropFirst(first).prefix(reader.rows).enumerated() {
            canvas.write(withKey(line), row: reader.row + offset, column: reader.column + 1)
        }
        if first < parts.lastReaderScroll, !reader.isEmpty {
            canvas.write("↓", row: reader.endRow - 1, column: reader.endColumn - 1, style: theme.dimmed)
        }
        if parts.table.isEmpty, model.screen.focus == .main {
            canvas.cursor = Position(row: reader.row, column: reader.column)
        }
    }

    private func drawFilter(_ parts: InboxLayout) {
        guard let area = parts.filter, let filter = model.network.inbox.filter else { return }
        canvas.fill(area)
        var column = area.column + 1
        column += canvas.write("filter: ", row: area.row, column: column, style: theme.heading)
        let keys = model.settings.keys
        let open = filter.isTyped ? keys.label(of: .open, in: InboxPane.self).map { "\($0) keeps, " } : ""
        let end = keys.label(of: .escape).map { "  \(open ?? "")\($0) ends " } ?? " "
        let room = max(1, area.endColumn - column - 1)
        // If there is no room for both, the filter's progress matters more than how it ends.
        let choices = ["  \(foundWords)\(end)", "  \(foundWords) "].map { SafeText($0) }
        let words = choices.first { $0.width + Self.leastFilter <= room }
        let wanted = min(room, max(room - (words?.width ?? 0), Self.leastFilter))
        let (text, cursor) = filter.editor.rendered(width: wanted)
        canvas.write(text, row: area.row, column: column)
        if let words { canvas.write(words, row: area.row, column: area.endColumn - words.width, style: theme.dimmed) }
        guard filter.isTyped, model.screen.focus == .main else { return }
        canvas.cursor = Position(row: area.row, column: min(column + cursor, area.endColumn - 1))
    }

    /// The fewest columns in which a filter can be typed.
    private static let leastFilter = 8

    private var foundWords: String {
        let inbox = model.network.inbox
        let count = Wording.grouped(inbox.letters.count)
        guard let finding = inbox.finding else { return "\(count) of \(Wording.grouped(inbox.page.count))" }
        let seen = Wording.grouped(finding.sweep.seen)
        return switch finding.end {
        case .complete: "\(count) of \(seen)"
        case .full: "the first \(count)"
        case .tooMany: "\(count) in the first \(seen)"
        case .failed: "\(count), on this page alone"
        case .stopped, .left, nil: "\(count), \(finding.sweep.progress)"
        }
    }

    private func drawPending(_ parts: InboxLayout) {
        guard let area = parts.progress, let deadline = model.network.inbox.deletion.deadline else { return }
        let count = model.network.inbox.deletion.undoableCount
        let wait = Wording.wait(now.duration(to: deadline))
        let key = model.settings.keys.label(of: .undo, in: InboxPane.self)
        // While a filter is typed, the key belongs to it.
        let undo = model.network.inbox.filter?.isTyped == true ? "" : key.map { ", \($0) undoes" } ?? ""
        let words = " ✕ \(Wording.count(count, "letter")) \(count == 1 ? "is" : "are") deleted in \(wait)\(undo)"
        canvas.fill(area)
        canvas.write(
            SafeText(words).truncated(columns: area.columns), row: area.row, column: area.column, style: theme.marker)
    }

    /// Draws a deletion's progress: a bar if there is room for one, the figures, the rate if it fits, and the key that
    /// stops it.
    private func drawProgress(_ parts: InboxLayout) {
        // What can still be undone comes first.
        guard let area = parts.progress, model.network.inbox.deletion.deadline == nil,
            let deletion = model.network.inbox.deletion.run
        else { return }
        let count = deletion.ids.count
        let total = Wording.grouped(count)
        // It stays equally wide while the figures grow.
        let width = min(20, area.columns - Self.progressColumns - 2 * total.count)
        let filled = count > 0 ? max(0, width) * min(deletion.done, count) / count : 0
        let bar =
            width < Self.leastBar
            ? "" : String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled) + " "
        let key = deletion.isStoppable ? model.settings.keys.label(of: .escape) : nil
        let stop = key.map { "   \($0) stops" } ?? ""
        let rate = deletion.rate(now: model.now.instant).map { ", \(Wording.grouped($0)) a second" } ?? ""
        let figures = " \(bar)deleting \(Wording.grouped(deletion.done)) of \(total)"
        let words = SafeText(figures + rate + stop)
        let shown = words.width <= area.columns ? words : SafeText(figures + stop).truncated(columns: area.columns)
        canvas.fill(area)
        canvas.write(shown, row: area.row, column: area.column, style: theme.marker)
    }

    /// The columns of the words beside the bar, without the figures: ` deleting  of , 999 a second   Esc stops` and a
    /// blank.
    private static let progressColumns = 41
    private static let leastBar = 4
}
