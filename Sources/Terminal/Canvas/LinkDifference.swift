/// The cells of a screen that have to be written again for their links, after all differences were drawn. A pure value,
/// which the painter carries out.
///
/// ncurses knows no links. The cells that it writes have none, and it may also write cells between two that differ. So
/// all links of a row that changes are written after it; and a cell that has lost its link but looks as before, which
/// ncurses leaves alone, is written without one.
package struct LinkDifference: Hashable, Sendable {
    /// Neighbouring cells of one row with the same target.
    package struct Run: Hashable, Sendable {
        package let row: Int
        package let columns: Range<Int>
        /// The target; nil to remove a link.
        package let target: LinkTarget?
    }

    /// The cells, rows from top to bottom. All of them show ASCII, so that their columns do not depend on the
    /// terminal's widths of other characters.
    package private(set) var runs: [Run] = []

    /// - Parameter cells: the difference that was drawn between the canvases, which have the same size.
    package init(from shown: Canvas, to canvas: Canvas, _ cells: CanvasDifference) {
        guard !shown.links.isEmpty || !canvas.links.isEmpty else { return }
        let changed = Set(cells.runs.map(\.row))
        let isSameTable = shown.links == canvas.links
        for row in 0..<canvas.size.rows where changed.contains(row) || !isSameTable {
            addRuns(of: row, from: shown, to: canvas, isChanged: changed.contains(row))
        }
    }

    private mutating func addRuns(of row: Int, from shown: Canvas, to canvas: Canvas, isChanged: Bool) {
        // The last cell of the last row would scroll some terminals.
        let end = canvas.size.columns - (row == canvas.size.rows - 1 ? 1 : 0)
        var begin: (column: Int, target: LinkTarget?)?
        for column in 0..<max(0, end) {
            let before = shown.target(row: row, column: column)
            let target = canvas.target(row: row, column: column)
            var isDue = target != nil && (isChanged || before != target)
            if target == nil, before != nil {
                isDue = shown[row, column].looks(as: canvas[row, column])
            }
            isDue = isDue && canvas[row, column].cluster.ascii > 0x20
            if let open = begin, !isDue || open.target != target {
                runs.append(Run(row: row, columns: open.column..<column, target: open.target))
                begin = nil
            }
            if isDue, begin == nil { begin = (column, target) }
        }
        if let begin { runs.append(Run(row: row, columns: begin.column..<end, target: begin.target)) }
    }
}

extension Cell {
    /// Whether ncurses sees no difference between the two.
    fileprivate func looks(as other: Cell) -> Bool {
        var (one, two) = (style, other.style)
        (one.link, two.link) = (0, 0)
        return cluster == other.cluster && one == two
    }
}
