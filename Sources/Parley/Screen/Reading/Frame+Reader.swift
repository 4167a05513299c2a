import Terminal

/// How a message that is read in full becomes lines of a pane. Only what is near the viewport is measured.
struct ReaderLayout: ScrollableRows {
    let reader: Reader
    let area: Rect

    private static let margin = 1

    var rowCount: Int { reader.parts.count }

    struct Line {
        let place: Reader.Line
        let text: SafeText
    }

    func lines(ofRow index: Int) -> [Line] {
        guard reader.parts.indices.contains(index) else { return [] }
        let columns = max(1, area.columns - 2 * Self.margin)
        return SafeText.lines(String(reader.parts[index])).flatMap { $0.wrapped(columns: columns) }.enumerated().map {
            Line(place: Reader.Line(part: index, number: $0), text: $1)
        }
    }

    var edge: PaneEdge {
        switch reader.place {
        case .beginning: oldestEdge(rows: area.rows) ?? newestEdge
        case .edge(let edge): edge
        case .end: newestEdge
        }
    }

    // MARK: Finding

    /// The next line that matches, or the previous one if `step` is negative; nil if there is none.
    func line(with find: Reader.Find, by step: Int) -> Reader.Line? {
        var part = find.line?.part ?? (step > 0 ? 0 : reader.parts.count - 1)
        while reader.parts.indices.contains(part) {
            let found = lines(with: find.text, inPart: part)
            let next =
                step > 0
                ? found.first { line in find.line.map { line > $0 } ?? true }
                : found.last { line in find.line.map { line < $0 } ?? true }
            if let next { return next }
            part += step
        }
        return nil
    }

    private func lines(with text: TextFind, inPart part: Int) -> [Reader.Line] {
        guard text.isIn(String(reader.parts[part])) else { return [] }
        let lines = lines(ofRow: part)
        let words = lines.map(\.text.description)
        let has = words.map { text.isIn($0) }
        let found = lines.indices.filter { index in
            if has[index] { return true }
            // A match can begin on one line and end on the next.
            guard index + 1 < lines.count, !has[index + 1] else { return false }
            return text.isIn("\(words[index]) \(words[index + 1])") || text.isIn(words[index] + words[index + 1])
        }
        return (found.isEmpty ? Array(lines.indices.prefix(1)) : found).map { lines[$0].place }
    }

    /// The place that shows a line in the middle of the pane.
    func place(showing line: Reader.Line) -> Reader.Place {
        var edge = PaneEdge(
            index: line.part, hidden: max(0, height(ofRow: line.part) - 1 - line.number) - area.rows / 2)
        while edge.hidden < 0, edge.index + 1 < rowCount {
            edge.index += 1
            edge.hidden += height(ofRow: edge.index)
        }
        return edge.hidden < 0 || edge == newestEdge ? .end : .edge(edge)
    }
}

extension Frame {
    func drawReader(_ reader: Reader) {
        drawHeading(SafeText(reader.heading))
        let area = layout.main
        let texts = ReaderLayout(reader: reader, area: area)
        let lines = texts.visibleLines(rows: area.rows, above: texts.edge).lines
        for (offset, line) in lines.enumerated() {
            let row = area.line(offset)
            canvas.write(line.text, row: row.row, column: row.column + 1, width: area.columns - 1)
            guard let find = reader.find else { continue }
            mark(find.text.columns(of: line.text), in: row, from: row.column + 1, area.columns - 1)
        }
        guard model.screen.focus == .main, !area.isEmpty else { return }
        let found = reader.find?.line.flatMap { found in lines.firstIndex { $0.place == found } }
        canvas.cursor = Position(row: area.row + (found ?? 0), column: area.column)
    }
}
