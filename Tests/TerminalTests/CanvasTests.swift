import Testing

@testable import Terminal

@Suite("The canvas")
struct CanvasTests {
    /// True when no wide character lacks its other half.
    private func isWhole(_ canvas: Canvas) -> Bool {
        for row in 0..<canvas.size.rows {
            for column in 0..<canvas.size.columns {
                let cluster = canvas[row, column].cluster
                if cluster.width == 2 {
                    guard column + 1 < canvas.size.columns, canvas[row, column + 1].cluster == .continuation else {
                        return false
                    }
                }
                if cluster == .continuation {
                    guard column > 0, canvas[row, column - 1].cluster.width == 2 else { return false }
                }
            }
        }
        return true
    }

    @Test("Text lands where it is written and says how many columns it took")
    func writing() {
        var canvas = Canvas(size: Size(rows: 2, columns: 10))
        #expect(canvas.write("hello", row: 0, column: 2) == 5)
        #expect(canvas.write(SafeText("漢字"), row: 1, column: 0) == 4)
        #expect(canvas.rows == ["  hello", "漢字"])
        #expect(canvas[1, 1].cluster == .continuation)
        #expect(canvas.write("x", row: 5, column: 0) == 0)
        #expect(canvas.write("x", row: -1, column: 0) == 0)
    }

    @Test("What was filled with blanks shows the same as what was never written")
    func blanks() {
        let size = Size(rows: 2, columns: 6)
        var (written, untouched) = (Canvas(size: size), Canvas(size: size))
        written.fill(Rect(row: 0, column: 0, rows: 2, columns: 6))
        written.write("ab", row: 0, column: 0)
        untouched.write("ab", row: 0, column: 0)
        for (one, other) in [(written, untouched), (untouched, written)] {
            #expect(one == other && one.hashValue == other.hashValue)
            #expect(CanvasDifference(from: one, to: other).runs.isEmpty)
        }
        untouched.write("c", row: 1, column: 5)
        #expect(written != untouched && untouched != written)
    }

    @Test("A wide character that would be cut at either edge becomes blank")
    func edges() {
        var canvas = Canvas(size: Size(rows: 4, columns: 5))
        canvas.write(SafeText("abcd漢"), row: 0, column: 0)
        canvas.write(SafeText("漢字"), row: 1, column: -1)
        canvas.write(SafeText("a漢字"), row: 2, column: 0, width: 4)
        canvas.write("abcdefgh", row: 3, column: -3)
        #expect(canvas.rows == ["abcd", " 字", "a漢", "defgh"])
        #expect(isWhole(canvas))
    }

    @Test("Writing over half of a wide character blanks its other half")
    func overwriting() {
        var canvas = Canvas(size: Size(rows: 2, columns: 6))
        canvas.write(SafeText("漢字語"), row: 0, column: 0)
        canvas.write("x", row: 0, column: 1)
        canvas.write("y", row: 0, column: 2)
        #expect(canvas.text(row: 0) == " xy 語")
        canvas.write(SafeText("漢字語"), row: 1, column: 0)
        canvas.write(SafeText("文"), row: 1, column: 1)
        #expect(canvas.text(row: 1) == " 文 語")
        #expect(isWhole(canvas))
    }

    @Test("Nothing fails on the smallest screens", arguments: [(0, 0), (0, 5), (5, 0), (1, 1), (1, 2)])
    func smallest(rows: Int, columns: Int) {
        var canvas = Canvas(size: Size(rows: rows, columns: columns))
        canvas.write("hello", row: 0, column: 0)
        canvas.write(SafeText("漢字"), row: 0, column: 0)
        canvas.write(SafeText("漢字"), row: 0, column: -1)
        canvas.fill(Rect(row: -5, column: -5, rows: 50, columns: 50), with: "漢", style: .plain)
        canvas.restyle(canvas.bounds) { $0.attributes.insert(.reverse) }
        canvas.cursor = Position(row: 9, column: 9)
        #expect(canvas.rows.count == rows)
        #expect(isWhole(canvas))
    }

    @Test("However it is written on, both halves of a wide character stay together")
    func chance() async {
        var generator = SeededGenerator(seed: 3)
        for (index, sample) in hostileTexts(count: 3_000, seed: 4).enumerated() {
            if index % 100 == 0 { await Task.yield() }
            var canvas = Canvas(size: Size(rows: 1, columns: Int.random(in: 0...9, using: &generator)))
            for _ in 0..<4 {
                canvas.write(
                    SafeText(sample), row: 0, column: Int.random(in: -4...9, using: &generator),
                    width: Bool.random(using: &generator) ? nil : Int.random(in: -1...9, using: &generator))
                canvas.write("ab", row: 0, column: Int.random(in: -2...9, using: &generator))
            }
            #expect(isWhole(canvas))
        }
    }

