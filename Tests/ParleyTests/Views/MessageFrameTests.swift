import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Messages on the screen")
struct MessageFrameTests {
    private func desk(
        _ messages: [TopicMessage], topic: String = "chat.lobby", size: Size = Size(rows: 24, columns: 80)
    ) -> Desk {
        var desk = Desk.joined(topic, size: size)
        desk.receive(messages, in: topic)
        return desk
    }

    /// The rows of the conversation, without the sidebar and the separators.
    private func rows(_ desk: Desk) -> [String] {
        desk.screen().compactMap { row in
            row.split(separator: "│", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first.map(String.init)
        }.filter { !$0.isEmpty && !$0.hasPrefix("──") }
    }

    private func frame(_ desk: Desk, _ theme: Theme = .standard) -> Canvas {
        render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: theme)
    }

    /// The text that is drawn in a style on the row that has some words.
    private func text(of style: Style, on words: String, _ frame: Canvas) -> String {
        guard let row = frame.rows.firstIndex(where: { $0.contains(words) }) else { return "no row" }
        // Without the sidebar and the margin.
        return (34..<frame.size.columns).filter { column in
            frame[row, column].style.foreground == style.foreground
                && frame[row, column].style.attributes == style.attributes
        }.map { frame[row, $0].cluster.text }.joined()
    }

    // MARK: Authors

    @Test("Who writes on within five minutes is named once; each message keeps its time and its mark")
    func grouped() {
        let desk = desk([
            message(1, "one"), message(2, "two", minutes: 5), message(3, "late", minutes: 11, isRecovered: true),
            message(4, "hey alice", minutes: 12), message(5, "and me", from: "carol", minutes: 12),
        ])
        let shown = rows(desk)
        #expect(shown[0] == " 10:00  bob    one" && shown[1] == " 10:05         two")
        #expect(shown[2].hasPrefix(" 10:11  bob    late") && shown[2].hasSuffix("↺"))
        #expect(shown[3] == "@10:12         hey alice" && shown[4] == " 10:12  carol  and me")
    }

    @Test("A day, what is new, and messages that are gone stand between two messages: the name comes again")
    func separated() {
        var desk = desk([message(1, "before midnight", minutes: -601), message(2, "after it", minutes: -598)])
        desk.send(.topic("chat.lobby", .gap(lost: 2)))
        desk.receive([message(5, "behind the gap", minutes: -597)])
        desk.loseFocus()
        desk.receive([message(6, "new", minutes: -596)])
        for text in ["before midnight", "after it", "behind the gap", "new"] {
            #expect(rows(desk).contains { $0.contains("bob   \(text)") }, "\(text)")
        }
    }

    @Test("Whoever claims the person's name is named beside the person")
    func claimed() {
        var desk = desk([message(1, "I am alice", from: "bob")])
        desk.send(.identified(.init(user: "anonymous", network: "x", isNamed: false)))
        desk.receive([message(2, "not you", from: "anonymous")])
        desk.enter("me")
        desk.enter("again")
        let shown = rows(desk)
        #expect(shown[1].contains("anonymous  not you") && shown[2].contains("anonymous  me"))
        #expect(shown[3].hasPrefix(" 10:00             again"))
    }

    @Test("A line that was not sent keeps its name, and so does the one below its reason")
    func failed() throws {
        var desk = desk([])
        desk.published(try desk.publish("too much"), .failed(.tooLarge(bytes: 2, limit: 1)))
        desk.enter("next")
        desk.enter("last")
        let shown = rows(desk)
        #expect(shown.contains { $0.contains("alice  too much") } && shown.contains { $0.contains("alice  next") })
        #expect(shown.contains { !$0.contains("alice") && $0.hasPrefix(" 10:00") && $0.contains("  last") })
    }

