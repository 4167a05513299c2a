import Testing

@testable import Terminal

@Suite("Links of a canvas")
struct LinkTests {
    private typealias Run = LinkDifference.Run

    private let home = LinkTarget("https://example.org/a")
    private let other = LinkTarget("https://example.org/b")

    /// Rows of text; the columns of a row that lead somewhere.
    private func canvas(
        _ rows: String..., links: [(row: Int, columns: Range<Int>, target: LinkTarget?)] = [], columns: Int = 12
    ) -> Canvas {
        var canvas = Canvas(size: Size(rows: rows.count, columns: columns))
        for (row, text) in rows.enumerated() { canvas.write(SafeText(text), row: row, column: 0) }
        for link in links {
            guard let target = link.target else { continue }
            canvas.link(
                Rect(row: link.row, column: link.columns.lowerBound, rows: 1, columns: link.columns.count), to: target)
        }
        return canvas
    }

    private func runs(_ shown: Canvas, _ next: Canvas) -> [Run] {
        LinkDifference(from: shown, to: next, CanvasDifference(from: shown, to: next)).runs
    }

    // MARK: Addresses

    @Test("An address has no byte that a terminal could take for anything else")
    func addresses() {
        #expect(LinkTarget("https://例え.jp/ä")?.address == "https://%E4%BE%8B%E3%81%88.jp/%C3%A4")
        #expect(LinkTarget("HTTP://example.org/?a=b&c=(d);e")?.address == "HTTP://example.org/?a=b&c=(d);e")
        for text in [
            "", "http:/example.org", "file:///etc/passwd", "javascript:alert(1)", "http://a b", "http://a\u{1B}\\b",
            "http://a\u{7}", "http://a\nb", "http://a\u{7F}", " http://a",
        ] {
            #expect(LinkTarget(text) == nil, "\(text.debugDescription)")
        }
        let limit = LinkTarget.byteLimit
        #expect(LinkTarget("http://" + String(repeating: "a", count: limit - 7))?.address.utf8.count == limit)
        #expect(LinkTarget("http://" + String(repeating: "a", count: limit - 6)) == nil)
        #expect(LinkTarget("http://" + String(repeating: "語", count: limit / 9 + 1)) == nil)
        // One byte of C1 in UTF-8 is two of these.
        for sample in hostileTexts(count: 500, seed: 9) {
            let address = LinkTarget("http://" + sample)?.address
            #expect(address?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } != false)
        }
    }

    @Test("What begins a link names it alike in every frame, and what ends it is short")
    func sequences() throws {
        let target = try #require(home)
        let opening = String(decoding: target.opening, as: UTF8.self)
        #expect(opening.hasPrefix("\u{1B}]8;id=") && opening.hasSuffix(";https://example.org/a\u{1B}\\"))
        #expect(LinkTarget("https://example.org/a")?.opening == target.opening && other?.opening != target.opening)
        #expect(LinkTarget.closing == Array("\u{1B}]8;;\u{1B}\\".utf8))
    }

    // MARK: Cells

    @Test("Cells lead where they were told to, until something else is written on them")
    func cells() {
        var canvas = self.canvas("see there, ok", links: [(0, 4..<9, home)], columns: 13)
        #expect((0..<13).map { canvas.target(row: 0, column: $0) == home } == (0..<13).map { (4..<9).contains($0) })
        canvas.restyle(Rect(row: 0, column: 0, rows: 1, columns: 13)) { $0.attributes.insert(.bold) }
        #expect(canvas.target(row: 0, column: 4) == home && canvas[0, 4].style.attributes == .bold)
        canvas.write("box", row: 0, column: 3)
        #expect(canvas.target(row: 0, column: 5) == nil && canvas.target(row: 0, column: 6) == home)
        #expect(canvas.target(row: 5, column: 5) == nil)
        let part = Canvas(canvas, clippedTo: Size(rows: 1, columns: 8))
        #expect(part.target(row: 0, column: 7) == home)
    }

    @Test("A screen full of links keeps as many as it has numbers for")
    func many() {
        var canvas = Canvas(size: Size(rows: 200, columns: 3))
        for row in 0..<200 {
            canvas.write("abc", row: row, column: 0)
            guard let target = LinkTarget("http://host/\(row)") else { continue }
            canvas.link(Rect(row: row, column: 0, rows: 1, columns: 3), to: target)
        }
        let targets = (0..<200).map { canvas.target(row: $0, column: 0)?.address }
        #expect(targets == (0..<200).map { $0 < 127 ? "http://host/\($0)" : nil })
    }

