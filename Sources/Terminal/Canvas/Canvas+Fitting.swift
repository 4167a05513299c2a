// What a frame has to give up to fit onto a terminal.
extension Canvas {
    /// The part of `canvas` that fits into `size`, for a frame that was drawn before the window changed.
    init(_ canvas: Canvas, clippedTo size: Size) {
        self.init(size: size)
        cursor = canvas.cursor
        takeLinks(of: canvas)
        for row in 0..<min(size.rows, canvas.size.rows) {
            for column in 0..<min(size.columns, canvas.size.columns) {
                let cell = canvas[row, column]
                guard cell.cluster.width > 0 else { continue }
                let text = SafeText(clusters: [cell.cluster], width: cell.cluster.width)
                write(text, row: row, column: column, style: cell.style)
            }
        }
    }

    /// Blanks a wide character directly before the last cell of the last row.
    mutating func narrowCornerNeighbour() {
        let (row, column) = (size.rows - 1, size.columns - 2)
        guard row >= 0, column >= 1, self[row, column].cluster == .continuation else { return }
        write("  ", row: row, column: column - 1, style: self[row, column].style)
    }
}
