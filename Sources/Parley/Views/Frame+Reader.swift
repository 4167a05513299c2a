import Terminal

/// How a message that is read whole becomes lines of a pane. Only what is near the person's eyes is measured.
struct ReaderLayout: ScrollableRows {
    let reader: Reader
    let area: Rect

    /// Columns left and right of the text.
    private static let margin = 1

    var rowCount: Int { reader.parts.count }

    func lines(ofRow index: Int) -> [SafeText] {
        guard reader.parts.indices.contains(index) else { return [] }
        let columns = max(1, area.columns - 2 * Self.margin)
        return SafeText.lines(String(reader.parts[index])).flatMap { $0.wrapped(columns: columns) }
    }

    /// The pane's bottom edge.
    var edge: PaneEdge {
        switch reader.place {
        case .beginning: oldestEdge(rows: area.rows) ?? newestEdge
        case .edge(let edge): edge
        case .end: newestEdge
        }
    }
}

extension Frame {
    /// A message as a whole.
    mutating func drawReader(_ reader: Reader) {
        drawHeading(SafeText(reader.heading))
        let area = layout.main
        let texts = ReaderLayout(reader: reader, area: area)
        for (offset, line) in texts.visibleLines(rows: area.rows, above: texts.edge).lines.enumerated() {
            canvas.write(line, row: area.row + offset, column: area.column + 1, width: area.columns - 1)
        }
        if model.focus == .main, !area.isEmpty { canvas.cursor = Position(row: area.row, column: area.column) }
    }
}
