import Foundation
import Terminal
import Testing

@testable import Parley

@Suite("Keys of the configuration")
struct KeyMapTests {
    private func file(_ keys: String) throws(CommandFailure) -> ConfigurationFile {
        try ConfigurationSource(Data("{ keys: { \(keys) } }".utf8), path: "c.json").file
    }

    /// A desk whose keys are those of a configuration.
    private func desk(_ keys: String, _ topics: String...) throws -> Desk {
        var desk = Desk()
        desk.send(.start(topics: topics))
        for topic in topics { desk.send(.topic(topic, .live)) }
        desk.model.configure(ChatSettings(try file(keys), Profile()))
        desk.effects = []
        return desk
    }

    // MARK: Dispatch

    @Test("A key means something where the tables have it, or a chord begins with it, and nothing anywhere else")
    func meanings() throws {
        let changes = [
            KeyMap.Change(name: "quit", sequences: [try KeySequence(parsing: "^X ^C")]),
            KeyMap.Change(name: "kill-word", sequences: [try KeySequence(parsing: "^X w")]),
            KeyMap.Change(name: "postbox.delete", sequences: [try KeySequence(parsing: "^X d")]),
            KeyMap.Change(name: "yank", sequences: []),
        ]
        for map in [KeyMap.standard, try KeyMap(changes)] {
            let tables = KeyMap.standard.tables + map.tables
            var keys = Set(tables.flatMap { $0.entries.flatMap { $0.sequences.flatMap(\.keys) } })
            for character in "abcxyz/+ é漢" { keys.insert(Key(.character(character))) }
            let editing = map[EditingKey.self].entries
            func expectMeanings<P: Pane>(in pane: P.Type) {
                let entries = map[P.Action.self].entries + map[EverywhereKey.self].entries + editing
                for key in keys {
                    let isKnown = entries.contains { $0.sequences.contains { $0.keys.first == key } }
                    let meaning = map.meaning(of: [key], in: pane) { _ in true }
                    #expect((meaning == .nothing) == !isKnown, "\(key.label) in \(pane.title)")
                }
            }
            for pane in Panes.all { expectMeanings(in: pane) }
            for table in map.tables {
                let hinted = table.entries.filter { $0.binding.hint != nil && !$0.sequences.isEmpty }
                #expect(table.hints.map { table.entries[$0.place] } == hinted)
                #expect(table.hints.map(\.key.description) == hinted.compactMap { $0.sequences.first?.label })
            }
            for key in keys {
                let isOwn = EditingKey.allCases.contains { $0.binding.keys.contains(key) }
                let isGiven = editing.contains { $0.sequences.contains { $0.keys == [key] } }
                #expect((map.editorKey(for: key) == nil) == (isOwn && !isGiven), "\(key.label)")
            }
        }
    }

    // MARK: Names of keys

    @Test("Every key of the tables is read as it is shown")
    func labels() throws {
        for table in KeyMap.standard.tables {
            for sequence in table.entries.flatMap(\.sequences) {
                #expect(try KeySequence(parsing: sequence.label) == sequence, "\(table.name): \(sequence.label)")
            }
        }
    }

    @Test(
        "Keys have the names that are usual, whatever their case",
        arguments: [
            ("Alt-n", [.alt("n")]), ("M-N", [.alt("N")]), ("^X", [.control("x")]), ("ctrl-x", [.control("x")]),
            ("C-x", [.control("x")]), ("^X s", [.control("x"), .plain("s")]), ("g g", [.plain("g"), .plain("g")]),
            ("^X ^C", [.control("x"), .control("c")]), ("Ctrl-Space", [.control(" ")]), ("^Space", [.control(" ")]),
            ("Space", [.plain(" ")]), ("shift-tab", [Key(.backTab)]), ("^I", [Key(.tab)]), ("^M", [Key(.enter)]),
            ("Alt-Enter", [Key(.enter, .alt)]), ("Shift-F5", [Key(.function(5), .shift)]),
            ("F12", [Key(.function(12))]),
            ("PageUp", [Key(.pageUp)]), ("pgdn", [Key(.pageDown)]), ("DEL", [Key(.delete)]), ("-", [.plain("-")]),
            ("^", [.plain("^")]), ("^^", [.control("^")]), ("Alt--", [.alt("-")]), ("Shift-a", [.plain("A")]),
            ("é", [.plain("é")]), ("Ctrl-Shift-End", [Key(.end, [.control, .shift])]),
            ("Alt-^X", [Key(.character("x"), [.alt, .control])]),
        ] as [(String, [Key])])
    func names(_ text: String, _ keys: [Key]) throws {
        #expect(try KeySequence(parsing: text).keys == keys)
    }

