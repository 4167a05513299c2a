import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Selecting messages")
struct SelectionTests {
    /// Forty messages in the topic in view, and the keys on them.
    private static func desk(size: Size = Size(rows: 24, columns: 80), count: Int = 40) -> Desk {
        var desk = Desk.joined("chat.lobby", size: size)
        desk.receive((1...count).map { message(UInt64($0), "line \($0).") })
        desk.press(.backTab)
        desk.effects = []
        return desk
    }

    private func selected(_ desk: Desk) -> String? { desk.model.selectedRow?.text }

    /// The rows that stand out.
    private func marked(_ desk: Desk) -> [String] {
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        return (0..<frame.size.rows).filter { frame[$0, frame.size.columns - 3].style.attributes.contains(.reverse) }
            .map { frame.text(row: $0) }
    }

    @Test("Up goes from the newest message to older ones, which stand out and have the cursor; Down comes back")
    func upAndDown() {
        var desk = Self.desk()
        desk.press(.up)
        #expect(selected(desk) == "line 40.")
        #expect(marked(desk).count == 1 && marked(desk).first?.hasSuffix("line 40.") == true)
        for _ in 0..<30 { desk.press(.up) }
        #expect(selected(desk) == "line 10.")
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        #expect(frame.cursor.map { frame.text(row: $0.row).hasSuffix("line 10.") } == true)
        for _ in 0..<30 { desk.press(.down) }
        #expect(selected(desk) == "line 40.")
        desk.press(.down)
        #expect(selected(desk) == nil && desk.conversation("chat.lobby")?.scroll == .bottom)
    }

    @Test("What comes meanwhile does not move what is selected, and counts as unread")
    func held() {
        var desk = Self.desk()
        for _ in 0..<3 { desk.press(.up) }
        func shown() -> [String] { desk.screen().compactMap { $0.contains("line ") ? String($0.suffix(8)) : nil } }
        let before = shown()
        desk.receive([message(41, "later")])
        #expect(shown() == before && selected(desk) == "line 38.")
        #expect(desk.bottom.hasSuffix("↓ 1 new"))
        desk.press(.end)
        #expect(desk.screen().contains { $0.hasSuffix("later") })
    }

    @Test("Whoever goes back to the text sees the newest message again")
    func back() {
        for leave in [Key(.escape), Key(.enter), Key(.tab)] {
            var desk = Self.desk()
            for _ in 0..<3 { desk.press(.up) }
            desk.press(leave)
            #expect(desk.model.screen.marks.selection == nil && desk.focus == .compose)
            #expect(desk.conversation("chat.lobby")?.scroll == .bottom)
        }
    }

