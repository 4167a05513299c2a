import Relay
import Terminal

/// The places of the query and of the items.
struct PaletteLayout: Hashable {
    let box: Rect
    let hasBorder: Bool
    let query: Rect
    let list: Rect
    /// The full description of the selected item; empty if there is no room below the list.
    let words: Rect

    private static let leastList = 6

    /// The title and the bottom line stay in view. If there is little room, there is no border.
    init(_ layout: ScreenLayout) {
        let bottom = layout.hint?.row ?? layout.size.rows
        let area = Rect(row: 1, column: 0, rows: bottom - 1, columns: layout.size.columns)
        hasBorder = area.rows >= 10 && area.columns >= 50
        let columns = min(84, area.columns - 8)
        let middle = Rect(
            row: area.row + 1, column: (area.columns - columns) / 2, rows: min(area.rows - 2, 20), columns: columns)
        box = hasBorder ? middle : area
        let inner = hasBorder ? box.inset(rows: 1, columns: 2) : area
        query = inner.split(top: 1).top
        // Within a border, a line separates them.
        (list, words) = Self.parts(inner.split(top: hasBorder ? 2 : 1).rest)
    }

    /// The longest description, in columns.
    private static let wordColumns = 200

    private static func parts(_ area: Rect) -> (list: Rect, words: Rect) {
        let rows = min(4, wordColumns / max(1, area.columns) + 1)
        let parts = area.split(bottom: area.rows >= leastList + rows ? rows : 0)
        return (parts.rest, parts.bottom)
    }
}

extension Frame {
    func drawPalette(_ palette: Palette) {
        let places = PaletteLayout(layout)
        canvas.fill(places.box, style: theme.overlay)
        if places.hasBorder { drawBorder(of: palette, places) }
        drawQuery(of: palette, in: places.query)
        let query = palette.query
        for offset in 0..<places.list.rows {
            let index = palette.firstVisible + offset
            guard palette.found.indices.contains(index) else { break }
            draw(
                palette.items[palette.found[index]], in: places.list.line(offset), query,
                isSelected: index == palette.selected)
        }
        drawWords(of: palette, in: places.list)
        drawSelected(of: palette, in: places.words)
    }

    /// Draws the full description of the selected item, if its row has no room for that.
    private func drawSelected(of palette: Palette, in area: Rect) {
        guard !area.isEmpty, palette.failure == nil, let item = palette.selectedItem else { return }
        let note = note(of: item).words
        let used = note.isEmpty ? 0 : min(SafeText(note).width, area.columns / 3) + 2
        guard SafeText(item.title).width + 2 + SafeText(item.detail).width > area.columns - 1 - used else { return }
        let whole = SafeText(item.title) + SafeText(": ") + SafeText(item.detail)
        write(whole.wrapped(columns: area.columns - 1), in: area, style: theme.dimmed)
    }

    private func drawBorder(of palette: Palette, _ places: PaletteLayout) {
        let box = places.box
        drawBorder(box)
        let title = palette.kind == .commands ? " Commands " : " Go to "
        canvas.write(title, row: box.row, column: box.column + 2, style: theme.title)
        let count = " \(palette.found.count) of \(palette.items.count) "
        canvas.write(count, row: box.row, column: box.endColumn - 2 - count.utf8.count, style: theme.dimmed)
        let line = Rect(row: box.row + 2, column: box.column + 1, rows: 1, columns: box.columns - 2)
        canvas.fill(line, with: "─", style: theme.rule)
    }

    private func drawQuery(of palette: Palette, in line: Rect) {
        canvas.write("> ", row: line.row, column: line.column, style: theme.heading)
        let room = max(1, line.columns - 2)
        if palette.editor.isEmpty {
            let words = palette.kind == .commands ? "a command, or what a key does" : "a topic, postbox or person"
            canvas.write(
                SafeText(words).truncated(columns: room), row: line.row, column: line.column + 2, style: theme.dimmed)
        }
        let (visible, cursor) = palette.editor.rendered(width: room)
        canvas.write(visible, row: line.row, column: line.column + 2, width: room)
        canvas.cursor = Position(row: line.row, column: line.column + 2 + cursor)
    }

    private func draw(_ item: PaletteItem, in row: Rect, _ query: FuzzyQuery, isSelected: Bool) {
        canvas.write(isSelected ? "▌" : " ", row: row.row, column: row.column, style: theme.heading)
        var rest = row.split(left: 1).rest
        let (words, noteStyle) = note(of: item)
        if !words.isEmpty {
            let note = SafeText(words).truncated(columns: rest.columns / 3)
            canvas.write(note, row: row.row, column: rest.endColumn - note.width, style: noteStyle)
            rest.columns = max(0, rest.columns - note.width - 2)
        }
        let title = SafeText(item.title).truncated(columns: rest.columns)
        // A few letters of a sentence say nothing.
        let room = rest.columns - title.width - 2
        let detail = room < 8 ? .empty : SafeText(item.detail).truncated(columns: room)
        let found = query.places(in: FuzzyText(item.title, detail: item.detail))
        write(title, found.title, of: item.title, row.row, rest.column, .plain)
        write(detail, found.detail, of: item.detail, row.row, rest.column + title.width + 2, theme.dimmed)
        guard isSelected else { return }
        drawSelection(row)
    }

    /// The note on an item's right. Unread counts change while the palette is open.
    private func note(of item: PaletteItem) -> (words: String, style: Style) {
        switch item.target {
        case .command, .everywhere, .editing, .own: return (item.note, theme.hintKey)
        case .line: return (item.note, theme.dimmed)
        case .elsewhere(let chat, .place(.topic(let name))):
            let topic = model.window.chats[chat].topics.first { $0.name == name }
            return (topic?.words ?? "", theme.unread)
        case .person, .elsewhere: return ("", theme.dimmed)
        case .place(.topic(let name)):
            let unread = model.network.conversations.named(name).flatMap { $0.unread > 0 ? $0.unreadWords : nil }
            return (unread ?? "", theme.unread)
        case .place(.letters(let box)):
            let count = box.map { model.network.inbox.counts[$0] ?? 0 } ?? model.unreadLetters
            return (count > 0 ? Wording.compact(count) : "", theme.unread)
        }
    }

    /// Writes a text that may be cut, with the typed characters marked.
    private func write(
        _ shown: SafeText, _ places: [Int], of text: String, _ row: Int, _ column: Int, _ style: Style
    ) {
        canvas.write(shown, row: row, column: column, style: style)
        guard !shown.isEmpty, let last = places.last else { return }
        var offset = 0
        for (place, character) in text.prefix(last + 1).enumerated() {
            let width = SafeText(String(character)).width
            if places.contains(place), offset + width <= shown.width {
                canvas.restyle(Rect(row: row, column: column + offset, rows: 1, columns: width)) {
                    $0 = theme.found(in: $0)
                }
            }
            offset += width
        }
    }

    private func drawWords(of palette: Palette, in list: Rect) {
        var words = palette.failure
        if words == nil, palette.found.isEmpty {
            words =
                palette.kind == .commands
                ? "No command or key has these letters."
                : "No topic, postbox or person here has these letters. /join TOPIC joins a topic."
        }
        guard let words, !list.isEmpty else { return }
        let rest = list.split(top: min(palette.found.count, list.rows - 1)).rest
        let lines = SafeText(words).wrapped(columns: rest.columns - 1)
        canvas.fill(rest.split(top: lines.count).top, style: theme.overlay)
        write(lines, in: rest, style: palette.failure == nil ? theme.dimmed : theme.failure)
    }
}
