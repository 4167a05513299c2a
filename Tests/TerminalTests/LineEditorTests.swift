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

    @Test("The beginning of the text is known, by characters as they are seen")
    func prefix() {
        #expect(editor("/join a|").hasPrefix("/") && !editor("/join a|").hasPrefix("//"))
        #expect(editor("|").hasPrefix("") && !editor("|").hasPrefix("/"))
        #expect(editor("/|").hasPrefix("/") && !editor("/|").hasPrefix("/j"))
        #expect(!editor("e\u{301}|").hasPrefix("e"))
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
            ("a\u{B}b\u{C}c\u{85}d|", [.control("a")], "|a\u{B}b\u{C}c\u{85}d"),
            ("|a\u{2028}b", [.control("e")], "a|\u{2028}b"),
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

    @Test(
        "What was cut comes back, newest first; a number says how often a key is meant; words are changed as in shells",
        arguments: [
            ("one two|", [Key.control("w"), Key(.left), .control("u"), .control("y")], "one| "),
            ("a b c|", [.control("w"), Key(.left), .control("k"), .control("e"), .control("y"), .alt("y")], "a bc|"),
            (
                "a b c|",
                [.control("w"), .control("b"), .control("w"), .control("a"), .control("y"), .alt("y"), .alt("y")],
                "b|a  "
            ),
            ("a|", [.alt("y")], "a|"), ("a b|", [.control("w"), .control("y"), .control("b"), .alt("y")], "a |b"),
            ("a b|", [.control("w"), .control("y"), .alt("y"), .control("_")], "a b|"),
            // A minus turns a key round.
            ("abcdef|", [Key.alt("3"), .control("b")], "abc|def"),
            ("a|bcdef", [.alt("1"), .alt("2"), Key(.right)], "abcdef|"),
            ("abc|def", [.alt("-"), .control("f")], "ab|cdef"), ("|", [.alt("4"), Key(.character("x"))], "xxxx|"),
            ("|", [.alt("1"), Key(.character("2")), Key(.character("-"))], "------------|"),
            ("a b c d|", [.alt("2"), .control("w")], "a b |"), ("a b c d|", [.alt("3"), .alt("b")], "a |b c d"),
            ("|a b c", [.alt("2"), .alt("d"), .control("e"), .control("y")], " ca b|"),
            ("abcd|", [.alt("2"), Key(.backspace), .control("y"), .control("y")], "abcdcd|"),
            ("ab|cd", [.alt("-"), .control("k")], "|cd"), ("ab|cd", [.alt("-"), .control("u")], "ab|"),
            ("abc|", [.alt("5"), .control("g"), Key(.character("x"))], "abcx|"),
            ("a\nb\nc|", [.alt("2"), Key(.up)], "a|\nb\nc"),
            ("one |two three", [Key.alt("u")], "one TWO| three"), ("|ONE TWO", [.alt("2"), .alt("l")], "one two|"),
            ("|one two", [.alt("2"), .alt("c")], "One Two|"), ("one two|", [.alt("-"), .alt("u")], "one TWO|"),
            ("one t|wo", [.alt("t")], "two one|"), ("one, two|", [.alt("t")], "two, one|"),
            ("|one", [.alt("t")], "|one"),
            ("a  | b", [.alt("\\")], "a|b"), ("a\n |b", [.alt("\\")], "a\n|b"),
            ("", [Key(.character("a")), Key(.character(" ")), .control("w"), .alt("r")], "|"),
        ] as [(String, [Key], String)])
    func moreKeys(before: String, keys: [Key], after: String) {
        var editor = editor(before)
        for key in keys { _ = editor.handle(key) }
        #expect(shown(editor) == after && editor.pendingArgument == nil)
    }

    @Test("A number is shown while it is written, is bounded, and keeps the keys that belong to it")
    func pendingNumber() {
        var editor = editor("a|")
        #expect(editor.pendingArgument == nil && !editor.keeps(.alt("1")) && !editor.keeps(.control("g")))
        for key in [Key.alt("-"), .alt("4"), Key(.character("2"))] { _ = editor.handle(key) }
        #expect(editor.pendingArgument == "-42" && editor.keeps(.alt("1")) && editor.keeps(.control("g")))
        for _ in 0..<50 { _ = editor.handle(Key(.character("9"))) }
        _ = editor.handle(Key(.character("x")))
        #expect(editor.text == "a")
        for _ in 0..<50 { _ = editor.handle(.alt("9")) }
        _ = editor.handle(Key(.character("x")))
        #expect(editor.count == 10_000)
    }

    @Test("^R finds earlier lines letter by letter, goes on with each press, and ^S comes back")
    func search() {
        var editor = editor("draft|", history: ["make test", "git push", "Make all", "git pull"])
        let found = walk(
            &editor, [.control("r"), .plainly("m"), .plainly("a"), .control("r"), .control("r"), .control("s")])
        #expect(found == ["draft", "Make all", "Make all", "make test", "make test", "Make all"])
        #expect(editor.searching == LineEditor.Searching(query: "ma", isForward: true, isFound: true))
        #expect(shown(editor) == "|Make all")
        // Shorter again, it looks from the newest on; with nothing to look for, the draft is there.
        let shorter = walk(&editor, [.control("r"), Key(.backspace), .plainly("x"), Key(.backspace), Key(.backspace)])
        #expect(shorter == ["make test", "Make all", "Make all", "Make all", "draft"])
        let capital = walk(&editor, [.plainly("M"), .control("r")])
        #expect(capital == ["Make all", "Make all"] && editor.searching?.isFound == false)
    }

    @Test("A search bears a paste that the terminal does not tell from typing, and lines that repeat it")
    func longSearch() {
        let long = String(repeating: "x", count: 40_000)
        let history = (1...20).map { "\(long)\($0)" } + ["xx ended"]
        var editor = editor("draft|", history: history)
        for key in [Key.control("r")] + Array(repeating: .plainly("x"), count: 5_000) { _ = editor.handle(key) }
        #expect(editor.text == history[19] && editor.searching?.isFound == true)
        #expect(editor.searching?.query == String(repeating: "x", count: LineEditor.queryLimit))
        // What is in no line, after much that is.
        let failing = Array(repeating: Key(.backspace), count: 100) + [.plainly("y"), .plainly("x")]
        for key in failing { _ = editor.handle(key) }
        #expect(editor.text == history[19] && editor.searching?.isFound == false)
        for key in [Key(.backspace), Key(.backspace), .control("r")] { _ = editor.handle(key) }
        #expect(editor.text == history[18] && editor.searching?.isFound == true)
    }

    @Test(
        "A search bears pasted binary text, in which one letter may have any number of marks", .timeLimit(.minutes(1)))
    func binarySearch() {
        let letter = "e" + String(repeating: "\u{301}\u{316}", count: 60_000)
        var editor = editor("draft|", history: ["needle", letter + "1", letter + "2", letter + "3"])
        let found = walk(&editor, [.control("r"), .plainly("e"), .plainly("e"), .control("r"), Key(.backspace)])
        #expect(found == ["draft", "needle", "needle", "needle", "needle"])
        #expect(editor.searching?.isFound == true)
    }

    @Test("A search that has failed finds what a mark makes of its last letter")
    func joinedMark() {
        var editor = editor("|", history: ["caf\u{E9}", "tea"])
        let found = walk(&editor, [.control("r"), .plainly("f"), .plainly("e"), .plainly("\u{301}")])
        #expect(found == ["", "caf\u{E9}", "caf\u{E9}", "caf\u{E9}"] && editor.searching?.isFound == true)
        #expect(shown(editor) == "ca|f\u{E9}")
    }

    @Test("A search goes on among the lines that come while it is under way")
    func historyComes() {
        var found = editor("|", history: ["apple"])
        _ = walk(&found, [.control("r"), .plainly("a")])
        found.history = ["banana"]
        #expect(walk(&found, [.plainly("n")]) == ["banana"] && shown(found) == "b|anana")
        var failed = editor("|", history: [])
        _ = walk(&failed, [.control("r"), .plainly("a"), .plainly("b")])
        failed.history = ["abc"]
        #expect(walk(&failed, [.plainly("c")]) == ["abc"] && failed.searching?.isFound == true)
    }

    @Test("A row has any width")
    func widestRow() {
        let editor = editor("a\nb|", history: [])
        #expect(editor.rowCount(width: .max, limit: 9) == 2)
        #expect(editor.rendered(width: .max, rows: 9).visible.map(\.description) == ["a", "b"])
    }

    @Test("A search ends with the line that it found, and what ends it means what it always means")
    func endedSearch() {
        var editor = editor("draft|", history: ["one two", "three"])
        let texts = walk(&editor, [.control("r"), .plainly("t"), .plainly("w"), .control("e"), .plainly("!")])
        #expect(texts == ["draft", "three", "one two", "one two", "one two!"] && editor.searching == nil)
        let walked = walk(&editor, [Key(.down), Key(.down), Key(.up), Key(.up)])
        #expect(walked == ["three", "draft", "three", "one two!"])
        // What was made of a line is found, and what was looked for last can be looked for once more.
        let undone = walk(&editor, [.control("_"), .control("_"), .control("r"), .control("r"), Key(.escape)])
        #expect(undone == ["three", "draft", "draft", "one two!", "one two!"] && editor.searching == nil)
    }

    @Test("^G gives a search up: the text, the cursor and what can be undone are as they were")
    func abandonedSearch() {
        var editor = editor("dra|ft", history: ["one", "two"])
        for key in [Key.control("r"), .plainly("o"), .control("r"), .control("g")] { _ = editor.handle(key) }
        #expect(shown(editor) == "dra|ft" && editor.searching == nil)
        let texts = walk(&editor, [Key(.up), Key(.down), .control("_"), .control("_"), .control("_")])
        #expect(texts == ["two", "draft", "two", "draft", ""])
    }

    @Test("A paste, a sent text and a cleared one end a search")
    func searchEnds() {
        let ends: [(inout LineEditor) -> Void] = [
            { $0.insert("x") }, { _ = $0.take() }, { $0.discard() }, { $0.remember() },
        ]
        for end in ends {
            var editor = editor("|", history: ["one"])
            for key in [Key.control("r"), .plainly("o")] { _ = editor.handle(key) }
            #expect(editor.searching != nil && editor.keeps(Key(.escape)) && !editor.keeps(Key(.tab)))
            end(&editor)
            #expect(editor.searching == nil && !editor.keeps(Key(.escape)))
        }
    }

    @Test("The last words of earlier lines come one after the other")
    func lastWords() {
        var editor = editor("see |", history: ["/join chat.qa", "hello bob"])
        let texts = walk(&editor, [.alt("."), .alt("."), .alt("."), .control("_"), .control("_"), .control("_")])
        #expect(texts == ["see bob", "see chat.qa", "see chat.qa", "see bob", "see ", ""])
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

    @Test("A row ends between words, and within a word that no row can hold")
    func wordRows() {
        func rows(_ text: String, _ width: Int) -> [String] {
            editor(text).rendered(width: width, rows: 9).visible.map(\.description)
        }
        #expect(rows("the quick brown fox|", 10) == ["the quick ", "brown fox"])
        #expect(rows("the quick| brown fox", 9) == ["the ", "quick ", "brown fox"])
        #expect(rows("a longestword b|", 6) == ["a ", "longes", "tword ", "b"])
        #expect(rows("one two\nthree four|", 8) == ["one two", "three ", "four"])
        #expect(rows("ab 漢字漢字|", 6) == ["ab 漢", "字漢字", ""])
        // The cursor goes with the word that it is in.
        let moved = editor("hello wor|ld").rendered(width: 8, rows: 5)
        #expect(moved.visible.map(\.description) == ["hello ", "world"] && moved.cursor == Position(row: 1, column: 3))
        let start = editor("hello |world").rendered(width: 8, rows: 5)
        #expect(start.cursor == Position(row: 1, column: 0))
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

    @Test(
        "^V puts in the next key as it is; what is no character of a text is refused",
        arguments: [
            ("a|b", [Key(.tab)], "a\t|b"), ("a|b", [Key(.enter)], "a\n|b"), ("a|b", [.control("j")], "a\n|b"),
            ("a|b", [.control("i")], "a\t|b"), ("a|b", [.plainly("漢")], "a漢|b"), ("a|b", [.plainly("-")], "a-|b"),
            ("a|b", [.control("a")], "a|b"), ("a|b", [.control("v"), .control("a")], "|ab"),
            ("a|b", [Key(.escape)], "a|b"), ("a|b", [Key(.left)], "a|b"), ("a|b", [.alt("b")], "a|b"),
            ("a|b", [Key(.backspace), Key(.backspace)], "|b"),
        ] as [(String, [Key], String)])
    func quoted(text: String, keys: [Key], result: String) {
        var editor = editor(text)
        #expect(editor.handle(.control("v")) && editor.quotesNextKey && editor.awaitsKey)
        #expect(editor.keeps(Key(.enter)) && editor.keeps(.control("q")))
        for key in keys { #expect(editor.handle(key) == true) }
        #expect(shown(editor) == result)
        #expect(!editor.awaitsKey && !editor.keeps(Key(.enter)))
    }

    @Test("What ^V puts in can be undone by itself and repeated, and a paste ends what was begun")
    func quotedOnce() {
        var line = editor("ab|")
        for key in [Key.alt("3"), .control("v"), Key(.tab)] { _ = line.handle(key) }
        #expect(shown(line) == "ab\t\t\t|")
        _ = line.handle(.control("_"))
        #expect(shown(line) == "ab|")
        _ = line.handle(.control("v"))
        line.insert("c")
        #expect(!line.awaitsKey && !line.handle(Key(.enter)))
        var full = LineEditor(limit: 1)
        for key in [Key.plainly("x"), .control("v"), Key(.tab)] { _ = full.handle(key) }
        #expect(full.text == "x")
    }

    @Test(
        "^] goes to the next place of a character, Alt-^] to the one before; where there is none it stays",
        arguments: [
            ("|banana", [.control("]"), .plainly("n")], "ba|nana"),
            ("ba|nana", [.control("]"), .plainly("n")], "bana|na"),
            ("bana|na", [.control("]"), .plainly("n")], "bana|na"),
            ("banana|", [Self.backward, .plainly("a")], "banan|a"),
            ("banan|a", [Self.backward, .plainly("a")], "ban|ana"),
            ("b|anana", [Self.backward, .plainly("a")], "b|anana"),
            ("|banana", [.alt("2"), .control("]"), .plainly("a")], "ban|ana"),
            ("banana|", [.alt("-"), .alt("3"), .control("]"), .plainly("a")], "b|anana"),
            ("|banana", [.alt("4"), .control("]"), .plainly("a")], "|banana"),
            ("a|b\nc", [.control("]"), Key(.enter)], "ab|\nc"), ("|ab", [.control("]"), Key(.escape)], "|ab"),
            ("|", [.control("]"), .plainly("a")], "|"),
        ] as [(String, [Key], String)])
    func characterSearch(text: String, keys: [Key], result: String) {
        var editor = editor(text)
        for key in keys { #expect(editor.handle(key) == true) }
        #expect(shown(editor) == result && !editor.awaitsKey)
    }

    private static let backward = Key(.character("]"), [.control, .alt])

    @Test("However it is edited, the text stays in bounds and undo comes back to where it began")
    func chance() async {
        var generator = SeededGenerator(seed: 8)
        let keys: [Key] = [
            .control("a"), .control("e"), .control("k"), .control("u"), .control("w"), .control("y"), .control("t"),
            .alt("y"), .alt("u"), .alt("c"), .alt("t"), .alt("."), .alt("3"), .alt("-"), .alt("\\"),
            .control("d"), .control("h"), .control("v"), .control("]"), .alt("b"), .alt("f"), .alt("d"), Key(.left),
            Key(.right), Key(.up),
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