    @Test("A message that is taller than the pane is gone through line by line")
    func tall() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 60))
        let lines = (1...30).map { "part \($0)." }.joined(separator: "\n")
        let messages = [message(1, "first."), message(2, lines), message(3, "last.")]
        desk.receive(messages)
        desk.press(.backTab, .up, .up)
        #expect(selected(desk) == lines)
        var seen: Set<String> = []
        for _ in 0..<60 where selected(desk) != "first." {
            for row in desk.screen() where row.contains("part ") { seen.insert(row) }
            desk.press(.up)
        }
        #expect(selected(desk) == "first." && seen.count >= 30)
        for _ in 0..<60 where selected(desk) != "last." { desk.press(.down) }
        #expect(selected(desk) == "last.")
    }

    @Test("At the oldest message older ones are asked for")
    func older() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.past("chat.lobby", .history([message(7, "seven")], isComplete: false)))
        desk.press(.backTab, .up)
        #expect(selected(desk) == "seven")
        #expect(
            desk.press(.up) == [.topics(.loadHistory(topic: "chat.lobby", before: 7, limit: ChatModel.historyPage))])
    }

    @Test("/quote and /details are for the message that was selected when they were begun, not for the newest")
    func commandsBeginAtTheSelection() {
        var desk = Self.desk()
        desk.press(.up, .up, .up)
        // What is written with it stands below the quotation, and goes when the person says so.
        #expect(desk.enter("/quote I agree") == [])
        #expect(desk.text == "> bob: line 38.\nI agree" && desk.focus == .compose)
        #expect(desk.enter("!").lines == ["chat.lobby: > bob: line 38.\nI agree!"])

        desk = Self.desk()
        for _ in 0..<5 { desk.press(.up) }
        desk.enter("/details")
        #expect(desk.screen().contains { $0.contains("sequence") && $0.contains("36") })
        desk.press(.escape)
        // Without a selection it is the newest one.
        desk.enter("/quote")
        #expect(desk.text == "> bob: line 40.\n")
    }

    @Test("An answer that is too long with its quotation, or for a message that is not there, stays in the box")
    func answerStays() {
        var desk = Self.desk()
        desk.press(.backTab)
        let text = String(repeating: "x", count: Compose.messageBytes - 5)
        for command in ["/quote \(text)", "/quote 41 I agree", "/quote 41"] {
            desk.model.screen.focus = .compose
            desk.model.compose.set(command)
            #expect(desk.press(.enter).lines.isEmpty)
            #expect(desk.text == command && desk.model.notices.shown?.kind == .failure)
        }
        desk.model.compose.set("/quote 40 I agree")
        #expect(desk.press(.enter, .enter).lines == ["chat.lobby: > bob: line 1.\nI agree"])
    }

    @Test("y copies the message without characters that hide, and keeps it for ^Y; what is too long is kept alone")
    func copy() {
        func copied(_ text: String) -> (desk: Desk, effects: ChatEffects) {
            var desk = Desk.joined("chat.lobby")
            desk.receive([message(1, text)])
            desk.press(.backTab, .up)
            let effects = desk.press(.plain("y"))
            return (desk, effects)
        }
        var (desk, effects) = copied("one\u{1B}[2J\ntwo")
        #expect(effects == .screen(.copy("one[2J\ntwo")))
        desk.press(.escape, .control("y"))
        #expect(desk.text == "one[2J\ntwo")
        (desk, effects) = copied(String(repeating: "long ", count: 20_000))
        #expect(effects.isEmpty)
        #expect(desk.notice == "It is too long for the terminal's clipboard; ^Y puts it into the text.")
    }

    @Test("q quotes the message before what is written, with its author, and the text has the keys")
    func quote() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(1, "shall we\nship it?")])
        desk.type("yes")
        desk.press(.backTab, .up, .plain("q"))
        #expect(desk.text == "> bob: shall we\n> ship it?\nyes" && desk.focus == .compose)
        desk.type("!")
        #expect(desk.text.hasSuffix("yes!"))
    }

    @Test("What is read by a pattern is not quoted there: the topic that takes an answer is named")
    func quoteInPattern() {
        var desk = Desk.joined("alerts.>")
        desk.receive([message(1, "disk full", topic: "alerts.n1.disk")], in: "alerts.>")
        desk.press(.backTab, .up, .plain("q"))
        #expect(desk.text.isEmpty && desk.model.selectedRow?.text == "disk full")
        let words = "/join alerts.n1.disk to answer; alerts.> is only for reading."
        #expect(desk.notice == words)
        desk.press(.escape)
        desk.enter("/quote")
        #expect(desk.text.isEmpty && desk.notice == words)
    }

    @Test("Of a long message three lines are quoted, and it says that it is cut")
    func quoteLong() {
        var desk = Desk.joined("chat.lobby")
        let lines = (1...50).map { "row \($0)." }.joined(separator: "\n")
        desk.receive([message(1, lines)])
        desk.press(.backTab, .up, .plain("q"))
        #expect(desk.text == "> bob: row 1.\n> row 2.\n> row 3. …\n")
        #expect(desk.notice == "The quotation is cut: it has the first 3 lines of 50.")
        var short = Desk.joined("chat.lobby")
        short.receive([message(1, "one\ntwo\nthree"), message(2, String(repeating: "x", count: 1_200))])
        short.enter("/quote 2")
        #expect(short.model.notices.shown == nil)
        short.press(.control("c"))
        short.enter("/quote 1")
        #expect(short.notice == "The quotation is cut: it has its beginning.")
    }

    @Test(
        "The quotation of an answer has what the answer says; where it only quotes, that",
        arguments: [
            ("> bob: one\n> two\n> three\nindeed", "> eve: indeed"),
            ("> bob: one\n\nfirst\n\nlast\n", "> eve: first\n> \n> last"),
            ("> bob: one\nyes\n> two\nno", "> eve: yes\n> no"),
            ("> bob: one", "> eve: > bob: one"), ("a > b", "> eve: a > b"),
        ])
    func quoteAnswer(_ text: String, _ quotation: String) {
        #expect(ChatModel.quotation(of: text, by: "eve") == quotation)
    }

    @Test("In a quotation a line ends where it does on the screen: vertical tab, form feed and next line are blanks")
    func quoteBlanks() {
        var desk = Desk.joined("chat.lobby")
        let text = "one\u{B}two\u{C}three\u{85}four\u{2028}five"
        desk.receive([message(1, text)])
        #expect(desk.shows("one two three four"))
        desk.enter("/quote 1")
        #expect(desk.text == "> bob: one two three four\n> five\n" && desk.model.notices.shown == nil)
        #expect(ChatModel.lineCount(text) == 2)
    }

    @Test("i tells what is known of a message: its id, its place, its time, and that a name proves nothing")
    func details() {
        var desk = Self.desk()
        desk.press(.up, .plain("i"))
        let screen = desk.screen()
        for words in ["About this message", "bob", "m40", "40", "21 November 2025, 10:00:00", "does not prove it"] {
            #expect(screen.contains { $0.contains(words) }, "\(words)")
        }
        desk.press(.escape)
        #expect(desk.overlay == nil && selected(desk) == "line 40.")
    }

    @Test("Where nothing is selected, the letters of these keys begin a text")
    func letters() {
        for letter in ["y", "q", "i", "n", "N"] as [Character] {
            var desk = Self.desk()
            desk.press(.plain(letter))
            #expect(desk.text == String(letter) && desk.focus == .compose)
        }
    }

    /// Forty messages in another topic, of which one calls the person, and Alt-a pressed.
    private static func calledDesk() -> Desk {
        var desk = Desk.joined("chat.a", "chat.lobby")
        let messages = (1...40).map { message(UInt64($0), $0 == 20 ? "@alice look" : "line \($0).") }
        desk.receive(messages)
        desk.press(.alt("a"), .backTab)
        return desk
    }

    @Test("Behind Alt-a, Up and Down begin at the message that it has led to, wherever that stands in view")
    func beginsWhereTheJumpLed() {
        for (key, next) in [(Key.up, "line 19."), (.down, "line 21.")] {
            var desk = Self.calledDesk()
            #expect(selected(desk) == nil)
            desk.press(key)
            #expect(selected(desk) == "@alice look")
            desk.press(key)
            #expect(selected(desk) == next)
        }
    }

    @Test("A jump counts no more once the person was elsewhere: at the end, at a click, behind a line of theirs")
    func jumpIsOver() throws {
        for leave in [Key(.end), Key(.home)] {
            var desk = Self.calledDesk()
            desk.press(leave)
            #expect(desk.model.screen.marks.landing == nil)
        }
        var desk = Self.calledDesk()
        let row = try #require(desk.screen().firstIndex { $0.hasSuffix("line 22.") })
        desk.send(.input(.mouse(MouseEvent(kind: .press, button: .left, row: row, column: 40))))
        desk.press(.up)
        #expect(selected(desk) == "line 21.")

        desk = Self.calledDesk()
        desk.press(.tab)
        desk.enter("here I am")
        desk.press(.backTab, .up)
        #expect(selected(desk) == "here I am")

        // Where it is out of view, the keys begin in what is.
        desk = Self.calledDesk()
        for _ in 0..<2 { desk.press(.pageDown) }
        desk.press(.up)
        #expect(selected(desk) == "line 40.")
    }

    @Test("A message that is dropped from the screen is selected no more")
    func gone() {
        var desk = Self.desk()
        desk.press(.up)
        desk.send(.topic("chat.lobby", .restarted))
        #expect(selected(desk) == nil)
        desk.press(.plain("y"))
        #expect(desk.text == "y")
    }
}

