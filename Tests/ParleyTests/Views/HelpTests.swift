import Terminal
import Testing

@testable import Parley

@Suite("Help")
struct HelpTests {
    @Test("Every key and every word of the help can be read at every size", arguments: [20, 30, 43, 44, 60, 80, 120])
    func whole(columns: Int) {
        for rows in [5, 24] {
            let help = HelpLayout(size: Size(rows: rows, columns: columns), keys: .standard)
            for row in help.rows {
                switch row {
                case .blank: break
                case .heading(let words): #expect(words.width <= help.inner.columns)
                case .entry(let keys, let words, let indent):
                    #expect(keys.width < (words.isEmpty ? help.inner.columns + 1 : indent))
                    #expect(indent + words.width <= help.inner.columns)
                }
            }
            let shown = Self.letters(help.rows.map(Self.text))
            #expect(shown.keys == Self.letters(HelpText.lines(.standard).map(Self.text)).keys)
            #expect(shown.words == Self.letters(HelpText.lines(.standard).map(Self.text)).words)
        }
    }

    @Test("The help scrolls to its last line and no further, by keys and by the wheel")
    func scrolling() {
        var desk = Desk.joined("chat.lobby", size: Size(rows: 8, columns: 30))
        desk.press(.function(1))
        for _ in 0..<200 { desk.press(.pageDown) }
        #expect(desk.shows("postboxes"))
        #expect(desk.bottom.contains(" Esc closes "))
        desk.press(.up)
        #expect(desk.bottom.contains(" PgDn more  Esc closes "))
        desk.send(.input(.mouse(MouseEvent(kind: .scrollDown, button: .none, row: 3, column: 5))))
        #expect(desk.bottom.contains(" Esc closes "))
        desk.press(.home)
        #expect(desk.screen()[1].contains("Everywhere"))
    }

    @Test("The help has each key that edits the text, and no other")
    func editing() {
        let keys = EditingKey.allCases.flatMap(\.binding.keys)
        let listed = Set(keys)
        #expect(listed.count == keys.count)
        let plain: [Key.Code] = [
            .left, .right, .up, .down, .home, .end, .backspace, .delete, .insert, .pageUp, .pageDown, .enter, .escape,
        ]
        let letters = "abcdefghijklmnopqrstuvwxyz_/<>.,]0123456789".map { Key.Code.character($0) }
        var candidates = plain.map { Key($0) }
        candidates += (plain + letters).flatMap { [Key($0, .control), Key($0, .alt)] }
        candidates.append(Key(.character("]"), [.control, .alt]))
        for key in candidates {
            var editor = LineEditor()
            editor.text = "some words\nand more"
            editor.moveCursor(to: 7)
            let isKept = editor.keeps(key) || editor.keepsForChanging(key)
            let isElsewhere =
                KeyMap.standard.action(of: key, in: ComposePane.self) != nil
                || KeyMap.standard.action(of: key) != nil && !isKept
            let isTaken = editor.handle(key)
            #expect(listed.contains(key) == (isTaken && !isElsewhere), "\(key.label)")
        }
        for entry in KeyMap.standard[EditingKey.self].entries {
            #expect(HelpText.lines(.standard).contains(.entry(entry.label, entry.binding.words)))
        }
    }

    @Test(
        "/help finds keys, commands and sections by any of their words, what is called so first",
        arguments: [
            ("search", "/search"), ("/kv", "/kv"), ("postbox", "/postbox"), ("^l", "^L"), ("unread", "unread"),
            ("editing", "Editing the text"), ("rehearsal", "F9"), ("filter", "Alt-l"), ("next page", "Alt-n"),
            ("recovered", "↺"),
        ])
    func subject(subject: String, first: String) {
        for size in [Size(rows: 24, columns: 80), Size(rows: 8, columns: 30)] {
            var desk = Desk.joined("chat.lobby", size: size)
            desk.enter("/help \(subject)")
            let rows = desk.screen()
            let top = rows.firstIndex { $0.contains(" Help: ") } ?? 0
            // At the very end of the help it is further down.
            let shown = rows[(top + 1)...].prefix { !$0.contains("closes") && !$0.contains(" Esc ") }
            #expect(shown.contains { $0.contains(first) }, "\(subject): \(rows)")
        }
    }

    @Test("/help of a word has every key and command that has it, below their headings, and nothing else")
    func everyMatch() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/help delete")
        guard case .listing(let listing)? = desk.overlay else {
            Issue.record("no help")
            return
        }
        let entries = listing.lines.compactMap { line -> String? in
            if case .entry(let keys, let words) = line { "\(keys) \(words)".lowercased() } else { nil }
        }
        #expect(entries.first?.hasPrefix("/delete ") == true && entries.allSatisfy { $0.contains("delete") })
        #expect(entries.contains { $0.hasPrefix("del alt-d ") } && entries.contains { $0.hasPrefix("/postbox ") })
        #expect(listing.lines.contains(.heading("Postbox")) && listing.lines.contains(.heading("Commands")))
        // A section is there as a whole.
        let lab = HelpText.about("lab", in: HelpText.lines(.standard))
        #expect(lab.count { if case .entry = $0 { true } else { false } } > LabPane.Action.allCases.count)
    }

    @Test("/help of words of which no entry has all shows those that have one")
    func someWords() {
        let shown = HelpText.about("delete undo", in: HelpText.lines(.standard)).map { Self.text($0).keys }
        #expect(["/delete ", "Alt-u"].allSatisfy { key in shown.contains { $0.hasPrefix(key) } }, "\(shown)")
    }

    @Test("/help of something that it does not know says so")
    func noSubject() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/help flying saucers")
        #expect(desk.overlay == nil)
        #expect(desk.notice == "No help found for “flying saucers”. /help alone shows all of it.")
    }

    private static func text(_ row: HelpLayout.Row) -> (keys: String, words: String) {
        switch row {
        case .blank: ("", "")
        case .heading(let words): ("", words.description)
        case .entry(let keys, let words, _): (keys.description, words.description)
        }
    }

    private static func text(_ line: HelpText.Line) -> (keys: String, words: String) {
        switch line {
        case .blank: ("", "")
        case .heading(let words): ("", words)
        case .entry(let keys, let words): (keys, words)
        }
    }

    /// All that can be read, without the blanks at which lines break.
    private static func letters(_ texts: [(keys: String, words: String)]) -> (keys: String, words: String) {
        (
            texts.map(\.keys).joined().filter { $0 != " " },
            texts.map(\.words).joined().filter { $0 != " " }
        )
    }
}