    @Test(
        "What is no key is refused",
        arguments: ["", " ", "Hyper-x", "F0", "F36", "F01", "ab", "Ctrl-1", "Shift-5", "^é", "Esc x", "a b c d e"])
    func noKeys(_ text: String) {
        #expect(throws: KeySequence.Mistake.self) { try KeySequence(parsing: text) }
    }

    // MARK: Mistakes

    @Test(
        "A mistake is named with line and column: where the name is, or where the key is",
        arguments: [
            ("'next-unred': 'Alt-n'", 0, "keys: “next-unred” is no action; parley config defaults lists them"),
            ("'postbox.help': 'F5'", 0, "keys: “postbox.help” is no action"),
            ("help: 'Hyper-x'", 6, "keys.help: “Hyper-x” is no key"),
            ("help: ['F1', 7]", 13, "keys.help.1 is not a text"),
            ("help: 7", 6, "keys.help: it takes a key, a list of keys, or none"),
            ("help: ['F5', 'F5']", 13, "keys.help.1: it is in the list already"),
            ("'next-unread': '^N'", 15, "keys.next-unread: ^N is “next-topic” already (everywhere)"),
            (
                "'next-unread': 'Alt-z', 'next-topic': ['Alt-v', 'Alt-z']", 38,
                "keys.next-topic: Alt-z is “next-unread” already"
            ),
            (
                "help: '^X', quit: '^X ^C'", 18,
                "keys.quit: ^X ^C and ^X begin alike, and that is “help” already (everywhere)"
            ),
            ("'postbox.reply': 'Del'", 17, "keys.postbox.reply: Del is “delete” already (postbox)"),
            ("up: 'Home'", 4, "keys.up: Home is “to-beginning” already (topics)"),
            ("'next-unread': 'n'", 15, "keys.next-unread: n by itself is a letter of the text (everywhere)"),
            ("'compose.send': 'Space'", 16, "keys.compose.send: Space by itself is a letter of the text (compose)"),
            ("'kill-word': 'w'", 13, "keys.kill-word: w by itself is a letter of the text (editing)"),
            ("'kill-word': '^W'", 13, "keys.kill-word: ^W is “unix-word-rubout” already (editing)"),
            ("'kill-word': 'Alt-a'", 13, "keys.kill-word: Alt-a is “next-unread” already (everywhere)"),
            ("'editing.yank': 'Enter'", 16, "keys.editing.yank: Enter is “send” already (compose)"),
            ("'next-unread': 'Alt-d'", 15, "keys.next-unread: Alt-d is “kill-word” already (editing)"),
            ("'compose.edit': '^W'", 16, "keys.compose.edit: ^W is “unix-word-rubout” already (editing)"),
            (
                "quit: '^X', yank: '^X y'", 18,
                "keys.yank: ^X y and ^X begin alike, and that is “quit” already (everywhere)"
            ),
        ])
    func mistakes(_ keys: String, _ offset: Int, _ words: String) throws {
        let failure = #expect(throws: CommandFailure.self) { try file(keys) }
        let said = try #require(failure?.text)
        #expect(failure?.code == 78 && said.hasPrefix("c.json:1:\(offset + 11): \(words)"), "\(said)")
    }

