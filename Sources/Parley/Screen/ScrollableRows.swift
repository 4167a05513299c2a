/// The bottom edge of a pane: the row there, and how many of its lines are below the edge.
struct PaneEdge: Hashable {
    var index: Int
    var hidden: Int
}

/// A list of rows with some lines each, of which a pane shows a part. Only rows near that part are measured, so that
/// the cost is that of a screen, however long the list is.
protocol ScrollableRows {
    associatedtype Line

    var rowCount: Int { get }

    /// The lines of the row at `index`, 0 being the oldest; none outside.
    func lines(ofRow index: Int) -> [Line]
}

extension ScrollableRows {
    func height(ofRow index: Int) -> Int { lines(ofRow: index).count }

    var newestEdge: PaneEdge { PaneEdge(index: rowCount - 1, hidden: 0) }

    /// The lines that a pane of `rows` with this edge shows, and how many rows are below the edge.
    func visibleLines(rows: Int, above edge: PaneEdge) -> (lines: [Line], rowsBelow: Int) {
        guard rows > 0, rowCount > 0 else { return ([], 0) }
        let bottom = settled(edge, rows: rows)
        var shown: [Line] = []
        var index = bottom.index
        while index >= 0, shown.count < rows {
            var block = lines(ofRow: index)
            if index == bottom.index { block.removeLast(min(bottom.hidden, block.count)) }
            shown.insert(contentsOf: block.suffix(rows - shown.count), at: 0)
            index -= 1
        }
        return (shown, rowCount - 1 - bottom.index)
    }

    func wordsBelow(_ edge: PaneEdge, rows: Int) -> String? {
        guard rows > 0, rowCount > 0 else { return nil }
        let bottom = settled(edge, rows: rows)
        let count = rowCount - 1 - bottom.index
        if count > 0 { return "↓ \(Wording.compact(count)) below" }
        return bottom.hidden > 0 ? "↓ \(Wording.count(bottom.hidden, "line"))" : nil
    }

    /// The edge `lines` above this one, below it if negative, kept inside the list; nil for the newest row's.
    func moved(_ edge: PaneEdge, up lines: Int, rows: Int) -> PaneEdge? {
        guard rows > 0, rowCount > 0 else { return nil }
        var bottom = settled(edge, rows: rows)
        bottom.hidden += lines
        while bottom.index > 0, bottom.hidden > 0 {
            let height = height(ofRow: bottom.index)
            if bottom.hidden < height { break }
            bottom.hidden -= height
            bottom.index -= 1
        }
        while bottom.hidden < 0 {
            guard bottom.index + 1 < rowCount else { return nil }
            bottom.index += 1
            bottom.hidden += height(ofRow: bottom.index)
        }
        return unlessNewest(settled(bottom, rows: rows))
    }

    /// The edge of a pane that shows the oldest row at its top; nil for the newest row's.
    func oldestEdge(rows: Int) -> PaneEdge? {
        guard rows > 0, rowCount > 0 else { return nil }
        return unlessNewest(settled(PaneEdge(index: 0, hidden: height(ofRow: 0)), rows: rows))
    }

    /// Moves the edge down as far as needed to fill the pane, but never past the newest row.
    func settled(_ edge: PaneEdge, rows: Int) -> PaneEdge {
        // Nothing below the newest line could fill the pane, so nothing has to be measured.
        if edge == newestEdge { return edge }
        var bottom = edge
        bottom.hidden = min(bottom.hidden, height(ofRow: bottom.index))
        var missing = rows - linesAbove(bottom, upTo: rows)
        while missing > 0 {
            let step = min(bottom.hidden, missing)
            bottom.hidden -= step
            missing -= step
            guard missing > 0, bottom.index + 1 < rowCount else { break }
            bottom.index += 1
            bottom.hidden = height(ofRow: bottom.index)
        }
        return bottom
    }

    func linesAbove(_ edge: PaneEdge, upTo limit: Int) -> Int {
        var total = height(ofRow: edge.index) - edge.hidden
        var above = edge.index - 1
        while above >= 0, total < limit {
            total += height(ofRow: above)
            above -= 1
        }
        return min(total, limit)
    }

    private func unlessNewest(_ edge: PaneEdge) -> PaneEdge? {
        edge.index == rowCount - 1 && edge.hidden <= 0 ? nil : edge
    }
}
