import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Reading a message whole")
struct ReaderTests {
    private static let long = (1...900).map { "line \($0)." }.joined(separator: "\n")

    /// A conversation whose middle message is longer than what is shown of one.
    private static func desk(_ size: Size = Size(rows: 24, columns: 80)) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        let messages = [message(1, "before"), message(2, long, minutes: 2), message(3, "after", minutes: 3)]
        desk.receive(messages)
        return desk
    }

    @Test("B34: a message of any length can be read to its last line, and Escape leads back to where one was")
    func whole() {
        var desk = Self.desk()
        #expect(desk.shows("… F4 reads the rest") && desk.shows("line 200.") && !desk.shows("line 201."))
        desk.press(.function(4))
        #expect(desk.shows("── from bob in chat.lobby, 21 Nov 10:02 ──") && desk.shows("line 1."))
        desk.press(.end)
        #expect(desk.shows("line 900.") && desk.bottom.hasSuffix("⇣ end"))
        desk.press(.pageUp)
        #expect(desk.bottom.hasSuffix("↓ 18 below"))
        desk.press(.home)
        for _ in 0..<300 { desk.press(.down) }
        #expect(desk.shows("line 301.") && !desk.shows("line 300."))
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby") && desk.focus == .compose)
        #expect(desk.shows("… F4 reads the rest"))
    }

    @Test("Beneath a message, a topic that was left meanwhile is none to write to, and that is said")
    func left() {
        var desk = Self.desk()
        desk.press(.function(4))
        desk.enter("/leave chat.lobby")
        #expect(desk.shows("from bob in chat.lobby") && desk.shows("/join chat.lobby to write"))
        desk.enter("hello")
        #expect(desk.bottom.contains("chat.lobby is not joined. /join chat.lobby to write there."))
        #expect(desk.text == "hello")
        var pattern = Desk.joined("chat.>")
        pattern.receive([message(1, Self.long)], in: "chat.>")
        pattern.press(.function(4))
        pattern.enter("/leave chat.>")
        #expect(pattern.shows("from bob in chat.lobby") && pattern.shows("/join a topic to write"))
    }

    @Test("F4 and a click on the last line shown open it, F4 closes it, and /read does the same")
    func ways() {
        var desk = Self.desk()
        desk.press(.function(4), .function(4))
        #expect(desk.view == .conversation("chat.lobby") && desk.model.screen.trail.isEmpty)
        let row = desk.screen().firstIndex { $0.contains("… F4 reads the rest") } ?? 0
        desk.click(row: row, column: 50)
        #expect(desk.shows("from bob in chat.lobby"))
        desk.press(.escape)
        desk.enter("/read")
        #expect(desk.shows("from bob in chat.lobby"))
    }

    @Test("Of two that are cut the selected one is read, by the key and by the command, and else the lower one")
    func selected() {
        var desk = Desk.joined("chat.lobby")
        let folded = (0..<2).map { number in
            message(UInt64(number) + 1, "{\"number\": \(number), \"text\": \"\(String(repeating: "x", count: 99))\"}")
        }
        desk.receive(folded)
        desk.press(.function(4))
        #expect(desk.shows("\"number\": 1"))
        desk.press(.function(4), .backTab, .up, .up, .function(4))
        #expect(desk.shows("\"number\": 0") && !desk.shows("\"number\": 1"))
        desk.press(.function(4))
        #expect(desk.model.selectedRow?.position == .message(1))
        desk.enter("/read")
        #expect(desk.shows("\"number\": 0") && !desk.shows("\"number\": 1"))
        desk.press(.escape)
        // What was selected before a text that was sent or taken back is nothing to the next one.
        desk.press(.escape)
        desk.enter("/read")
        #expect(desk.shows("\"number\": 1"))
    }

    @Test("Its beginning in view is enough, and what is whole needs no key")
    func beginning() {
        var desk = Self.desk()
        desk.press(.tab, .tab, .home)
        #expect(desk.shows("before") && !desk.shows("F4 reads"))
        desk.press(.function(4))
        #expect(desk.shows("from bob in chat.lobby"))
        var other = Desk.joined("chat.lobby")
        other.receive([message(1, "short")])
        other.press(.function(4))
        #expect(other.view == .conversation("chat.lobby"))
        #expect(other.notice == "Every message in view is whole.")
    }

    /// The texts that are marked in view.
    private func marked(_ desk: Desk) -> [String] {
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let style = Theme.standard.found(in: .plain)
        return (0..<frame.size.rows).flatMap { row -> [String] in
            var runs = [""]
            for column in 0..<frame.size.columns {
                if frame[row, column].style == style {
                    runs[runs.count - 1] += frame[row, column].cluster.text
                } else if runs.last != "" {
                    runs.append("")
                }
            }
            return runs.filter { !$0.isEmpty }
        }
    }

    @Test(
        "/find goes through what is read from its beginning, marks all that is in view, and n, N and /find alone go on")
    func find() {
        var desk = Self.desk()
        desk.press(.function(4))
        desk.enter("/find")
        #expect(desk.notice == "Nothing is looked for here. /find LETTERS begins.")
        desk.enter("/find LINE 40")
        #expect(desk.shows("line 40.") && !desk.shows("line 400.") && marked(desk) == ["line 40"])
        desk.press(.plain("n"))
        #expect(desk.shows("line 400.") && !desk.shows("line 40.") && marked(desk).count >= 10)
        desk.press(.plain("N"))
        #expect(desk.shows("line 40."))
        desk.press(.plain("N"))
        #expect(desk.notice == "No line above has LINE 40.")
        desk.enter("/find")
        #expect(desk.shows("line 400.") && !desk.shows("line 40.") && desk.focus == .main)
        for _ in 0..<10 { desk.press(.plain("n")) }
        #expect(desk.notice == "No line below has LINE 40." && desk.shows("line 409."))
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby"))
    }

    @Test("What is at an end is found in view, what is broken into lines too, and nothing is said to be nothing")
    func findEnds() {
        let words = (1...400).map { "word\($0)" }.joined(separator: " ")
        for size in [(8, 24), (24, 80), (5, 20)] {
            var desk = Self.desk(Size(rows: size.0, columns: size.1))
            desk.press(.function(4))
            for wanted in ["line 1.", "line 900.", "line 899."] {
                desk.enter("/find \(wanted)")
                #expect(desk.shows(wanted), "\(wanted) at \(size)")
            }
            desk.enter("/find nowhere")
            #expect(desk.notice == "Nothing in this message has nowhere.")
            desk.press(.escape)

            desk.receive([message(4, words + String(repeating: "\nend", count: 300))])
            desk.press(.function(4))
            for number in stride(from: 1, to: 60, by: 7) {
                desk.enter("/find word\(number) word\(number + 1)")
                #expect(desk.shows("word\(number)"), "\(number) at \(size)")
            }
        }
    }

    @Test("y copies what is read, and q quotes it where a line goes; a letter is not quoted")
    func copyAndQuote() {
        var desk = Self.desk()
        desk.press(.function(4))
        #expect(desk.press(.plain("y")) == .screen(.copy(Self.long)))
        desk.press(.plain("q"))
        #expect(desk.text.hasPrefix("> bob: line 1.\n> line 2.\n") && desk.focus == .compose)
        var letters = Desk.inbox([letter(1, Self.long)])
        letters.press(.function(4))
        #expect(letters.press(.plain("y")) == .screen(.copy(Self.long)))
        letters.press(.plain("q"))
        #expect(letters.text == "q")
    }

    @Test("What is typed while reading is sent where it would go from below, and what comes meanwhile counts as unread")
    func writing() {
        var desk = Self.desk()
        desk.press(.function(4))
        desk.receive([message(4, "meanwhile", minutes: 4)])
        #expect(desk.conversation("chat.lobby")?.unread == 1)
        #expect(desk.enter("an answer").core.count == 1)
        #expect(desk.view == .conversation("chat.lobby") && desk.model.screen.trail.isEmpty)
        #expect(desk.texts("chat.lobby").last == "sending an answer")
    }

    @Test("A letter is read whole too, and the table has the keys again afterwards")
    func letters() {
        var desk = Desk.inbox([letter(1), letter(2, (1...3_000).map { "row \($0)." }.joined(separator: "\n"))])
        desk.press(.down, .function(4), .end)
        #expect(desk.shows("from bob in personal") && desk.shows("row 3000."))
        desk.press(.escape)
        #expect(desk.view == .inbox(nil) && desk.focus == .main)
        #expect(desk.inbox.open == "l2")
    }

    @Test("/find in the postbox reads the open letter whole where it has the letters; without one it says what to do")
    func findInPostbox() {
        var desk = Desk.inbox([letter(1, "one\ntwo needles\nthree"), letter(2, "a needle")])
        desk.enter("/find needle")
        #expect(desk.notice == "Open a letter first; Alt-l filters the list.")
        #expect(desk.view == .inbox(nil))
        desk.press(.tab, .tab, .enter)
        #expect(desk.inbox.open == "l1")
        desk.enter("/find dragons")
        #expect(desk.notice == "Nothing in this letter has dragons." && desk.view == .inbox(nil))
        desk.enter("/find needle")
        #expect(desk.shows("from bob in personal") && marked(desk) == ["needle"])
        desk.press(.plain("n"))
        #expect(desk.notice == "No line below has needle.")
        #expect(desk.press(.plain("y")) == .screen(.copy("one\ntwo needles\nthree")))
        desk.press(.escape)
        #expect(desk.view == .inbox(nil) && desk.inbox.open == "l1")
    }

    @Test("Nothing of a text is lost in its parts, and no part is long")
    func parts() {
        let words = String(repeating: "漢字 and words ", count: 2_000)
        for text in ["", "\n", "a\r\n\nb", String(repeating: "x", count: 50_000), words, words + "\n" + words] {
            let reader = Reader(text, heading: "")
            #expect(reader.parts.joined() == text.filter { !$0.isNewline })
            #expect(reader.parts.allSatisfy { $0.count <= Reader.partLength })
        }
        #expect(Reader("a\n\nb", heading: "").parts.count == 3)
    }

    @Test("B53: hostile text moves nothing at any size")
    func hostile() {
        let attack = String(repeating: "\u{1B}[2J\u{9B}5n\u{202E}evil\u{2066}\n\u{8}\u{0}\t字", count: 400)
        for size in [(5, 20), (8, 40), (24, 80), (60, 200)] {
            var desk = Desk.joined("chat.lobby", size: Size(rows: size.0, columns: size.1))
            desk.receive([message(1, attack, from: attack)])
            for key in [Key.function(4), .down, .pageDown, .end, .up, .home] {
                desk.press(key)
                #expect(desk.screen().isHarmless)
            }
        }
    }
}
