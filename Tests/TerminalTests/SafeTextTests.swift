import TestSupport
import Testing

@testable import Terminal

@Suite("The text gate")
struct SafeTextTests {
    @Test(
        "Every sample is drawn in the form whose width terminals agree on",
        arguments: [
            ("hello", "hello", 5), ("漢字", "漢字", 4), ("한글", "한글", 4), ("e\u{301}", "é", 1), ("👍🏽", "👍", 2),
            ("👨‍👩‍👧", "👨", 2), ("😮‍💨", "😮", 2), ("❤️", "❤", 1), ("1️⃣", "1", 1), ("🇩🇪", "🇩🇪", 2), ("🇩🇪🇫🇷", "🇩🇪🇫🇷", 4),
            ("\u{1112}\u{1161}\u{11AB}", "한", 2), ("a\u{AD}b", "ab", 2), ("\u{1FAE9}", "\u{FFFD}", 1),
            ("\u{1FAE8}", "\u{FFFD}", 1), ("क्षि", "क्षि", 3), ("\u{301}x", "\u{25CC}\u{301}x", 2), ("🅱️", "🅱", 1),
            ("か\u{3099}", "が", 2), ("ｆ", "ｆ", 2), ("\u{212B}", "Å", 1),
        ])
    func safeForm(sample: String, drawn: String, width: Int) {
        let text = SafeText(sample)
        #expect(text.description == drawn)
        #expect(text.width == width)
    }

    @Test(
        "Escape sequences, C1, bidi controls and tags lose their power",
        arguments: [
            ("\u{1B}[31mred", "[31mred"), ("a\u{9B}31mb", "a31mb"), ("\u{1B}]0;x\u{07}y", "]0;xy"),
            ("abc\u{202E}def", "abcdef"), ("\u{2066}x\u{2069}", "x"), ("a\u{E0041}b", "ab"), ("a\u{7F}\u{0}b", "ab"),
            ("a\tb", "a b"), ("a\r\nb", "a b"), ("a\nb", "a b"), ("a\u{2028}b", "a b"), ("a\u{200B}b\u{FEFF}c", "abc"),
            ("a\u{B}b\u{C}c\u{85}d", "a b c d"),
        ])
    func injection(sample: String, drawn: String) {
        #expect(SafeText(sample).description == drawn)
    }

    @Test(
        "B65: a name that looks like another one is told from it, and others stay as they are",
        arguments: [
            ("bob", "bob"), ("Alice B.", "Alice B."), ("~parley", "~parley"), ("Zoë", "Zoë"), ("Иван", "Иван"),
            ("日本", "日本"), ("bob👍", "bob👍"), ("👨‍👩‍👧", "👨"), (" bob", "<20>bob"), ("bob ", "bob<20>"),
            ("al  ice", "al <20>ice"), ("bob\u{200B}", "bob<200B>"), ("b\u{AD}ob", "b<AD>ob"),
            ("bob\u{200D}", "bob<200D>"), ("bob\u{FE0F}", "bob<FE0F>"), ("bob\u{A0}", "bob<A0>"),
            ("bob\u{202E}", "bob<202E>"), ("b\u{43E}b", "b<43E>b"), ("b\u{3BF}b", "b<3BF>b"),
            ("\u{430}\u{440}\u{435}", "<430>\u{440}\u{435}"), ("\u{FF42}ob", "<FF42>ob"),
            ("\u{1D41B}ob", "<1D41B>ob"), ("bob\u{3164}", "bob<3164>"), ("bob\n", "bob<A>"), ("", ""),
        ])
    func names(name: String, shown: String) {
        #expect(SafeText(name: name).description == shown)
    }

    @Test("At most four marks stay on a character")
    func zalgo() throws {
        let text = SafeText("x" + String(repeating: "\u{489}\u{334}", count: 20))
        #expect(text.width == 1)
        #expect(text.description.unicodeScalars.count == 5)
        #expect(text.clusters.count == 1)
    }

    @Test(
        "Nothing dangerous ever comes out, the gate is idempotent, the width is the sum of its clusters",
        .processorBound)
    func properties() async {
        for (index, sample) in hostileTexts(count: 5_000, seed: 1).enumerated() {
            if index % 100 == 0 { await Task.yield() }
            let text = SafeText(sample)
            #expect(!text.description.hasForbidden, "\(sample.debugDescription)")
            #expect(text.width == text.clusters.reduce(0) { $0 + $1.width })
            #expect(text.clusters.allSatisfy { $0.width == 1 || $0.width == 2 })
            let again = SafeText(text.description)
            #expect(again == text, "\(sample.debugDescription)")
        }
    }

    @Test("Every scalar alone is safe and no wider than two columns", .processorBound)
    func everyScalar() async {
        for value in UInt32(0)...0x10FFFF {
            if value % 1_000 == 0 { await Task.yield() }
            // Planes 2 and 3 hold ideographs, 4 to 13 nothing, 15 and 16 private characters: samples tell enough.
            guard !(0x2_0000...0xD_FFFF).contains(value) && value < 0xF_0000 || value % 64 == 0 else { continue }
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = SafeText(String(scalar))
            if text.width > 2 || text.description.hasForbidden {
                Issue.record("U+\(String(value, radix: 16)) comes out as \(text.description.debugDescription)")
            }
        }
    }

