import Testing

@testable import Terminal

@Suite("The difference between two canvases")
struct CanvasDifferenceTests {
    private typealias Run = CanvasDifference.Run

    private func canvas(_ rows: String..., columns: Int = 10, style: Style = .plain) -> Canvas {
        var canvas = Canvas(size: Size(rows: rows.count, columns: columns))
        for (row, text) in rows.enumerated() { canvas.write(SafeText(text), row: row, column: 0, style: style) }
        return canvas
    }

    private func runs(_ shown: Canvas, _ next: Canvas) -> [Run] { CanvasDifference(from: shown, to: next).runs }

    @Test("Two blank canvases do not differ, and neither does one from itself")
    func same() {
        let blank = Canvas(size: Size(rows: 3, columns: 10))
        #expect(runs(blank, blank).isEmpty)
        let text = canvas("hello", "漢字", "👍")
        let difference = CanvasDifference(from: text, to: text)
        #expect(difference.runs.isEmpty && difference.cells == 0 && difference.rows == 0)
    }

    @Test("A copy that is written on differs where it was, and leaves the other as it is")
    func copies() {
        let before = canvas("hello", "below", "漢字")
        var after = before
        after.write("B", row: 1, column: 0)
        after.fill(Rect(row: 2, column: 0, rows: 1, columns: 1))
        // What is written anew as it was is no difference.
        after.write("hello", row: 0, column: 0)
        #expect(runs(before, after) == [Run(row: 1, columns: 0..<1), Run(row: 2, columns: 0..<2)])
        #expect(before.rows == ["hello", "below", "漢字"] && after.rows == ["hello", "Below", "  字"])
        #expect(before != after && before == canvas("hello", "below", "漢字"))
    }

    @Test("Another style alone and marks on the same character are differences, and what is gone is written over")
    func subtle() {
        let red = Style(foreground: .indexed(1))
        #expect(runs(canvas("ab"), canvas("ab", style: red)) == [Run(row: 0, columns: 0..<2)])
        #expect(runs(canvas("n"), canvas("n\u{323}")) == [Run(row: 0, columns: 0..<1)])
        #expect(runs(canvas("hello"), canvas("he")) == [Run(row: 0, columns: 2..<5)])
    }

    @Test("Cells side by side are one run; what stays between two of them is left alone")
    func parts() {
        #expect(
            runs(canvas("abcdefghij"), canvas("aXXdefgYYY")) == [
                Run(row: 0, columns: 1..<3), Run(row: 0, columns: 7..<10),
            ])
    }

    @Test("A wide character over narrow ones, and the other way round, takes both halves along")
    func wide() {
        #expect(runs(canvas("abcd"), canvas("a漢d")) == [Run(row: 0, columns: 1..<3)])
        #expect(runs(canvas("a漢d"), canvas("abcd")) == [Run(row: 0, columns: 1..<3)])
        #expect(runs(canvas("a漢d"), canvas("a字d")) == [Run(row: 0, columns: 1..<2)])
        #expect(runs(canvas("漢漢"), canvas(" 漢 ")) == [Run(row: 0, columns: 0..<4)])
    }

    @Test("The first and the last cell count, and a run does not go on in the next row")
    func corners() {
        var next = Canvas(size: Size(rows: 2, columns: 3))
        next.write("xyz", row: 0, column: 0)
        next.write("z", row: 1, column: 2)
        let difference = CanvasDifference(from: Canvas(size: next.size), to: next)
        #expect(difference.runs == [Run(row: 0, columns: 0..<3), Run(row: 1, columns: 2..<3)])
        #expect(difference.rows == 2 && difference.cells == 4)
    }

    @Test("The cursor is no cell")
    func cursor() {
        var next = canvas("a")
        next.cursor = Position(row: 0, column: 3)
        #expect(runs(canvas("a"), next).isEmpty)
    }

    @Test("On a canvas of another size, what was not there counts as blank")
    func sizes() {
        #expect(
            runs(canvas("ab", columns: 2), canvas("abc", "", "d", columns: 4)) == [
                Run(row: 0, columns: 2..<3), Run(row: 2, columns: 0..<1),
            ])
        #expect(runs(canvas("abc", "def", columns: 4), canvas("ab", columns: 2)).isEmpty)
        #expect(runs(Canvas(size: Size(rows: 0, columns: 0)), Canvas(size: Size(rows: 0, columns: 5))).isEmpty)
    }

    @Test("Whatever was drawn, the old canvas with the difference is the new one, and no equal cell is in it")
    func chance() async {
        var generator = SeededGenerator(seed: 9)
        let texts = hostileTexts(count: 400, seed: 10)
        var shown = Canvas(size: Size(rows: 4, columns: 12))
        for step in 0..<400 {
            if step % 50 == 0 { await Task.yield() }
            var next = Bool.random(using: &generator) ? shown : Canvas(size: shown.size)
            for _ in 0..<3 {
                let text = texts[Int.random(in: 0..<texts.count, using: &generator)]
                next.write(
                    SafeText(text), row: Int.random(in: 0..<4, using: &generator),
                    column: Int.random(in: -3..<12, using: &generator),
                    style: Style(foreground: .indexed(UInt8.random(in: 0...2, using: &generator))))
            }
            let difference = CanvasDifference(from: shown, to: next)
            var cells = 0
            for row in 0..<4 {
                let columns = difference.runs.filter { $0.row == row }.flatMap(\.columns)
                #expect(columns == (0..<12).filter { shown[row, $0] != next[row, $0] })
                cells += columns.count
            }
            #expect(cells == difference.cells)
            shown = next
        }
    }

    @Test("A frame for a larger window is cut to this one, and no half of a wide character stays")
    func clipping() {
        let cut = Canvas(canvas("abcd漢e", "x", "gone"), clippedTo: Size(rows: 2, columns: 5))
        #expect(cut.size == Size(rows: 2, columns: 5) && cut.rows == ["abcd", "x"])
        #expect(Canvas(canvas("ab"), clippedTo: Size(rows: 2, columns: 20)).rows == ["ab", ""])
    }
}