    @Test("A style gives back its link, and its colours and attributes beside it")
    func style() {
        var style = Style(foreground: .indexed(255), background: .rgb(red: 1, green: 2, blue: 3), attributes: .reverse)
        let before = style
        style.link = 127
        #expect(style.link == 127 && style.attributes == .reverse && style.foreground == .indexed(255))
        style.attributes = [.bold, .underline]
        #expect(style.link == 127 && style.background == .rgb(red: 1, green: 2, blue: 3))
        style.attributes = .reverse
        style.link = 0
        #expect(style == before)
    }

    // MARK: What is written

    @Test("A link is written once, and again with each change in its row")
    func written() {
        let blank = Canvas(size: Size(rows: 2, columns: 12))
        let first = canvas("to there", "typed", links: [(0, 3..<8, home)])
        #expect(runs(blank, first) == [Run(row: 0, columns: 3..<8, target: home)])
        #expect(runs(first, first).isEmpty)
        #expect(runs(first, canvas("to there", "typed on", links: [(0, 3..<8, home)])).isEmpty)
        let changed = canvas("TO there", "typed", links: [(0, 3..<8, home)])
        #expect(runs(first, changed) == [Run(row: 0, columns: 3..<8, target: home)])
    }

    @Test("Cells that look as before and lead elsewhere, or nowhere, are written anew")
    func elsewhere() {
        let first = canvas("there there", links: [(0, 0..<5, home), (0, 6..<11, other)])
        let second = canvas("there there", links: [(0, 0..<5, other)])
        #expect(
            runs(first, second) == [
                Run(row: 0, columns: 0..<5, target: other), Run(row: 0, columns: 6..<11, target: nil),
            ])
        #expect(
            runs(first, canvas("there there")) == [
                Run(row: 0, columns: 0..<5, target: nil), Run(row: 0, columns: 6..<11, target: nil),
            ])
        // What ncurses writes itself has no link any more.
        #expect(runs(first, canvas("THERE")).isEmpty)
    }

    @Test("Two links side by side are two, and what is not ASCII or would scroll the screen is left out")
    func apart() {
        let blank = Canvas(size: Size(rows: 1, columns: 12))
        let both = canvas("hereあthere!", links: [(0, 0..<2, home), (0, 2..<12, other)])
        #expect(
            runs(blank, both) == [
                Run(row: 0, columns: 0..<2, target: home), Run(row: 0, columns: 2..<4, target: other),
                Run(row: 0, columns: 6..<11, target: other),
            ])
    }

    @Test("Whatever changes, each cell of a link that ncurses may have written is written behind it")
    func chance() {
        var generator = SeededGenerator(seed: 11)
        let targets = [home, other, nil]
        func next() -> Canvas {
            var canvas = Canvas(size: Size(rows: 3, columns: 8))
            for row in 0..<3 {
                canvas.write(["ab", "aaaa", "bあb"].randomElement(using: &generator) ?? "", row: row, column: 1)
                guard let target = targets.randomElement(using: &generator) ?? nil else { continue }
                let start = Int.random(in: 0..<4, using: &generator)
                canvas.link(Rect(row: row, column: start, rows: 1, columns: 4), to: target)
            }
            return canvas
        }
        var shown = Canvas(size: Size(rows: 3, columns: 8))
        // What the terminal has: ncurses writes what looks different, and may write others of the row.
        var terminal: [LinkTarget?] = Array(repeating: nil, count: 24)
        for _ in 0..<2_000 {
            let canvas = next()
            let difference = CanvasDifference(from: shown, to: canvas)
            let runs = LinkDifference(from: shown, to: canvas, difference).runs
            for row in Set(difference.runs.map(\.row)) {
                for column in 0..<8 {
                    let isOther = shown[row, column].cluster != canvas[row, column].cluster
                    if isOther || Bool.random(using: &generator) { terminal[row * 8 + column] = nil }
                }
            }
            for run in runs { for column in run.columns { terminal[run.row * 8 + column] = run.target } }
            for place in 0..<24 {
                let (row, column) = (place / 8, place % 8)
                let isASCII = canvas[row, column].cluster.ascii > 0x20
                let wanted = isASCII && place < 23 ? canvas.target(row: row, column: column) : nil
                #expect(terminal[place] == wanted, "row \(row), column \(column)")
            }
            shown = canvas
        }
    }

    @Test("Terminals that pass over a long sequence are told of links, and those that print some of it are not")
    func types() {
        for type in ["linux", "vt100", "screen-256color", "rxvt-unicode", "st-256color", "dumb"] {
            #expect(!Modes.takesLinks(type: type), "\(type)")
        }
    }
}
