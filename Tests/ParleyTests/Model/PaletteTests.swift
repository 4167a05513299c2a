import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Finding one's way")
struct PaletteTests {
    /// The row of what is selected in the list.
    private func offered(_ desk: Desk) -> String { desk.screen().first { $0.contains("│ ▌") } ?? "" }

    // MARK: Commands

    @Test(
        "^K and Alt-x list every command and every key's action, each with its key, from the tables that dispatch them")
    func everything() {
        for key in [Key.control("k"), .alt("x")] {
            var desk = Desk.joined("chat.lobby")
            desk.press(key)
            let items = desk.model.palette?.items ?? []
            for entry in SlashCommand.entries {
                #expect(items.contains { $0.target == .command(entry) && $0.title == entry.usage })
            }
            // The lab's are there in the lab.
            let apart = [EverywhereKey.title, PalettePane.title, LabPane.title]
            for table in KeyMap.standard.tables where !apart.contains(table.title) {
                for entry in table.entries {
                    #expect(
                        items.contains {
                            $0.title == entry.binding.words && $0.detail == table.title && $0.note == entry.label
                        }, "\(table.title): \(entry.name)")
                }
            }
            // What a command does too is listed once, as that command.
            #expect(items.contains { $0.title == "/help [WORD]" && $0.note == "F1" })
            // One that a key does too has it beside it.
            for (title, key) in [
                ("/inbox", "F3"), ("/next", "Alt-a"), ("/read [NUMBER]", "F4"), ("/edit", "Alt-e"), ("/log", "F8"),
            ] {
                #expect(items.contains { $0.title == title && $0.note == key }, "\(title)")
            }
            #expect(!items.contains { $0.target == .everywhere(.help) })
            #expect(items.contains { $0.target == .everywhere(.nextTopic) && $0.note == "Alt-Down ^N" })
            #expect(desk.shows("┌─ Commands ─"))
        }
    }

    @Test("^K deletes what stands behind the cursor; at the text's end it opens the palette, and the text stays")
    func killing() {
        var desk = Desk.joined("chat.lobby")
        desk.type("hello world")
        for _ in 0..<5 { desk.press(.left) }
        desk.press(.control("k"))
        #expect(desk.text == "hello " && desk.model.palette == nil)
        desk.press(.control("k"))
        #expect(desk.model.palette != nil)
        // It is the same within what is typed there; at its end it closes the palette.
        desk.type("xleave")
        desk.press(.control("a"), .right, .control("k"))
        #expect(desk.shows("│ > x "))
        desk.press(.control("k"))
        #expect(desk.model.palette == nil)
        #expect(desk.text == "hello " && desk.focus == .compose)
        // The connection log leaves the text its keys.
        desk.press(.function(8), .control("a"), .control("k"))
        #expect(desk.text.isEmpty && desk.model.logScroll != nil)
        desk.press(.control("k"))
        #expect(desk.model.palette != nil && desk.model.logScroll == nil)
    }

    @Test("Some letters and Enter run a command")
    func run() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        desk.type("recon")
        #expect(offered(desk).contains("▌/reconnect "))
        let effects = desk.press(.enter)
        #expect(effects == [.connection(.reconnect)])
        #expect(desk.model.palette == nil)
    }

    @Test("What was chosen last stands first, each once, and no more than a few of them")
    func again() {
        var desk = Desk.joined("chat.lobby")
        let before = Palette(.commands, desk.model.commandItems()).items
        for typed in ["log", "recon", "next topic", "/history ", "recon", "fold"] {
            desk.choose(typed)
        }
        desk.press(.control("k"))
        let items = desk.model.palette?.items ?? []
        #expect(
            items.prefix(5).map(\.title) == [
                "fold the topics away, or show them", "/reconnect", "/history", "next topic", "/log",
            ])
        #expect(items.count == before.count && Set(items) == Set(before))
        desk.press(.escape)
        for typed in ["close it", "help"] {
            desk.choose(typed)
            desk.press(.escape)
        }
        #expect(desk.model.screen.choices.count == 5)
    }

    @Test("A command with arguments is written on the palette's own line; the text that is being written stays")
    func arguments() {
        var desk = Desk.joined("chat.lobby", "chat.quality")
        desk.type("a draft")
        desk.choose("join")
        #expect(desk.shows("│ > /join  "))
        #expect(desk.shows("▌/join TOPIC  join a topic"))
        desk.type("chat.new")
        let effects = desk.press(.enter)
        #expect(effects == [.topics(.subscribe(topic: "chat.new"))])
        #expect(desk.view == .conversation("chat.new") && desk.model.palette == nil)
        #expect(desk.text.isEmpty)
        desk.press(.alt("1"))
        #expect(desk.text == "a draft")

        // Tab completes the topic.
        desk.press(.control("k"))
        desk.type("/leave chat.q")
        desk.press(.tab)
        #expect(desk.shows("│ > /leave chat.quality "))
        let left = desk.press(.enter)
        #expect(left == [.topics(.unsubscribe(topic: "chat.quality"))])
    }

    @Test("What is no command stays, with what is wrong in words")
    func mistake() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        desk.type("/post bob/b/c")
        let effects = desk.press(.enter)
        #expect(effects == [])
        #expect(desk.shows("Write it as /post USER[/POSTBOX] [TEXT]"))
        desk.type("/")
        #expect(!desk.shows("Write it as"))
        desk.press(.escape, .control("k"))
        desk.enter("/nonsense now")
        #expect(desk.shows("There is no command /nonsense."))
        desk.press(.control("u"))
        desk.type("qqqq")
        #expect(desk.shows("No command or key has these letters."))
        desk.press(.enter)
        #expect(desk.model.palette != nil)
    }

    @Test("What a key does is done in the pane whose key it is; for another part of the screen it says which")
    func keys() {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.press(.control("k"))
        desk.type("delete the marked letters, or this one")
        #expect(offered(desk).contains("Del Alt-d"))
        desk.press(.enter)
        #expect(desk.inbox.deletion.steps.flatMap(\.ids) == ["l1"])

        var other = Desk.joined("chat.lobby")
        other.press(.control("k"))
        other.type("delete the marked letters, or this one")
        let none = other.press(.enter)
        #expect(none == [] && other.model.palette == nil)
        #expect(other.bottom.contains("Del Alt-d: that belongs to another part of the screen, Postbox."))
        other.choose("new line")
        #expect(other.text == "\n")
    }

    @Test("Who looks for a reply in a topic is offered first what quotes a message, and is told the way to one")
    func replying() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "shall we?")])
        desk.press(.control("k"))
        desk.type("reply")
        let quote = ConversationPane.Action.quote.binding
        #expect(offered(desk).contains("▌\(quote.words) "))
        desk.press(.enter)
        #expect(desk.notice == "No message is selected; Shift-Tab and then Up go to one.")
        desk.press(.backTab, .up, .control("k"))
        desk.enter("reply")
        #expect(desk.text == "> bob: shall we?\n" && desk.focus == .compose)
    }

    @Test(
        "What is chosen for a message while none is selected says so, and the text keeps the keys",
        arguments: [
            ("quote it in the text", "No message is selected; Shift-Tab and then Up go to one."),
            ("copy the selected message", "No message is selected; Shift-Tab and then Up go to one."),
            ("what is known of it", "No message is selected; Shift-Tab and then Up go to one."),
            ("the message above that has it", "Nothing is looked for here. /find LETTERS begins."),
            ("send the line again that was not sent", "Nothing is unsent here."),
            ("complete a command, name", "There is nothing to complete."),
        ])
    func nothingToDoItTo(_ typed: String, _ words: String) {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "shall we?")])
        desk.press(.control("k"))
        desk.type(typed)
        #expect(desk.press(.enter) == [])
        #expect(desk.model.palette == nil && desk.focus == .compose)
        #expect(desk.notice == words)
        #expect(desk.text.isEmpty)
    }

    @Test("What is chosen for a message is done to the one that was selected, also behind a text that was begun since")
    func doneToTheSelected() {
        for begun in ["", "fine"] {
            var desk = Desk.joined("chat.lobby")
            desk.receive([message(1, "shall we?"), message(2, "or not?")])
            desk.press(.backTab, .up, .up)
            desk.type(begun)
            desk.choose("quote it in the text")
            #expect(desk.text == "> bob: shall we?\n\(begun)" && desk.model.notices.shown == nil)
        }
    }

    @Test("/topics begins at the topic in view, and Enter goes to the selected one")
    func listedTopics() {
        var desk = Desk.joined("chat.one", "chat.two", "chat.three")
        desk.press(.alt("2"))
        desk.enter("/topics")
        #expect(desk.shows(" Enter goes there  Esc closes "))
        desk.press(.down)
        #expect(desk.press(.enter) == [])
        #expect(desk.view == .conversation("chat.three") && desk.overlay == nil)
        #expect(desk.focus == .compose)
        desk.enter("/topics")
        desk.press(.home, .escape)
        #expect(desk.view == .conversation("chat.three") && desk.overlay == nil)
    }

    @Test("What edits the text is done to the text that is being written")
    func editing() {
        var desk = Desk.joined("chat.lobby")
        desk.type("one two")
        desk.press(.control("a"), .alt("x"))
        desk.type("the word in capitals")
        #expect(offered(desk).contains("Alt-u"))
        desk.press(.enter)
        #expect(desk.text == "ONE two" && desk.focus == .compose)
        // What waits for a key has the next one.
        desk.press(.alt("x"))
        desk.enter("put in the next key as it is")
        desk.press(.tab)
        #expect(desk.text == "ONE\t two")
    }

    @Test("Escape, ^C and the same key close it; keys that lead elsewhere close it and lead there")
    func closing() {
        for key in [Key(.escape), .control("c"), .control("k"), .alt("x")] {
            var desk = Desk.joined("chat.lobby")
            desk.press(.control("k"), key)
            #expect(desk.overlay == nil && desk.model.screen.quitIsArmed == false, "\(key)")
        }
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"), .control("g"))
        #expect(desk.model.palette?.kind == .places)
        desk.press(.function(3))
        #expect(desk.model.palette == nil && desk.view == .inbox(nil))
        desk.press(.control("k"), .function(1))
        #expect(desk.overlay == .help(scroll: 0))
        desk.press(.escape, .control("k"))
        #expect(desk.press(.control("l")) == .screen(.redraw))
        #expect(desk.model.palette != nil)
    }

    @Test("Keys, the wheel and clicks move in the list; a click chooses, and one beside it closes")
    func moving() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        for key in [Key(.down), .control("n"), Key(.tab)] { desk.press(key) }
        #expect(desk.bottom.contains(" 4/"))
        for key in [Key(.up), .control("p"), Key(.backTab), Key(.up)] { desk.press(key) }
        #expect(desk.bottom.contains(" 1/"))
        let list = PaletteLayout(desk.model.layout(on: desk.model.size)).list
        desk.press(.pageDown)
        #expect(desk.bottom.contains(" \(list.rows)/"))
        desk.press(.pageDown)
        #expect(desk.model.palette?.firstVisible == list.rows - 1)
        #expect(desk.shows("│ ▌"))
        desk.press(.pageUp, .pageUp)
        desk.send(.input(.mouse(MouseEvent(kind: .scrollDown, button: .none, row: 5, column: 40))))
        #expect(desk.bottom.contains(" 4/"))
        desk.type("/disconn")
        #expect(offered(desk).contains("▌/disconnect "))
        desk.click(row: list.row, column: list.column + 3)
        #expect(desk.effects.core.last == .connection(.disconnect))
        desk.press(.control("k"))
        desk.click(row: list.row, column: 1)
        #expect(desk.model.palette == nil && desk.focus == .compose)
    }

    @Test("A paste goes to what is looked for, as one line")
    func paste() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        desk.paste("load\nolder")
        #expect(desk.shows("│ > load older "))
        #expect(offered(desk).contains("▌/history "))
        #expect(desk.text.isEmpty)
    }

    @Test("The palette's own line has no history: the keys that look through one leave it to what is typed")
    func noHistory() {
        for key in [Key.control("r"), .control("s")] {
            var desk = Desk.joined("chat.lobby")
            desk.press(.control("k"), key)
            desk.type("/disconn")
            #expect(desk.shows("│ > /disconn "), "\(key)")
            #expect(offered(desk).contains("▌/disconnect "), "\(key)")
        }
    }

    @Test("The letters that were typed are bold and underlined")
    func marks() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        desk.type("ol")
        desk.press(.down)
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let list = PaletteLayout(desk.model.layout(on: desk.model.size)).list
        let marked = (list.column..<list.endColumn).filter { column in
            frame[list.row, column].style.attributes.isSuperset(of: [.bold, .underline])
        }
        #expect(marked.count == 2)
    }

    @Test("The whole of what the selected one does is below the list", arguments: [(24, 80), (24, 60), (14, 40)])
    func wholeWords(rows: Int, columns: Int) {
        var desk = Desk.joined("chat.lobby", size: Size(rows: rows, columns: columns))
        desk.press(.control("k"))
        desk.type("/find")
        let words = SlashCommand.entries.first { $0.name == "find" }?.words ?? ""
        let shown = desk.screen().map { $0.filter { !"│▌".contains($0) } }.joined(separator: " ")
        #expect(shown.split(separator: " ").joined(separator: " ").contains(words), "\(desk.screen())")
    }

    // MARK: Places

    @Test("^G offers the places that were left first, so that ^G and Enter go back and forth; then what is unread")
    func places() {
        var desk = Desk.joined("chat.a", "chat.b", "chat.c", "chat.d")
        desk.send(.postbox(.boxes([postbox("b1", "personal")])))
        desk.press(.alt("2"))
        #expect(desk.view == .conversation("chat.b"))
        desk.receive([message(1, "x", topic: "chat.d")])
        desk.press(.control("g"))
        #expect(
            desk.model.palette?.items.map(\.title) == [
                "chat.a", "chat.d", "chat.b", "chat.c", "all letters", "personal", "bob", "bob",
            ])
        desk.press(.enter)
        #expect(desk.view == .conversation("chat.a") && desk.focus == .compose)
        desk.press(.alt("g"), .enter)
        #expect(desk.view == .conversation("chat.b"))
        desk.press(.alt("/"))
        #expect(desk.view == .conversation("chat.a"))
        desk.press(.control("g"))
        desk.type("pers")
        let effects = desk.press(.enter)
        #expect(desk.view == .inbox("b1") && desk.focus == .main)
        #expect(effects.core.contains { if case .letters(.listPage(_, "b1", _, _, _)) = $0 { true } else { false } })
        desk.press(.alt("/"))
        #expect(desk.view == .conversation("chat.a"))
    }

    @Test("A person is written to: a letter is begun, and while a text is being written the name goes into that")
    func writing() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "hello", from: "bob"), message(2, "x", from: "a b")])
        desk.press(.control("g"))
        desk.type("bob")
        #expect(desk.shows("write a letter to bob/personal"))
        #expect(desk.press(.enter) == [])
        #expect(desk.text == "/post bob/personal " && desk.focus == .compose)
        #expect(desk.notice == "A letter to bob/personal: write it here, and Enter sends it.")
        desk.type("lunch?")
        #expect(
            desk.press(.enter)
                == [.letters(.post(id: "own-1", user: "bob", postbox: "personal", subject: nil, text: "lunch?"))])
        desk.type("ask")
        desk.press(.control("g"))
        desk.type("bob")
        #expect(desk.shows("put @bob into the text"))
        desk.press(.enter)
        #expect(desk.text == "ask @bob ")
        // A name that is none is only somebody who was seen.
        desk.press(.control("g"))
        desk.type("a b")
        #expect(offered(desk).contains("where last seen"))
    }

    @Test("A person leads to where that person was last seen as well, and Escape leads back")
    func person() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        var lines = (1...60).map { message($0, "line \($0)", topic: "chat.qa") }
        lines[19] = message(20, "it is mended", from: "carol", topic: "chat.qa", minutes: 20)
        desk.receive(lines, in: "chat.qa")
        desk.press(.control("g"))
        desk.type("caro")
        desk.press(.down)
        #expect(offered(desk).contains("chat.qa 21 Nov 10:20"))
        desk.press(.enter)
        #expect(desk.view == .conversation("chat.qa"))
        #expect(desk.shows("carol  it is mended"))
        desk.press(.escape)
        #expect(desk.view == .conversation("chat.lobby") && desk.focus == .compose)
    }

    @Test("A topic that is gone by the time it is chosen, and one that there is not, are said in words")
    func gone() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.alt("7"))
        #expect(desk.notice == "There is no topic 7 here.")
        desk.press(.alt("/"))
        #expect(desk.notice == "There is nowhere to go back to.")
        _ = desk.model.go(to: .topic("chat.gone"))
        #expect(desk.notice == "chat.gone is not joined any more.")
        desk.press(.control("g"))
        desk.type("qqqq")
        #expect(desk.shows("No topic, postbox or person here has these letters."))
    }

    @Test("Nothing counts as read while the palette lies over it")
    func unread() {
        var desk = Desk.joined("chat.lobby")
        desk.press(.control("k"))
        desk.receive([message(1, "a")])
        #expect(desk.conversation("chat.lobby")?.unread == 1)
        desk.press(.escape)
        #expect(desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("B53: hostile names move nothing at any size, and the state of the connection stays in view")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}evil\u{2066}\r\n\u{8}\u{0}日本語"
        for size in [(5, 20), (6, 20), (8, 39), (12, 40), (14, 50), (24, 59), (24, 80), (40, 120)] {
            let size = Size(rows: size.0, columns: size.1)
            var desk = Desk.joined("chat.lobby", size: size)
            desk.send(.postbox(.boxes([postbox("b1", attack)])))
            desk.receive([message(1, "x", from: attack)])
            desk.press(.control("g"))
            for typed in ["", "v", "本", "q"] {
                desk.type(typed)
                let frame = render(desk.model, size: size, now: desk.model.now.instant)
                #expect(frame.rows.first?.contains("● CONNECTED") == true)
                #expect(frame.cursor.map { Rect(size).contains($0) } == true)
                #expect(frame.rows.isHarmless, "\(size)")
            }
        }
    }
}