    @Test("Line breaks of every kind end a line, and a tab goes to the next stop")
    func lines() {
        #expect(SafeText.lines("a\nb\r\nc\rd\u{2028}e").map(\.description) == ["a", "b", "c", "d", "e"])
        #expect(SafeText.lines("").map(\.description) == [""])
        #expect(SafeText.lines("a\n\nb\n").map(\.description) == ["a", "", "b", ""])
        #expect(SafeText.lines("a\u{B}b\u{C}c\u{85}d\u{2029}e").map(\.description) == ["a b c d", "e"])
        let all = (0...0x2FFF).compactMap(Unicode.Scalar.init)
        #expect(all.filter(\.breaksLine).map(\.value) == [0x0A, 0x0D, 0x2028, 0x2029])
        #expect(("a\r\nb" as String).map(\.breaksLine) == [false, true, false])
        #expect(SafeText.lines("\tx").map(\.description) == ["    x"])
        #expect(SafeText.lines("ab\tx").map(\.description) == ["ab  x"])
        #expect(SafeText.lines("abcd\tx").map(\.description) == ["abcd    x"])
        #expect(SafeText.lines("漢\tx").map(\.description) == ["漢  x"])
    }

    @Test("Cutting never halves a wide character")
    func cutting() {
        let text = SafeText("a漢b")
        #expect(text.prefix(columns: 2).description == "a")
        #expect(text.prefix(columns: 3).description == "a漢")
        #expect(text.suffix(columns: 2).description == "b")
        #expect(text.dropFirst(columns: 2).description == " b")
        #expect(text.dropFirst(columns: 9).description == "")
        #expect(text.truncated(columns: 3).description == "a…")
        #expect(text.truncated(columns: 4).description == "a漢b")
        #expect(text.truncated(columns: 0).isEmpty)
        #expect(SafeText("chat.quality").shortened(columns: 9).description == "chat…lity")
        #expect(SafeText("漢漢漢漢").shortened(columns: 6).description == "漢…漢")
        #expect(SafeText("漢漢漢漢").shortened(columns: 7).description == "漢…漢漢")
        #expect((0...3).map { SafeText("abcd").shortened(columns: $0).description } == ["", "…", "a…", "a…d"])
        #expect(text.shortened(columns: 4) == text)
        #expect(text.padded(columns: 6).description == "a漢b  ")
        #expect(text.padded(columns: 3).width == 3)
    }

    @Test(
        "Wrapping breaks between words, and inside a word that is too long",
        arguments: [
            ("the quick brown fox", 10, ["the quick", "brown fox"]), ("abcdefgh", 3, ["abc", "def", "gh"]),
            ("ab cdefgh", 4, ["ab", "cdef", "gh"]), ("漢字漢字", 3, ["漢", "字", "漢", "字"]), ("漢", 1, ["漢"]),
            ("", 5, [""]), ("a b", 0, ["a", "b"]), ("   indented text", 11, ["   indented", "text"]),
            ("exactly ten", 7, ["exactly", "ten"]),
        ])
    func wrapping(sample: String, columns: Int, lines: [String]) {
        #expect(SafeText(sample).wrapped(columns: columns).map(\.description) == lines)
    }

    @Test("A wrapped line fits, whatever the text")
    func wrappedFits() async {
        for (index, sample) in hostileTexts(count: 1_000, seed: 2).enumerated() {
            if index % 100 == 0 { await Task.yield() }
            let text = SafeText(sample)
            for columns in [1, 2, 3, 7, 40] {
                let lines = text.wrapped(columns: columns)
                #expect(!lines.isEmpty)
                #expect(lines.allSatisfy { $0.width <= columns || $0.clusters.count == 1 })
                let kept = lines.flatMap(\.clusters).filter { !$0.isBlank }
                #expect(kept == text.clusters.filter { !$0.isBlank })
            }
        }
    }

    @Test("What takes one column without a look at its properties takes one by these")
    func knownWidths() {
        for value in [0x2010...0x2027, 0x2190...0x21FF, 0x2500...0x25FC].joined() {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let properties = scalar.properties
            #expect(!scalar.isForbidden && properties.generalCategory != .unassigned)
            #expect(properties.age.map { $0.major <= 14 } == true && !WideRanges.contains(scalar.value))
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .spacingMark, .privateUse: Issue.record("\(value) is no symbol")
            default: break
            }
            #expect(SafeText(String(Character(scalar))).width == 1)
        }
    }

    @Test("A character's width is that of its safe form")
    func characterWidth() {
        #expect(TextWidth.width(of: Character("a")) == 1)
        #expect(TextWidth.width(of: Character("漢")) == 2)
        #expect(TextWidth.width(of: Character("👩‍🚀")) == 2)
        #expect(TextWidth.width(of: Character("\u{200B}")) == 0)
        #expect(SafeText("a漢").width == 3)
    }
}
