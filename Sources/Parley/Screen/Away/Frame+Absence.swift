import Terminal

extension Frame {
    /// Draws what came while the person was away into the line above the text, where it moves nothing.
    func drawAbsence(in rule: Rect, columns: Int) {
        guard let words = model.absenceWords, columns > 2 else { return }
        let shown = SafeText(" \(words) ").truncated(columns: columns)
        canvas.write(shown, row: rule.row, column: rule.column + 2, style: theme.marker)
    }
}
