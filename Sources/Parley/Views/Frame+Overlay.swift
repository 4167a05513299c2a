import Terminal

extension Frame {
    /// What lies over the panes.
    mutating func drawOverlay() {
        switch model.overlay {
        case .help(let scroll): drawHelp(scroll)
        // The log has the main pane's place, a question the bottom line's.
        case .log, .question, nil: break
        }
    }

    private mutating func drawHelp(_ scroll: Int) {
        let bounds = Rect(layout.size)
        let isRoomy = bounds.rows >= 16 && bounds.columns >= 60
        let box = isRoomy ? bounds.centered(rows: bounds.rows - 4, columns: min(84, bounds.columns - 8)) : bounds
        canvas.fill(box, style: theme.overlay)
        drawBorder(box)
        canvas.write(" Help ", row: box.row, column: box.column + 2, style: theme.title)
        let inner = Rect(row: box.row + 1, column: box.column + 2, rows: box.rows - 2, columns: box.columns - 4)
        let first = min(scroll, max(0, HelpText.lines.count - inner.rows))
        for (offset, line) in HelpText.lines.dropFirst(first).prefix(inner.rows).enumerated() {
            drawHelp(line, in: Rect(row: inner.row + offset, column: inner.column, rows: 1, columns: inner.columns))
        }
        let more = first + inner.rows < HelpText.lines.count ? " PgDn more  Esc closes " : " Esc closes "
        canvas.write(SafeText(more).truncated(columns: inner.columns), row: box.endRow - 1, column: box.column + 2)
        canvas.cursor = nil
    }

    private mutating func drawHelp(_ line: HelpText.Line, in row: Rect) {
        switch line {
        case .blank: break
        case .heading(let words):
            canvas.write(
                SafeText(words).truncated(columns: row.columns), row: row.row, column: row.column, style: theme.heading)
        case .entry(let key, let words):
            let keys = min(HelpText.keyColumns, max(10, row.columns / 3))
            canvas.write(
                SafeText(key).truncated(columns: keys - 1), row: row.row, column: row.column, style: theme.hintKey)
            let text = SafeText(words).truncated(columns: row.columns - keys)
            canvas.write(text, row: row.row, column: row.column + keys)
        }
    }

    private mutating func drawBorder(_ box: Rect) {
        guard box.rows >= 2, box.columns >= 2 else { return }
        let inner = box.columns - 2
        let bar = String(repeating: "─", count: inner)
        canvas.write("┌\(bar)┐", row: box.row, column: box.column, style: theme.rule)
        canvas.write("└\(bar)┘", row: box.endRow - 1, column: box.column, style: theme.rule)
        for row in box.row + 1..<max(box.row + 1, box.endRow - 1) {
            canvas.write("│", row: row, column: box.column, style: theme.rule)
            canvas.write("│", row: row, column: box.endColumn - 1, style: theme.rule)
        }
    }
}