@Suite("Finding in view")
struct FindTests {
    private static func desk() -> Desk {
        var desk = Desk.joined("chat.lobby")
        let texts = ["The Café opens", "nothing", "a cafeteria", "lunch"]
        desk.receive(texts.enumerated().map { message(UInt64($0.offset + 1), $0.element) })
        return desk
    }

    @Test("/find goes to the newest message that has the letters, n to the one above and N back")
    func find() {
        var desk = Self.desk()
        desk.enter("/find CAFE")
        #expect(desk.model.selectedRow?.text == "a cafeteria")
        desk.press(.plain("n"))
        #expect(desk.model.selectedRow?.text == "The Café opens")
        desk.press(.plain("n"))
        #expect(desk.notice == "No message above has CAFE; Home loads older ones.")
        #expect(desk.model.selectedRow?.text == "The Café opens")
        desk.press(.plain("N"))
        #expect(desk.model.selectedRow?.text == "a cafeteria")
    }

    @Test("/find alone goes on where /find was begun, though it is typed elsewhere")
    func findOn() {
        var desk = Self.desk()
        desk.enter("/find cafe")
        desk.enter("/find")
        #expect(desk.model.selectedRow?.text == "The Café opens" && desk.focus == .main)
        desk.press(.plain("N"))
        #expect(desk.model.selectedRow?.text == "a cafeteria")
        // Once the person is back at the text nothing is looked for any more.
        desk.press(.escape)
        desk.enter("/find")
        #expect(desk.notice == "Nothing is looked for here. /find LETTERS begins.")
    }