    @Test("A rectangle is filled as if its cells were written one after the other, whatever stands at its edges")
    func fillingIsWriting() async {
        var generator = SeededGenerator(seed: 5)
        let fillings: [Character] = [" ", "─", "x", "é"]
        for index in 0..<2_000 {
            if index % 100 == 0 { await Task.yield() }
            let size = Size(
                rows: Int.random(in: 0...3, using: &generator), columns: Int.random(in: 0...9, using: &generator))
            var canvas = Canvas(size: size)
            for row in 0..<size.rows {
                for column in [0, 1, 3, 4, 6] where Bool.random(using: &generator) {
                    canvas.write(SafeText("漢a"), row: row, column: column, style: Style(foreground: .indexed(2)))
                }
            }
            let area = Rect(
                row: Int.random(in: -1...3, using: &generator), column: Int.random(in: -2...9, using: &generator),
                rows: Int.random(in: 0...4, using: &generator), columns: Int.random(in: 0...9, using: &generator))
            let red = Style(foreground: .indexed(1))
            let filling = fillings[index % fillings.count]
            var written = canvas
            for row in area.row..<area.endRow {
                for column in area.column..<area.endColumn where column >= 0 {
                    written.write(SafeText(String(filling)), row: row, column: column, style: red)
                }
            }
            canvas.fill(area, with: filling, style: red)
            #expect(canvas == written)
        }
    }

    @Test("Literals go through the gate")
    func literals() {
        var canvas = Canvas(size: Size(rows: 1, columns: 10))
        canvas.write("a\u{1B}[2J\u{202E}é", row: 0, column: 0)
        #expect(canvas.rows == ["a[2Jé"])
    }

    @Test("Substitutes take the place of single characters, whose styles stay")
    func substitutes() {
        let red = Style(foreground: .indexed(1))
        var canvas = Canvas(size: Size(rows: 1, columns: 10))
        canvas.write(SafeText("─✓\u{E9}漢a…"), row: 0, column: 0, style: red)
        canvas.substitute(["─": "-", "✓": "+", "…": "~", "漢": "?", "a": "b", "\u{E9}": "\u{FC}"])
        #expect(canvas.rows == ["-+\u{E9}漢a~"])
        #expect(canvas[0, 0].style == red && canvas[0, 4].cluster == .continuation)
    }

    @Test("Fill and restyle keep to their rectangle")
    func rectangles() {
        var canvas = Canvas(size: Size(rows: 3, columns: 5))
        let red = Style(foreground: .indexed(1))
        canvas.fill(Rect(row: 1, column: 1, rows: 1, columns: 3), with: "─", style: red)
        #expect(canvas.rows == ["", " ───", ""])
        #expect(canvas[1, 1].style == red)
        #expect(canvas[1, 0].style == .plain)
        canvas.fill(Rect(row: 2, column: 0, rows: 1, columns: 5), with: "漢", style: red)
        #expect(canvas.text(row: 2) == "漢漢")
        canvas.restyle(Rect(row: 0, column: 0, rows: 1, columns: 1)) { $0.background = .rgb(red: 1, green: 2, blue: 3) }
        #expect(canvas[0, 0].style.background == .rgb(red: 1, green: 2, blue: 3))
        #expect(canvas[0, 1].style.background == .standard)
    }

    @Test("A style gives back what it was made of")
    func styles() {
        let colors: [Color] = [
            .standard, .indexed(0), .indexed(255), .rgb(red: 0, green: 0, blue: 0),
            .rgb(red: 255, green: 254, blue: 253),
        ]
        for foreground in colors {
            for background in colors {
                var style = Style(foreground: foreground, background: background, attributes: [.bold, .reverse])
                #expect(style.foreground == foreground)
                #expect(style.background == background)
                #expect(style.attributes == [.bold, .reverse])
                style.foreground = background
                style.background = foreground
                style.attributes = .dim
                #expect(style == Style(foreground: background, background: foreground, attributes: .dim))
            }
        }
    }

    @Test("Rectangles split without losing or sharing a cell")
    func splitting() {
        let rect = Rect(row: 2, column: 3, rows: 4, columns: 10)
        let (top, below) = rect.split(top: 1)
        #expect(top == Rect(row: 2, column: 3, rows: 1, columns: 10))
        #expect(below == Rect(row: 3, column: 3, rows: 3, columns: 10))
        let (rest, bottom) = rect.split(bottom: 9)
        #expect(rest.isEmpty)
        #expect(bottom == rect)
        let (left, right) = rect.split(left: 4)
        #expect(left.endColumn == right.column)
        #expect(right.columns == 6)
        #expect(rect.inset(rows: 1, columns: 2) == Rect(row: 3, column: 5, rows: 2, columns: 6))
        #expect(rect.inset(rows: 9, columns: 9).isEmpty)
        #expect(rect.centered(rows: 2, columns: 4) == Rect(row: 3, column: 6, rows: 2, columns: 4))
    }

    @Test("Colours come down to what the terminal has")
    func palette() {
        let red = Color.rgb(red: 255, green: 0, blue: 0)
        #expect(ColorPalette(count: 1 << 24).index(of: red).number == 0xFF0000)
        #expect(ColorPalette(count: 256).index(of: red).number == 196)
        #expect(ColorPalette(count: 16).index(of: red).number == 9)
        #expect(ColorPalette(count: 8).index(of: red) == (1, true))
        #expect(ColorPalette(count: 8).index(of: .indexed(12)) == (4, true))
        #expect(ColorPalette(count: 256).index(of: .indexed(200)).number == 200)
        #expect(ColorPalette(count: 1 << 24).index(of: .indexed(196)).number == 0xFF0000)
        #expect(ColorPalette(count: 0).index(of: red).number == -1)
        #expect(ColorPalette(count: 256).index(of: .standard).number == -1)
    }
}
