import Testing

@testable import Terminal

@Suite("The line editor")
struct LineEditorTests {
    /// An editor with `text` in it; `|` marks the cursor.
    private func editor(_ text: String, history: [String] = []) -> LineEditor {
        var editor = LineEditor()
        editor.history = history
        editor.insert(text.replacing("|", with: ""))
        let before = text.prefix { $0 != "|" }
        editor.moveCursor(to: before.count)
        return editor
    }

    private func shown(_ editor: LineEditor) -> String {
        var text = Array(editor.text)
        text.insert("|", at: editor.cursor)
        return String(text)
    }

    @Test(
        "Each key does what emacs hands expect",
        arguments: [
            ("hello wor|ld", [Key.control("a")], "|hello world"), ("|hello", [.control("e")], "hello|"),
            ("ab|c", [.control("b")], "a|bc"), ("ab|c", [.control("f")], "abc|"), ("|a", [.control("b")], "|a"),
            ("ab|cd", [.control("k")], "ab|"), ("ab|cd", [.control("u")], "|cd"), ("ab|cd", [.control("d")], "ab|d"),
            ("ab|cd", [.control("h")], "a|cd"), ("ab|cd", [Key(.backspace)], "a|cd"), ("ab|cd", [Key(.delete)], "ab|d"),
            ("one two-three|", [.control("w")], "one |"), ("one two-three|", [Key(.backspace, .alt)], "one two-|"),
            ("one |two three", [.alt("d")], "one | three"), ("one two|", [.alt("b")], "one |two"),
            ("|one two", [.alt("f")], "one| two"), ("one two|", [Key(.left, .control)], "one |two"),
            ("|one two", [Key(.right, .alt)], "one| two"), ("ab|", [.control("t")], "ba|"),
            ("a|b", [.control("t")], "ba|"),
            ("ab|cd", [.control("k"), .control("a"), .control("y")], "cd|ab"),
            ("one two|", [.control("w"), .control("w"), .control("y")], "one two|"),
            ("one|", [.control("w"), .control("b"), .control("y"), .control("y")], "oneone|"),
            ("ab|", [Key(.character("c")), Key(.character("d")), .control("_")], "ab|"),
            ("one two|", [.control("u"), .control("_")], "one two|"),
            ("👨‍👩‍👧a|", [Key(.left), Key(.backspace)], "|a"), ("漢字|", [Key(.backspace)], "漢|"),
            ("a\nbc|\nd", [.control("a")], "a\n|bc\nd"), ("a\n|bc\nd", [.control("e")], "a\nbc|\nd"),
            ("a|\nb", [.control("k")], "a|b"), ("abc\nde|f", [Key(.up)], "ab|c\ndef"),
            ("ab|c\ndef", [Key(.down)], "abc\nde|f"),
            ("漢|\nabcd", [Key(.down)], "漢\nab|cd"), ("abcdef|\nx", [Key(.down)], "abcdef\nx|"),
            ("a\nb|", [Key(.home, .control)], "|a\nb"), ("|a\nb", [Key(.end, .control)], "a\nb|"),
        ] as [(String, [Key], String)])
    func keys(before: String, keys: [Key], after: String) {
        var editor = editor(before)
        for key in keys {
            let taken = editor.handle(key)
            #expect(taken)
        }
        #expect(shown(editor) == after)
    }

    @Test("Keys without a meaning are left to the caller")
    func leftToCaller() {
        var editor = LineEditor()
        for key in [
            Key(.enter), Key(.enter, .alt), .control("d"), Key(.function(1)), Key(.escape), Key(.pageUp), .alt("x"),
            Key(.tab),
        ] {
            let taken = editor.handle(key)
            #expect(!taken)
        }
        #expect(editor.isEmpty)
    }

    @Test("A combining character joins the one before it")
    func combining() {
        var editor = editor("e|")
        _ = editor.handle(Key(.character("\u{301}")))
        #expect(editor.count == 1)
        #expect(editor.text == "é")
        #expect(editor.cursor == 1)
        _ = editor.handle(.control("_"))
        #expect(shown(editor) == "e|")
    }

    @Test("Undo goes back change by change to the beginning")
    func undo() {
        var editor = LineEditor()
        for character in "one two" { _ = editor.handle(Key(.character(character))) }
        _ = editor.handle(.control("w"))
        editor.insert("pasted")
        _ = editor.handle(.control("a"))
        _ = editor.handle(.control("k"))
        var states: [String] = []
        for _ in 0..<5 {
            _ = editor.handle(.control("_"))
            states.append(editor.text)
        }
        #expect(states == ["one pasted", "one ", "one two", "one ", ""])
    }