    @Test("The same key may stand for two things in two panes, and two actions may change places")
    func noConflict() throws {
        _ = try file("'postbox.reply': 'a', 'search.open': 'a', 'postbox.delete': ['x', 'Alt-a']")
        let map = try #require(try file("'next-topic': '^P', 'previous-topic': '^N'").keys?.map)
        #expect(map.action(of: .control("p")) == .nextTopic && map.action(of: .control("n")) == .previousTopic)
        // ^K cuts within a text and opens the palette at its end, as it does without a configuration.
        _ = try file("'kill-line': ['^K', 'Alt-k'], 'kill-word': '^W', 'unix-word-rubout': 'Alt-w'")
        // A key that the text has given up is free, and what the tables share by themselves stays.
        _ = try file("'next-unread': 'Alt-d', 'kill-word': 'Alt-w'")
        _ = try file("commands: ['^K', 'F7']")
    }

    // MARK: In the chat

    @Test("A key does what the configuration says, its old meaning is gone, and help and hints say so")
    func changed() throws {
        var desk = try desk("'next-topic': 'Alt-j', 'open-postbox': ['F7', '^O'], quit: 'none'", "a", "b")
        desk.press(.control("n"))
        #expect(desk.view == .conversation("a"))
        desk.press(.alt("j"))
        #expect(desk.view == .conversation("b"))
        #expect(desk.press(.control("q")) == [])
        #expect(desk.bottom.contains("F7 postbox") && !desk.bottom.contains("quit"))
        desk.press(.control("o"))
        #expect(desk.view == .inbox(nil))
        let help = HelpText.lines(desk.model.settings.keys)
        #expect(help.contains(.entry("F7 ^O", "open the postbox")) && help.contains(.entry("–", "quit")))
        #expect(help.contains(.entry("Alt-j", "next topic")))
    }

    @Test("A key that edits the text is another one where the configuration says so; its old one is no key any more")
    func editing() throws {
        var desk = try desk(
            "'kill-word': ['Alt-w', '^X w'], 'backward-delete-char': '^B', 'backward-char': 'none', yank: '^O', "
                + "'undo-edit': 'Alt-z'", "a")
        desk.type("one two")
        desk.press(.control("a"), .alt("d"))
        #expect(desk.text == "one two")
        desk.press(.alt("w"))
        #expect(desk.text == " two")
        desk.press(.control("x"))
        #expect(desk.bottom.hasPrefix(" ^X  w cut a word to the right  Esc cancel"))
        desk.press(.plain("w"))
        #expect(desk.text.isEmpty)
        desk.press(.control("y"))
        #expect(desk.text.isEmpty)
        desk.press(.control("o"))
        #expect(desk.text == "one two")
        desk.press(.control("b"), .left, .backspace)
        desk.type("!")
        #expect(desk.text == "one tw!")
        desk.press(.control("c"))
        #expect(desk.notice == "Cleared; Alt-z brings the text back.")
        desk.press(.alt("z"))
        #expect(desk.text == "one tw!")
        let help = HelpText.lines(desk.model.settings.keys)
        #expect(help.contains(.entry("Alt-w ^X w", "cut a word to the right")))
        #expect(help.contains(.entry("–", "a character to the left")))
    }

    @Test("In the palette, a filter and under the open log the keys that edit a text are the configuration's too")
    func editingElsewhere() throws {
        let keys = "'backward-delete-char': '^B', 'backward-char': 'Backspace', 'kill-line': '^O'"
        var desk = try desk(keys, "a")
        desk.press(.alt("x"))
        desk.type("abc")
        desk.press(.control("b"))
        #expect(desk.model.palette?.editor.text == "ab")
        desk.press(.backspace, .control("o"))
        #expect(desk.model.palette?.editor.text == "a")
        // What is no key of a text any more does what it does everywhere.
        desk.press(.control("a"), .control("k"))
        #expect(desk.model.palette == nil)
        desk.press(.function(8))
        desk.type("abc")
        desk.press(.control("b"))
        #expect(desk.text == "ab" && desk.model.logScroll != nil)

        var letters = Desk.inbox([letter(1), letter(2)])
        letters.model.configure(ChatSettings(try file(keys), Profile()))
        letters.press(.alt("l"))
        letters.type("is:x")
        letters.press(.control("b"))
        #expect(letters.inbox.filter?.editor.text == "is:")
    }

