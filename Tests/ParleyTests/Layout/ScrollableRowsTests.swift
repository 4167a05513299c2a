import Testing

@testable import Parley

@Suite("Rows in a pane")
struct ScrollableRowsTests {
    /// Rows whose lines are named after the row and counted from 0, such as `2.0`.
    private struct Rows: ScrollableRows {
        let heights: [Int]
        var rowCount: Int { heights.count }

        func lines(ofRow index: Int) -> [String] {
            guard heights.indices.contains(index) else { return [] }
            return (0..<heights[index]).map { "\(index).\($0)" }
        }
    }

    private let rows = Rows(heights: [1, 3, 2, 1])

    @Test("Scrolling goes line by line to the oldest row and back to the end")
    func scrolling() {
        var edge = rows.newestEdge
        #expect(rows.visibleLines(rows: 3, above: edge).lines == ["2.0", "2.1", "3.0"])
        var tops: [String?] = []
        for _ in 0..<6 {
            edge = rows.moved(edge, up: 1, rows: 3) ?? rows.newestEdge
            tops.append(rows.visibleLines(rows: 3, above: edge).lines.first)
        }
        #expect(tops == ["1.2", "1.1", "1.0", "0.0", "0.0", "0.0"])
        #expect(rows.visibleLines(rows: 3, above: edge).lines == ["0.0", "1.0", "1.1"])
        #expect(rows.oldestEdge(rows: 3) == edge)
        #expect(rows.linesAbove(edge, upTo: 10) == 3)
        #expect(rows.moved(edge, up: -2, rows: 3) == PaneEdge(index: 2, hidden: 1))
        #expect(rows.moved(edge, up: -4, rows: 3) == nil)
        #expect(rows.moved(edge, up: -100, rows: 3) == nil)
    }

    @Test("A pane that has room for everything is always at the end")
    func short() {
        #expect(rows.moved(rows.newestEdge, up: 5, rows: 7) == nil)
        #expect(rows.oldestEdge(rows: 7) == nil)
        let (lines, below) = rows.visibleLines(rows: 7, above: PaneEdge(index: 0, hidden: 1))
        #expect(lines.count == 7 && below == 0)
    }

    @Test("What is below is counted in rows, and inside the newest one in its lines")
    func below() {
        let long = Rows(heights: [1, 2, 30])
        #expect(long.wordsBelow(long.newestEdge, rows: 5) == nil)
        #expect(long.wordsBelow(PaneEdge(index: 2, hidden: 1), rows: 5) == "↓ 1 line")
        #expect(long.wordsBelow(PaneEdge(index: 2, hidden: 12), rows: 5) == "↓ 12 lines")
        #expect(rows.wordsBelow(PaneEdge(index: 2, hidden: 1), rows: 3) == "↓ 1 below")
        #expect(rows.wordsBelow(PaneEdge(index: 1, hidden: 0), rows: 3) == "↓ 2 below")
    }

    @Test("Without rows, and without a pane, nothing is shown")
    func empty() {
        let none = Rows(heights: [])
        #expect(none.visibleLines(rows: 3, above: none.newestEdge).lines.isEmpty)
        #expect(none.wordsBelow(none.newestEdge, rows: 3) == nil && rows.wordsBelow(rows.newestEdge, rows: 0) == nil)
        #expect(none.moved(none.newestEdge, up: 1, rows: 3) == nil && none.oldestEdge(rows: 3) == nil)
        #expect(rows.visibleLines(rows: 0, above: rows.newestEdge).lines.isEmpty)
        #expect(rows.moved(rows.newestEdge, up: 1, rows: 0) == nil && rows.oldestEdge(rows: 0) == nil)
    }
}