    @Test("What the palette does to the message behind a begun text brings no search back; what goes on with it does")
    func fromThePalette() {
        for (typed, text) in [
            ("copy the selected message", "fine"), ("quote it in the text", "> bob: a cafeteria\nfine"),
        ] {
            var desk = Self.desk()
            desk.enter("/find cafe")
            desk.type("fine")
            desk.choose(typed)
            #expect(desk.model.screen.marks.find == nil && desk.text == text, "\(typed)")
            desk.choose("the message above that has it")
            #expect(desk.model.selectedRow?.text == "The Café opens", "\(typed)")
            desk.press(.plain("N"))
            #expect(desk.model.selectedRow?.text == "a cafeteria", "\(typed)")
        }
    }

    @Test("The letters stand out wherever they are in view, and no more once the person is back at the text")
    func marks() {
        func underlined(_ desk: Desk) -> String {
            let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
            var text = ""
            for row in 1..<frame.size.rows - 4 {
                for column in 0..<frame.size.columns
                where frame[row, column].style.attributes.contains(.underline) {
                    let line = frame.text(row: row)
                    text.append(line[line.index(line.startIndex, offsetBy: column)])
                }
            }
            return text
        }
        var desk = Self.desk()
        desk.enter("/find cafe")
        #expect(underlined(desk) == "Cafécafe")
        desk.press(.escape)
        #expect(underlined(desk) == "" && desk.model.screen.marks.find == nil)
    }

    @Test("Letters are found over case and marks, within words, and in any script")
    func letters() {
        for (words, text, columns) in [
            ("ell", "Hello hell", [1..<4, 7..<10]), ("é", "Cafe\u{301}", [3..<4]), ("東", "京東x", [2..<4]),
            ("aa", "aaa", [0..<2]), ("x", "abc", []), ("", "abc", []),
        ] as [(String, String, [Range<Int>])] {
            #expect(TextFind(words).columns(of: SafeText(text)) == columns, "\(words) in \(text)")
        }
    }
}

@Suite("What went wrong")
struct ErrorListTests {
    @Test("/errors lists what went wrong, the newest first, with the connection's own failures")
    func errors() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/errors")
        #expect(desk.notice == "Nothing has gone wrong since Parley was opened.")
        desk.wait(.seconds(30))
        desk.send(.notice("The first thing failed.", isFailure: true))
        desk.wait(.seconds(60))
        desk.becomes(.reconnecting, .unreachable("the server went"), attempt: 1)
        desk.wait(.seconds(60))
        desk.send(.notice("The last thing failed.", isFailure: true))
        desk.enter("/errors")
        let screen = desk.screen()
        let places = ["The last thing failed.", "reconnecting", "The first thing failed."].compactMap { words in
            screen.firstIndex { $0.lowercased().contains(words.lowercased()) && $0.contains("│ 10:") }
        }
        #expect(places.count == 3 && places == places.sorted(), "\(screen)")
        desk.press(.escape)
        #expect(desk.overlay == nil)
    }

    @Test("What the person mistyped is in /errors, in the order of its time, and not in the connection's log")
    func mistakes() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/jion x")
        desk.press(.control("c"))
        desk.wait(.seconds(60))
        desk.send(.notice("The network failed.", isFailure: true))
        desk.wait(.seconds(60))
        desk.enter("/delete")
        #expect(
            !desk.model.network.log.entries.contains {
                if case .failure(let words) = $0.event { words != "The network failed." } else { false }
            })
        desk.enter("/errors")
        let screen = desk.screen()
        let places = ["F3 opens", "The network failed.", "There is no command /jion."].compactMap { words in
            screen.firstIndex { $0.contains(words) }
        }
        #expect(places.count >= 2 && places == places.sorted(), "\(screen)")
        #expect(screen.contains { $0.contains("There is no command /jion.") })
    }

    @Test("The list of mistakes is bounded, and the same one twice in a moment is one")
    func boundedMistakes() {
        var list = NoteList()
        for number in 0..<1_000 {
            for _ in 0..<2 { list.record("\(number)", at: Timestamp(milliseconds: Int64(number) * 5_000)) }
        }
        #expect(list.entries.count == NoteList.limit && list.entries.last?.words == "999")
        let others = [NoteList.Entry(at: Timestamp(milliseconds: 4_996_000), words: "between")]
        #expect(list.merged(with: others).last?.words == "between")
    }
}
