import Terminal

extension Frame {
    /// The fewest columns in which the completion key is named.
    private static let roomForKey = 40

    /// Draws the commands that the text may become in place of the key hints, up to the column `end`; a single one with
    /// its description. Returns false if there are none.
    func drawCommands(in area: Rect, until end: Int) -> Bool {
        let offered = model.commandsOffered
        guard let first = offered.first else { return false }
        var column = area.column + 1
        if end - column >= Self.roomForKey, let key = model.settings.keys.label(of: .complete, in: ComposePane.self) {
            column += canvas.write(SafeText(key), row: area.row, column: column, style: theme.hintKey)
            column += canvas.write(" completes  ", row: area.row, column: column, style: theme.hint)
        }
        guard offered.count > 1 else {
            let usage = SafeText(first.usage).truncated(columns: max(0, end - column))
            column += canvas.write(usage, row: area.row, column: column, style: theme.hintKey)
            let words = SafeText("  " + first.words).truncated(columns: max(0, end - column))
            canvas.write(words, row: area.row, column: column, style: theme.hint)
            return true
        }
        for (place, entry) in offered.enumerated() {
            let name = SafeText("/\(entry.name)")
            // All but the last leave room for the ellipsis.
            let behind = place == offered.count - 1 ? 0 : 3
            guard column + name.width + behind <= end else {
                if column < end { canvas.write("…", row: area.row, column: column, style: theme.hint) }
                break
            }
            column += canvas.write(name, row: area.row, column: column, style: theme.hintKey) + 2
        }
        return true
    }
}
