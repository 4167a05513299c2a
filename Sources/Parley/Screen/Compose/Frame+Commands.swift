import Terminal

extension Frame {
    /// The room from which on the key is named that completes a command.
    private static let roomForKey = 40

    /// The commands that the text may become, in the place of the keys of the moment; a single one with what it does.
    /// They end before the column `end`; false where there are none.
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
            // Behind all but the last there is room for the sign that it goes on.
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