    @Test("History goes back and forth and keeps what was being written")
    func history() {
        var editor = LineEditor()
        for text in ["first", "second", "second", "  "] {
            editor.insert(text)
            _ = editor.take()
        }
        #expect(editor.history == ["first", "second"])
        editor.insert("draft")
        var seen: [String] = []
        for key in [Key(.up), Key(.up), Key(.up), Key(.down), Key(.down), Key(.down)] {
            _ = editor.handle(key)
            seen.append(editor.text)
        }
        #expect(seen == ["second", "first", "first", "second", "draft", "draft"])
        let text = editor.take()
        #expect(text == "draft")
        #expect(editor.isEmpty)
    }

    /// The texts that keys lead to, one after the other.
    private func walk(_ editor: inout LineEditor, _ keys: [Key]) -> [String] {
        keys.map { key in
            _ = editor.handle(key)
            return editor.text
        }
    }

    @Test("What is made of an entry while looking through the history is there on coming back, and so is the draft")
    func alteredEntries() {
        var editor = editor("draft|", history: ["first", "second"])
        let there = walk(&editor, [Key(.up), .plainly("!"), Key(.up), .plainly("?"), Key(.down), Key(.down)])
        #expect(there == ["second", "second!", "first", "first?", "second!", "draft"])
        let again = walk(&editor, [Key(.up), Key(.up), Key(.down)])
        #expect(again == ["second!", "first?", "second!"])
        let taken = editor.take()
        #expect(taken == "second!")
        // What was being written is not lost with it, and the entries are again what they were.
        #expect(editor.history == ["first", "second", "draft", "second!"])
    }

    @Test("A step in the history that is undone leads back to where it was made")
    func undoneStep() {
        var editor = editor("draft|", history: ["first", "second"])
        let there = walk(
            &editor, [Key(.up), Key(.up), .control("_"), .plainly("!"), Key(.down), Key(.up), .control("_")])
        #expect(there == ["second", "first", "second", "second!", "draft", "second!", "draft"])
        let back = walk(&editor, [.plainly("s"), Key(.up), Key(.up), Key(.down), Key(.down)])
        #expect(back == ["drafts", "second!", "first", "second!", "drafts"])
    }

    @Test("A text that is cleared can be had again, and so can the one before the look through the history")
    func discarded() {
        var editor = editor("draft|", history: ["first"])
        _ = editor.handle(Key(.up))
        editor.discard()
        #expect(editor.isEmpty && editor.history == ["first", "draft"])
        let texts = walk(&editor, [.control("_"), Key(.up), Key(.up)])
        #expect(texts == ["first", "draft", "first"])
    }

    @Test("A text that did not work is kept and stays, and Up goes on behind it")
    func remembered() {
        var editor = editor("/jion x|", history: ["first"])
        editor.remember()
        #expect(shown(editor) == "/jion x|" && editor.history == ["first", "/jion x"])
        let texts = walk(&editor, [Key(.up), Key(.down), Key(.down)])
        #expect(texts == ["first", "/jion x", "/jion x"])
    }

    @Test("The history is bounded in bytes, too")
    func historyBytes() {
        var editor = LineEditor(historyLimit: 500)
        for number in 0..<20 {
            editor.insert("\(number)" + String(repeating: "x", count: 100_000))
            _ = editor.take()
        }
        #expect(editor.history.count == 10)
        #expect(editor.history.last?.hasPrefix("19x") == true)
    }

    @Test("Text and history are bounded")
    func bounds() {
        var editor = LineEditor(limit: 10, historyLimit: 2)
        let cut = editor.insert(String(repeating: "x", count: 50))
        #expect(cut == 40)
        #expect(editor.count == 10 && editor.isFull)
        _ = editor.handle(Key(.character("y")))
        #expect(editor.text == "xxxxxxxxxx")
        for text in ["a", "b", "c"] {
            editor.text = text
            _ = editor.take()
        }
        #expect(editor.history == ["b", "c"])
    }

