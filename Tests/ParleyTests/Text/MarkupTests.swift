import Terminal
import Testing

@testable import Parley

@Suite("Code, quotes and links in a text")
struct MarkupTests {
    /// What the parts of each line are, in short: `code[x]`, `quote[> y]`.
    private func marks(_ text: String, lead: String = "", isCut: Bool = false) -> [String] {
        let lines = SafeText.lines(lead + text)
        return zip(lines, Markup.lines(lines, lead: SafeText(lead).clusters.count, isCut: isCut)).map { text, line in
            let whole = line.kind.map { ["\(name($0))"] } ?? []
            return (whole + line.parts.map { "\(name($0.kind))[\(text.part($0.place))]" }).joined(separator: " ")
        }
    }

    private func name(_ kind: Markup.Kind) -> String {
        switch kind {
        case .code: "code"
        case .fence: "fence"
        case .quote: "quote"
        case .link: "link"
        case .note: "note"
        }
    }

    @Test(
        "Code is what stands between as many backquotes",
        arguments: [
            ("run `make` now", "code[`make`]"), ("`a` and `b`", "code[`a`] code[`b`]"), ("one ` alone", ""),
            ("``a ` b`` c", "code[``a ` b``]"), ("`a`` b", ""), ("```` ` ````", "code[```` ` ````]"), ("", ""),
            ("it\u{60}\u{301}s a` mark", ""),
        ])
    func spans(text: String, shown: String) { #expect(marks(text) == [shown]) }

    @Test("A block of code lasts from fence to fence, or to the end")
    func fences() {
        #expect(marks("a\n```swift\nlet `x`\n> y\n```\n> b") == ["", "fence", "code", "code", "fence", "quote"])
        #expect(marks("```\nx") == ["fence", "code"])
        #expect(marks("  ```\nx\n  ```\ny") == ["fence", "code", "fence", ""])
        // On one line it is no fence.
        #expect(marks("```x``` y\nz") == ["code[```x```]", ""])
    }

    @Test(
        "A quote begins a line and has a space behind its mark",
        arguments: [
            ("> yes", "quote"), (">> yes", ""), ("> > yes", "quote"), (">> > yes", "quote"), (">", "quote"),
            (">_<", ""), (">5 apples", ""), (" > no", ""), ("a > b", ""), ("> `x` y", "quote code[`x`]"),
        ])
    func quotes(text: String, shown: String) {
        #expect(marks(text) == [text == ">> yes" ? "quote" : shown])
    }

    @Test("Links are found in text, quotes and code, and code goes on behind them")
    func links() {
        #expect(marks("> see http://a.b") == ["quote link[http://a.b]"])
        #expect(
            marks("`curl http://a.b -v` http://c.d") == ["code[`curl ] link[http://a.b] code[ -v`] link[http://c.d]"])
        #expect(marks("```\ncurl http://a.b\n```") == ["fence", "code link[http://a.b]", "fence"])
    }

    @Test("What stands before a text is not looked at, and the text begins behind it")
    func lead() {
        #expect(marks("> yes", lead: "[a.b] ") == ["quote"])
        #expect(marks("```\nx\n```", lead: "[a.b] ") == ["fence", "code", "fence"])
        #expect(marks("`x`", lead: "[`] ") == ["code[`x`]"])
    }

    @Test("A link that may go on behind the end of what is shown is none")
    func cut() {
        #expect(marks("http://a.b http://c.d", isCut: true) == ["link[http://a.b]"])
        #expect(marks("http://a.b c", isCut: true) == ["link[http://a.b]"])
        #expect(marks("http://a.b/c.", isCut: true) == [""])
    }

    @Test("Hostile texts of backquotes and fences end, and no part lies over another")
    func hostile() {
        for piece in ["`", "` ``", "`a``", "> ", "```\n", "`http://a`", "http://a` "] {
            let text = String(repeating: piece, count: 16_000 / piece.count)
            let lines = SafeText.lines(text)
            for (text, line) in zip(lines, Markup.lines(lines)) {
                var end = 0
                for part in line.parts {
                    #expect(part.place.lowerBound >= end && !part.place.isEmpty)
                    end = part.place.upperBound
                }
                #expect(end <= text.clusters.count)
            }
        }
        // Runs of every length, none of which is closed.
        let runs = (1...170).map { String(repeating: "`", count: $0) }.joined(separator: " ")
        #expect(marks("a" + runs) == [""])
    }