    @Test("In a pattern the topic counts, on a narrow screen nothing is left out, and at the top the name stands")
    func places() {
        let several = desk(
            [
                message(1, "one", topic: "a.x"), message(2, "two", topic: "a.x"), message(3, "three", topic: "a.y"),
            ], topic: "a.*")
        #expect(rows(several) == [" 10:00  bob   [a.x] one", " 10:00        [a.x] two", " 10:00  bob   [a.y] three"])
        let narrow = desk([message(1, "one"), message(2, "two")], size: Size(rows: 8, columns: 30))
        #expect(narrow.screen().filter { $0.contains("bob") }.count == 2)
        let many = desk((1...40).map { message($0, "m\($0)") })
        let shown = rows(many)
        #expect(shown[0].hasPrefix(" 10:00  bob ") && shown.filter { $0.contains("bob") }.count == 1)
    }

    @Test("Times that no clock has group nothing and break nothing")
    func hostileTimes() {
        var first = message(1, "one")
        var second = message(2, "two")
        first.time = Timestamp(milliseconds: .min)
        second.time = Timestamp(milliseconds: .max)
        #expect(rows(desk([first, second])).filter { $0.contains("bob") }.count == 2)
    }

    // MARK: Code, quotes, links

    @Test("Code, quotes and links have looks of their own, and no character of the text changes")
    func marked() {
        let words = "run `make` at https://example.org/a.\n> said bob\n```\nlet x\n```"
        let desk = desk([message(1, words)])
        #expect(
            rows(desk).map { $0.dropFirst(14) } == [
                "run `make` at https://example.org/a.", "> said bob", "```", "let x", "```",
            ])
        let frame = self.frame(desk)
        let theme = Theme.standard
        #expect(text(of: theme.code, on: "run `make`", frame) == "`make`")
        #expect(text(of: theme.link, on: "run `make`", frame) == "https://example.org/a")
        #expect(text(of: theme.quote, on: "> said", frame) == "> said bob")
        #expect(text(of: theme.code, on: "let x", frame) == "let x")
        let plain = self.frame(desk, .colorless)
        #expect(plain.rows == frame.rows)
        #expect(text(of: Style(attributes: .underline), on: "run `make`", plain) == "https://example.org/a")
    }

    @Test("Of a line that calls the person the name alone stands out; code and links look as everywhere")
    func mention() {
        let desk = desk([message(1, "so @alice `make` http://a.b")])
        let theme = Theme.standard
        #expect(text(of: theme.mention, on: "@alice", frame(desk)) == "alice")
        #expect(text(of: theme.code, on: "@alice", frame(desk)) == "`make`")
        #expect(text(of: theme.link, on: "@alice", frame(desk)) == "http://a.b")
        let plain = frame(desk, .colorless)
        #expect(text(of: Style(attributes: [.bold, .reverse]), on: "@alice", plain) == "alice")
    }

    @Test("Each cell of a link leads where the text says, on every line of it, and no other cell does")
    func cells() {
        let link = "https://example.org/" + String(repeating: "path/", count: 20) + "end"
        var desk = desk([message(1, "see \(link), and https://bank.example@evil.example/")])
        let frame = self.frame(desk)
        var linked = ""
        for row in 0..<frame.size.rows {
            for column in 0..<frame.size.columns {
                guard let target = frame.target(row: row, column: column) else { continue }
                #expect(target.address == link)
                linked += frame[row, column].cluster.text
            }
        }
        #expect(linked == link)
        // What lies over it leads nowhere.
        desk.press(.function(1))
        let covered = self.frame(desk)
        for row in 2..<20 { #expect(covered.target(row: row, column: 40) == nil) }
    }

    @Test("The configuration says whether the terminal is told of links")
    func setting() {
        #expect(LinkSetting.allCases.map(\.use) == [.auto, .always, .never])
        #expect(ChatSettings().links == .auto)
    }

    @Test("/links lists what is in view, newest first and each once, and /link hands one over")
    func list() {
        var desk = desk([
            message(1, "http://a.b/1 http://a.b/2"), message(2, "http://a.b/1 again", from: "carol", minutes: 1),
            message(3, "https://bank.example@evil.example/x", from: "mallory", minutes: 2),
        ])
        desk.enter("/links")
        let shown = desk.screen().joined(separator: "\n")
        #expect(shown.contains("─ Links in chat.lobby ─"))
        #expect(shown.contains("│ 1  mallory") && shown.contains("https://bank.example@evil.example/x"))
        #expect(shown.contains("↑ leads to evil.example"))
        #expect(shown.contains("│ 2  carol") && shown.contains("│ 3  bob") && !shown.contains("│ 4  "))
        // The numbers stay while messages come.
        desk.send(.topic("chat.lobby", .messages([message(4, "http://c.d", minutes: 3)])))
        desk.press(.escape)
        #expect(desk.overlay == nil)
        #expect(desk.enter("/link 3") == .screen(.copy("http://a.b/2")))
        #expect(desk.notice == "http://a.b/2" && desk.bottom.contains("http://a.b/2"))
        desk.enter("/link 9")
        #expect(desk.notice == "There is no link 9. /links lists them.")
        desk.enter("/links")
        desk.press(.escape)
        desk.enter("/link 1")
        #expect(desk.notice == "http://c.d")
    }

    @Test("A link to a picture or a file is listed with its name, by its address alone; Enter copies the selected one")
    func files() {
        var desk = desk([message(1, "http://a.b/c/cat.PNG?w=9 https://a.b/notes.pdf http://a.b/page.html")])
        desk.enter("/links")
        let shown = desk.screen()
        #expect(shown.contains { $0.contains("↑ image cat.PNG ") })
        #expect(shown.contains { $0.contains("↑ file notes.pdf ") })
        #expect(shown.count { $0.contains("↑ ") } == 2)
        #expect(shown.contains { $0.contains(" Enter copies  Esc closes ") })
        // What stands below an address belongs to it.
        desk.press(.down, .down)
        #expect(desk.press(.enter) == .screen(.copy("https://a.b/notes.pdf")) && desk.overlay == nil)
        #expect(desk.notice == "https://a.b/notes.pdf")
        #expect(desk.enter("/link 3") == .screen(.copy("http://a.b/c/cat.PNG?w=9")))
    }

    @Test("/links lists those of the open letter and of a message that is read whole, as they stand there")
    func ofWhatIsRead() {
        let text = "http://a.b/1\nhttp://a.b/cat.png and http://a.b/1\n" + String(repeating: "x\n", count: 300)
        var desk = Desk.inbox([letter(1, text)])
        desk.enter("/links")
        #expect(desk.notice == "Open a topic first." && desk.overlay == nil)
        desk.press(.tab, .tab, .enter)
        desk.enter("/links")
        let shown = desk.screen()
        #expect(shown.contains { $0.contains("─ Links in what is read ─") })
        #expect(shown.contains { $0.contains("│ 1 ") && $0.contains("http://a.b/1") })
        #expect(shown.contains { $0.contains("│ 2 ") && $0.contains("http://a.b/cat.png") })
        #expect(shown.contains { $0.contains("↑ image cat.png ") } && !shown.contains { $0.contains("│ 3 ") })
        desk.press(.escape)
        #expect(desk.enter("/link 2") == .screen(.copy("http://a.b/cat.png")))

        var long = self.desk([message(1, text)])
        long.press(.function(4))
        #expect(long.enter("/link 2") == .screen(.copy("http://a.b/cat.png")))
    }

    @Test("Below an address of several lines stands the picture or file that it names; all of the address leads there")
    func namedFiles() {
        let link = "https://cdn.example.org/" + String(repeating: "attachments/", count: 6) + "cat.png?size=large"
        var desk = desk([message(1, "see \(link) now"), message(2, "http://a.b/dog.png", minutes: 1)])
        let shown = rows(desk)
        #expect(shown.count { $0.contains("↑ ") } == 1)
        #expect(shown.contains { $0.dropFirst(14) == "↑ image cat.png" }, "\(shown)")
        let frame = self.frame(desk)
        #expect(text(of: Theme.standard.dimmed, on: "↑ image", frame) == "↑ image cat.png")
        var linked = ""
        for row in 0..<frame.size.rows {
            for column in 0..<frame.size.columns where frame.target(row: row, column: column)?.address == link {
                linked += frame[row, column].cluster.text
            }
        }
        #expect(linked == link)
        #expect(desk.enter("/link 2") == .screen(.copy(link)))
        // What is copied of the message has no name in it that nobody wrote.
        desk.press(.backTab, .up, .up)
        #expect(desk.press(.plain("y")) == .screen(.copy("see \(link) now")))
    }

    @Test("A link that the bottom line has no room for is copied all the same, and ^Y puts it into the text")
    func longLink() {
        let link = "https://example.org/" + String(repeating: "a", count: 200)
        var desk = desk([message(1, link)])
        #expect(desk.enter("/link 1") == .screen(.copy(link)))
        #expect(desk.notice == "Copied, where the terminal has a clipboard; ^Y puts it into the text.")
        desk.press(.control("y"))
        #expect(desk.text == link)
    }

    @Test("Without links, without a topic, and without a number, the commands say so")
    func noLinks() throws {
        var desk = desk([message(1, "nothing")])
        for (text, words) in [
            ("/links", "There is no link in view."), ("/link 1", "There is no link in view."),
        ] {
            desk.enter(text)
            #expect(desk.notice == words && desk.overlay == nil)
        }
        var empty = Desk()
        empty.enter("/links")
        #expect(empty.notice == "Open a topic first.")
        for text in ["/link", "/link x", "/link 0", "/link -1"] {
            #expect(throws: SlashCommand.Failure.usage("/link NUMBER")) { try SlashCommand.parse(text) }
        }
        #expect(try SlashCommand.parse("/link 12") == .link(12) && SlashCommand.parse("/links") == .links)
    }

    // MARK: JSON

    @Test("JSON that is longer than a line is one line, and F4 reads it with a line for each value")
    func folded() {
        let text = "{" + (1...12).map { "\"key \($0)\": \"value\"" }.joined(separator: ",") + "}"
        var desk = desk([message(1, text), message(2, "{\"short\": 1}")])
        #expect(rows(desk) == [" 10:00  bob   {…} 12 keys, 208 bytes · F4 reads it", " 10:00        {\"short\": 1}"])
        desk.press(.function(4))
        let shown = rows(desk)
        #expect(shown.first == " {" && shown.dropFirst().first == "   \"key 1\": \"value\",")
        #expect(shown.contains("   \"key 12\": \"value\""))
        desk.press(.escape)
        let row = desk.screen().firstIndex { $0.contains("F4 reads it") } ?? 0
        desk.click(row: row, column: 50)
        #expect(desk.shows("from bob in chat.lobby"))
    }

    @Test("Folded JSON keeps its topic in a pattern, and on a screen without room the key goes first")
    func foldedNarrow() {
        let text = "[" + Array(repeating: "\"item\"", count: 40).joined(separator: ",") + "]"
        let several = desk([message(1, text, topic: "a.x")], topic: "a.*")
        #expect(rows(several) == [" 10:00  bob   [a.x] […] 40 items, 281 bytes · F4 reads it"])
        let narrow = desk([message(1, text)], size: Size(rows: 10, columns: 40))
        #expect(narrow.shows("[…] 40 items, 281") && !narrow.shows("F4"))
    }

    @Test("What earlier frames have broken into lines is the same with other widths, topics and texts")
    func cached() {
        let texts = WrappedTexts()
        let text = "> a `b` http://c.d/e and more of it, so that it goes on below, on narrow screens at least"
        for columns in [30, 50, 80, 120, 50] {
            for topic in ["chat.lobby", "chat.*"] {
                let desk = desk([message(1, text), message(2, "[chat.lobby] " + text)], topic: topic)
                let size = Size(rows: 24, columns: columns)
                let now = desk.model.now.instant
                #expect(
                    render(desk.model, size: size, now: now, texts: texts) == render(desk.model, size: size, now: now))
            }
        }
    }
}