    @Test("One line scrolls with the cursor, which is always inside")
    func scrolling() {
        #expect(editor("abc|").rendered(width: 10).visible.description == "abc")
        #expect(editor("abc|").rendered(width: 10).cursorColumn == 3)
        let long = editor("abcdefghijklmnopqrstuvwxyz|").rendered(width: 10)
        #expect(long.cursorColumn < 10)
        #expect(long.visible.description.hasSuffix("z"))
        #expect(editor("a\nb|").rendered(width: 10).visible.description == "a↵b")
        for sample in hostileTexts(count: 200, seed: 6) + ["漢字漢字漢字漢字漢字", String(repeating: "ab漢", count: 40)] {
            var editor = LineEditor()
            editor.insert(sample)
            for width in [0, 1, 2, 3, 10] {
                for cursor in 0...editor.count {
                    editor.moveCursor(to: cursor)
                    let drawn = editor.rendered(width: width)
                    #expect(drawn.visible.width <= width)
                    #expect(drawn.cursorColumn <= max(0, width - 1) && drawn.cursorColumn >= 0)
                }
            }
        }
    }

    @Test("Several rows show the part around the cursor")
    func rows() {
        let two = editor("hello wo|rld").rendered(width: 6, rows: 5)
        #expect(two.visible.map(\.description) == ["hello ", "world"])
        #expect(two.cursor == Position(row: 1, column: 2))
        let full = editor("abcdef|").rendered(width: 6, rows: 5)
        #expect(full.visible.count == 2)
        #expect(full.cursor == Position(row: 1, column: 0))
        let last = editor("a\nb\nc\nd|").rendered(width: 6, rows: 2)
        #expect(last.visible.map(\.description) == ["c", "d"])
        #expect(last.cursor == Position(row: 1, column: 1))
        for sample in hostileTexts(count: 500, seed: 7) {
            var editor = LineEditor()
            editor.insert(sample)
            for cursor in 0...editor.count {
                editor.moveCursor(to: cursor)
                let drawn = editor.rendered(width: 5, rows: 3)
                #expect((1...3).contains(drawn.visible.count))
                #expect(drawn.visible.allSatisfy { $0.width <= 5 })
                #expect(drawn.cursor.row < drawn.visible.count && drawn.cursor.column < 5)
            }
        }
    }

    @Test("The bytes and the rows of the text are those that it has, whatever was done to it")
    func figures() {
        for sample in hostileTexts(count: 200, seed: 10) {
            var editor = editor("漢\n|é")
            editor.insert(sample)
            for key in [Key.control("w"), .control("_"), Key(.backspace), .control("u"), .control("_")] {
                _ = editor.handle(key)
                #expect(editor.utf8Count == editor.text.utf8.count)
                let drawn = editor.rendered(width: 7, rows: 2)
                let hidden = editor.hidden(width: 7, rows: 2)
                let rows = editor.rowCount(width: 7, limit: 1_000)
                #expect(hidden.above + drawn.visible.count + hidden.below == rows)
                #expect(editor.rowCount(width: 7, limit: 1) == 1)
            }
            editor.clear()
            #expect(editor.utf8Count == 0 && editor.rowCount(width: 7, limit: 5) == 1)
        }
    }

    @Test("However it is edited, the text stays in bounds and undo comes back to where it began")
    func chance() async {
        var generator = SeededGenerator(seed: 8)
        let keys: [Key] = [
            .control("a"), .control("e"), .control("k"), .control("u"), .control("w"), .control("y"), .control("t"),
            .control("d"), .control("h"), .alt("b"), .alt("f"), .alt("d"), Key(.left), Key(.right), Key(.up),
            Key(.down),
            Key(.character("x")), Key(.character("漢")), Key(.character("\u{301}")), Key(.character(" ")),
        ]
        for (index, text) in hostileTexts(count: 120, seed: 9).enumerated() {
            if index % 10 == 0 { await Task.yield() }
            var editor = LineEditor(limit: 60)
            for _ in 0..<30 {
                if let key = keys.randomElement(using: &generator) { _ = editor.handle(key) }
                if Int.random(in: 0..<10, using: &generator) == 0 { editor.insert(text) }
                #expect(editor.count <= 60)
                #expect((0...editor.count).contains(editor.cursor))
            }
            for _ in 0..<100 { _ = editor.handle(.control("_")) }
            #expect(editor.isEmpty)
        }
    }
}

extension Key {
    /// A character by itself.
    fileprivate static func plainly(_ character: Character) -> Key { Key(.character(character)) }
}