    // MARK: Lines on the screen

    private func wrapped(_ text: String, columns: Int) -> [MarkedText] {
        let lines = SafeText.lines(text)
        return zip(lines, Markup.lines(lines)).flatMap { MarkedText.wrapped($0, $1, columns: columns) }
    }

    @Test("Without marks a text breaks where it did, and nothing of it is lost")
    func plain() {
        for text in ["", "one two three four", "日本語のテキスト と others", String(repeating: "x", count: 50)] {
            for columns in 1...20 {
                let lines = wrapped(text, columns: columns)
                #expect(lines.map(\.text) == SafeText(text).wrapped(columns: columns))
                #expect(lines.allSatisfy { $0.runs.isEmpty && !$0.isPart })
            }
        }
    }

    @Test("A quote that goes on below hangs behind its mark, where there is room")
    func hanging() {
        #expect(
            wrapped("> one two three four", columns: 12).map(\.text.description) == ["> one two", "  three four"])
        #expect(wrapped("> one two", columns: 6).map(\.text.description) == ["> one", "two"])
        #expect(wrapped("> one two", columns: 12).map(\.runs) == [[.init(columns: 0..<9, kind: .quote)]])
    }

    @Test("A part that is broken keeps what it is on each line, in columns: wide characters count two")
    func columns() {
        let code = wrapped("日本 `ab cd` x", columns: 9)
        #expect(code.map(\.text.description) == ["日本 `ab", "cd` x"])
        #expect(code.map(\.runs) == [[.init(columns: 5..<8, kind: .code)], [.init(columns: 0..<3, kind: .code)]])
        let link = wrapped("http://example.org/path", columns: 10)
        #expect(link.map(\.text.description) == ["http://exa", "mple.org/p", "ath"])
        #expect(link.allSatisfy { $0.links.map(\.text) == ["http://example.org/path"] })
        #expect(link.map { $0.runs.map(\.columns) } == [[0..<10], [0..<10], [0..<3]])
    }

    @Test(
        "An address that is broken has its picture's or file's name below it, in one line at every width",
        arguments: [
            ("see https://example.org/pictures/cat.png?w=9 now", "↑ image cat.png"),
            ("> https://example.org/pictures/cat.png?w=9", "  ↑ image cat.png"),
            ("https://example.org/pictures/cats.html", nil),
        ] as [(String, String?)])
    func names(text: String, below: String?) {
        for columns in 1...60 {
            let lines = SafeText.lines(text)
            let found = zip(lines, Markup.lines(lines)).flatMap { MarkedText.names(of: $0, $1, columns: columns) }
            // The address has 40 columns.
            let isNamed = below != nil && columns < (text.hasPrefix(">") ? 42 : 40)
            #expect(found.count == (isNamed ? 1 : 0), "\(columns)")
            for line in found {
                #expect(line.text.width <= columns && line.links.isEmpty)
                if columns >= 20 { #expect(line.text.description == below, "\(columns)") }
            }
        }
    }

    @Test("However wide a pane is, parts stay inside their lines and show what they showed in one line")
    func anyWidth() {
        let text = "> 引用 `code of 漢字` and https://example.org/a_(b), `x` then ``y ` z`` http://c.d/e"
        let whole = wrapped(text, columns: 1_000)[0]
        func shown(_ lines: [MarkedText]) -> [String] {
            lines.flatMap { line in
                line.runs.filter { $0.kind != .quote }.map { run in
                    line.text.dropFirst(columns: run.columns.lowerBound).prefix(columns: run.columns.count).description
                }
            }
        }
        for columns in 1...60 {
            let lines = wrapped(text, columns: columns)
            for line in lines {
                #expect(line.runs.allSatisfy { $0.columns.upperBound <= line.text.width && !$0.columns.isEmpty })
            }
            // The space at a break is in no line.
            #expect(shown(lines).joined().filter { $0 != " " } == shown([whole]).joined().filter { $0 != " " })
        }
    }
}