    @Test("A key of one pane changes there alone, and sentences that name it follow")
    func onePane() throws {
        var desk = Desk.inbox([letter(1), letter(2)])
        desk.model.configure(ChatSettings(try file("'postbox.mark': 'm', 'postbox.reply': 'a'"), Profile()))
        desk.press(.plain("m"), .plain(" "))
        #expect(desk.inbox.marked == ["l1"])
        #expect(InboxPane(box: nil).addressee(in: desk.model).hint.contains("a to reply"))
        desk.model.configure(ChatSettings(try file("'postbox.reply': 'none'"), Profile()))
        #expect(
            InboxPane(box: nil).addressee(in: desk.model)
                == .nobody(
                    "This is the postbox: /post USER/POSTBOX TEXT writes a letter.", hint: "/post USER/POSTBOX TEXT"))
    }

    @Test("After a chord's first key the bottom line says what may follow; then it is done, or nothing is")
    func chords() throws {
        var desk = try desk("'next-unread': ['Alt-a', '^X n'], quit: '^X ^C'", "a")
        desk.press(.control("x"))
        #expect(desk.bottom.hasPrefix(" ^X  n next unread  ^C quit  Esc cancel"))
        desk.press(.plain("n"))
        #expect(desk.notice == "Nothing is unread." && desk.text.isEmpty)

        desk.press(.control("x"), .plain("z"))
        #expect(desk.notice == "^X z is no key of this pane." && desk.text.isEmpty)
        desk.press(.control("x"), .escape)
        #expect(desk.model.screen.chord.isEmpty)
        desk.type("n")
        #expect(desk.text == "n")

        // What was begun is over when the hand goes elsewhere.
        desk.press(.control("x"))
        desk.paste("pasted")
        desk.type("n")
        #expect(desk.text == "npastedn")
        desk.press(.control("x"))
        #expect(desk.press(.control("c")) == .screen(.quit))
    }

    @Test("On the smallest screen the chord's keys are shown, and nothing breaks")
    func tinyChord() throws {
        var desk = try desk("'next-unread': '^X n'", "a")
        desk.press(.control("x"))
        #expect(desk.screen(Size(rows: 5, columns: 20)).contains { $0.contains("^X") })
        for rows in 1...8 { for columns in [1, 2, 19, 20, 21] { _ = desk.screen(Size(rows: rows, columns: columns)) } }
    }

    @Test("A chord quits at the second time as one key does, and help is closed whatever its key is")
    func interruptAndHelp() throws {
        var desk = try desk("interrupt: '^X ^C', escape: '^^'", "a")
        for key in ["x", "c"] as [Character] { desk.press(.control(key)) }
        #expect(desk.notice == "^X ^C again quits.")
        desk.press(.control("x"))
        #expect(desk.press(.control("c")) == .screen(.quit))
        desk.press(.function(1))
        #expect(desk.overlay == .help(scroll: 0))
        desk.press(.escape)
        #expect(desk.overlay == nil)
    }

    @Test("Sentences name the keys as they are")
    func sentences() throws {
        var desk = try desk("help: 'F6', 'open-postbox': 'none', 'page-down': 'Alt-v'")
        desk.model.screen.view = .welcome
        let welcome = desk.screen(Size(rows: 24, columns: 80))
        #expect(
            welcome.contains { $0.contains("F6  shows all keys") } && !welcome.contains { $0.contains("your postbox") })
        desk.enter("/delete")
        #expect(desk.notice == "Open the postbox first.")
        desk.press(.function(6))
        #expect(desk.shows(" Alt-v more  Esc closes "))
    }

    @Test("With another key for every action no screen names a key as it was")
    func noOldNames() throws {
        let fresh = (13...35).map { "F\($0)" } + (1...35).map { "Ctrl-F\($0)" }
        // A key of the text is none of everywhere, nor of the compose pane.
        let ofText = (1...60).map { "Alt-\($0 < 36 ? "" : "Ctrl-")F\($0 < 36 ? $0 : $0 - 35)" }
        var changes: [KeyMap.Change] = []
        for table in KeyMap.standard.tables {
            for (entry, key) in zip(table.entries, table.name == "editing" ? ofText : fresh) {
                changes.append(
                    KeyMap.Change(name: "\(table.name).\(entry.name)", sequences: [try KeySequence(parsing: key)]))
            }
        }
        var settings = ChatSettings()
        settings.keys = try KeyMap(changes)
        let old = Set(KeyMap.standard.tables.flatMap { $0.entries.flatMap(\.sequences).map(\.label) })
        for desk in scenesThatNameKeys() {
            let before = desk.screen()
            desk.model.configure(settings)
            if desk.model.size.columns < ScreenLayout.sidebarFrom { _ = desk.model.perform(.foldTopics) }
            for row in desk.screen() {
                let words = row.split { !$0.isLetter && !$0.isNumber && !"^-/".contains($0) }.map(String.init)
                #expect(old.isDisjoint(with: words), "\(row)\n\(before.joined(separator: "\n"))")
            }
        }
    }

    /// Screens with sentences that name keys, and the text of each such sentence somewhere.
    private func scenesThatNameKeys() -> [Desk] {
        let size = Size(rows: 24, columns: 80)
        var failed = Scene.outage(Size(rows: 24, columns: 160))
        failed.press(.backTab)
        for _ in 0..<4 where !failed.screen().contains(where: { $0.contains("r sends it again") }) {
            failed.press(.up)
        }
        #expect(failed.shows("r sends it again"))
        var older = Desk(size: size)
        older.send(.start(topics: ["chat.lobby"]))
        older.send(.topic("chat.lobby", .live))
        older.send(.past("chat.lobby", .history([message(1, "old")], isComplete: false)))
        #expect(older.shows("older messages: PgUp or /history"))
        let tours = Tour.Step.allCases.indices.map { step in
            let tour = Desk.opened(KeptDesk(), named: ["chat.lobby"], size: size, state: .connected)
            for _ in 0..<step { _ = tour.model.screen.tour?.advance(.standard) }
            #expect(tour.shows("Esc: skip the tour"))
            return tour
        }
        var list = Desk(size: size)
        list.send(.start(topics: ["chat.lobby"]))
        for number in 0..<60 { list.send(.notice("mistake \(number)", isFailure: true)) }
        list.enter("/errors")
        #expect(list.shows("PgDn more  Esc closes"))
        func cutMessage() -> Desk {
            var desk = Desk.joined("chat.lobby", size: size)
            let text = (1...300).map { "line \($0)" }.joined(separator: "\n")
            desk.receive([message(1, text)])
            return desk
        }
        let cut = cutMessage()
        var reader = cutMessage()
        reader.press(.function(4))
        let narrow = Desk.joined("chat.lobby", size: Size(rows: 24, columns: 50))
        return tours + [
            Scene.chat(size), failed, older, list, cut, reader, narrow, Scene.inbox(size), Scene.places(size),
            Scene.log(size), Desk(size: size),
        ]
    }

    @Test("A message that is cut names the key that shows the rest, and without one the command")
    func restOfMessage() throws {
        let text = (1...300).map { "line \($0)" }.joined(separator: "\n")
        for (keys, words) in [("'read-whole': 'F6'", "… F6 reads"), ("'read-whole': 'none'", "… /read reads")] {
            var desk = try desk(keys, "chat.lobby")
            desk.receive([message(1, text)])
            #expect(desk.shows(words), "\(words)")
        }
    }
}
