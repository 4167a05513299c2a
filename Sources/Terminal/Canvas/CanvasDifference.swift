/// The changes on a screen from one canvas to the next. A pure value, which the painter carries out.
package struct CanvasDifference: Hashable, Sendable {
    /// Neighbouring cells of one row that all differ.
    package struct Run: Hashable, Sendable {
        package let row: Int
        package let columns: Range<Int>
    }

    /// The cells that differ, rows from top to bottom.
    package private(set) var runs: [Run] = []

    /// The number of cells that differ.
    package var cells: Int { runs.reduce(0) { $0 + $1.columns.count } }

    /// The number of rows with a cell that differs.
    package private(set) var rows = 0

    /// Compares cell by cell. Cells outside `shown` count as blank there; those of `shown` outside `canvas` are
    /// ignored.
    package init(from shown: Canvas, to canvas: Canvas) {
        let size = canvas.size
        let isSameSize = shown.size == size
        for row in 0..<size.rows {
            // Most rows of most frames have not changed.
            if isSameSize, canvas.hasSameCells(as: shown, inRow: row) { continue }
            let before = runs.count
            var start: Int?
            for column in 0..<size.columns {
                if canvas[row, column] == shown[row, column] {
                    if let begin = start { runs.append(Run(row: row, columns: begin..<column)) }
                    start = nil
                } else if start == nil {
                    start = column
                }
            }
            if let start { runs.append(Run(row: row, columns: start..<size.columns)) }
            if runs.count > before { rows += 1 }
        }
    }
}
