import Relay
import Terminal

extension Frame {
    /// Draws the connection log in place of the main pane. The text being written stays where it is.
    func drawLog(_ scroll: LogScroll) {
        let count = Wording.count(model.network.log.entries.count, "entry", plural: "entries")
        drawSeparator(
            SafeText("connection log ─ \(count)"), in: layout.heading, words: theme.title, rule: theme.heading)
        let area = layout.main
        let texts = model.logLayout(columns: area.columns)
        for (offset, line) in texts.visibleLines(rows: area.rows, scroll: scroll).enumerated() {
            draw(line, in: area.line(offset), texts)
        }
    }

    private func draw(_ line: LogLayout.Line, in row: Rect, _ texts: LogLayout) {
        switch line {
        case .date(let words):
            drawSeparator(
                SafeText(words), in: row.split(left: row.columns - 1).left, words: theme.dimmed, rule: theme.rule)
        case .head(let time, let text, let kind, let markColumns):
            let start = row.column + 1
            canvas.write(time, row: row.row, column: start, width: max(0, row.endColumn - start), style: theme.time)
            let begin = start + LogLayout.timeColumns + (texts.indent == 2 ? 1 : 2)
            let room = max(0, row.endColumn - begin)
            canvas.write(text, row: row.row, column: begin, width: room, style: kind == nil ? theme.dimmed : .plain)
            guard let kind else { return }
            let style = style(of: kind)
            canvas.restyle(Rect(row: row.row, column: begin, rows: 1, columns: min(markColumns, room))) { $0 = style }
        case .rest(let text):
            canvas.write(text, row: row.row, column: row.column + texts.indent, width: row.columns - texts.indent)
        }
    }
}
