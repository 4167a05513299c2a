import Testing

@testable import Terminal

@Suite("The input parser")
struct InputParserTests {
    private func parse(_ text: String) -> [InputEvent] {
        var parser = InputParser()
        let events = parser.feed(Array(text.utf8))
        return events + (parser.timeout != nil ? parser.flush() : [])
    }

    @Test(
        "Keys of all the usual terminals",
        arguments: [
            ("a", Key(.character("a"))), ("é", Key(.character("é"))), ("漢", Key(.character("漢"))),
            ("\r", Key(.enter)), ("\n", .control("j")), ("\t", Key(.tab)), ("\u{7F}", Key(.backspace)),
            ("\u{8}", .control("h")), ("\u{0}", .control(" ")), ("\u{1}", .control("a")), ("\u{1F}", .control("_")),
            ("\u{1B}", Key(.escape)), ("\u{1B}a", .alt("a")), ("\u{1B}é", .alt("é")), ("\u{1B}\r", Key(.enter, .alt)),
            ("\u{1B}\u{7F}", Key(.backspace, .alt)), ("\u{1B}\u{1}", Key(.character("a"), [.alt, .control])),
            ("\u{1B}[", .alt("[")), ("\u{1B}O", .alt("O")), ("\u{1B}]", .alt("]")),
            ("\u{1B}[A", Key(.up)), ("\u{1B}OB", Key(.down)), ("\u{1B}[1;5C", Key(.right, .control)),
            ("\u{1B}[1;3D", Key(.left, .alt)), ("\u{1B}[1;10A", Key(.up, [.shift, .alt])), ("\u{1B}[H", Key(.home)),
            ("\u{1B}OF", Key(.end)), ("\u{1B}[1~", Key(.home)), ("\u{1B}[8~", Key(.end)), ("\u{1B}[2~", Key(.insert)),
            ("\u{1B}[3;2~", Key(.delete, .shift)), ("\u{1B}[5~", Key(.pageUp)),
            ("\u{1B}[6;5~", Key(.pageDown, .control)),
            ("\u{1B}OP", Key(.function(1))), ("\u{1B}[1;2R", Key(.function(3), .shift)),
            ("\u{1B}[15~", Key(.function(5))),
            ("\u{1B}[17~", Key(.function(6))), ("\u{1B}[24~", Key(.function(12))), ("\u{1B}[34~", Key(.function(20))),
            ("\u{1B}[[A", Key(.function(1))), ("\u{1B}[[E", Key(.function(5))), ("\u{1B}[Z", Key(.backTab)),
            // rxvt
            ("\u{1B}[a", Key(.up, .shift)), ("\u{1B}Od", Key(.left, .control)), ("\u{1B}[3^", Key(.delete, .control)),
            ("\u{1B}[6$", Key(.pageDown, .shift)), ("\u{1B}[5@", Key(.pageUp, [.shift, .control])),
            ("\u{1B}\u{1B}[A", Key(.up, .alt)), ("\u{1B}\u{1B}OC", Key(.right, .alt)),
            // the keypad
            ("\u{1B}OM", Key(.enter)), ("\u{1B}Op", Key(.character("0"))), ("\u{1B}Ok", Key(.character("+"))),
            // CSI u and modifyOtherKeys
            ("\u{1B}[97u", Key(.character("a"))), ("\u{1B}[97;5u", .control("a")),
            ("\u{1B}[13;2u", Key(.enter, .shift)),
            ("\u{1B}[97:65;2u", Key(.character("A"))), ("\u{1B}[97;2u", Key(.character("A"))),
            ("\u{1B}[9;2u", Key(.backTab)), ("\u{1B}[27u", Key(.escape)), ("\u{1B}[57399u", Key(.character("0"))),
            ("\u{1B}[57376u", Key(.function(13))), ("\u{1B}[27;5;105~", .control("i")),
            ("\u{1B}[27;2;13~", Key(.enter, .shift)), ("\u{1B}[97;69u", .control("a")),
        ])
    func keys(bytes: String, key: Key) {
        #expect(parse(bytes) == [.key(key)])
    }

    @Test("Escape and a slash that come one after the other are two keys, since commands begin with a slash")
    func escapeAndSlash() {
        #expect(parse("\u{1B}/") == [.key(.alt("/"))])
        var parser = InputParser()
        #expect(parser.feed([0x1B]) == [])
        #expect(parser.feed(Array("/who".utf8)) == [.key(Key(.escape))] + "/who".map { .key(.init(.character($0))) })
        // Any other letter is one with it, however slow the line.
        #expect(parser.feed([0x1B]) == [] && parser.feed([0x61]) == [.key(.alt("a"))])
    }

    @Test(
        "The mouse in its three encodings",
        arguments: [
            ("\u{1B}[<0;3;5M", MouseEvent(kind: .press, button: .left, row: 4, column: 2)),
            ("\u{1B}[<0;300;5m", MouseEvent(kind: .release, button: .left, row: 4, column: 299)),
            ("\u{1B}[<34;1;1M", MouseEvent(kind: .drag, button: .right, row: 0, column: 0)),
            ("\u{1B}[<64;1;2M", MouseEvent(kind: .scrollUp, button: .none, row: 1, column: 0)),
            ("\u{1B}[<81;1;2M", MouseEvent(kind: .scrollDown, button: .none, row: 1, column: 0, modifiers: .control)),
            ("\u{1B}[M !!", MouseEvent(kind: .press, button: .left, row: 0, column: 0)),
            ("\u{1B}[M#!\"", MouseEvent(kind: .release, button: .none, row: 1, column: 0)),
            ("\u{1B}[32;4;5M", MouseEvent(kind: .press, button: .left, row: 4, column: 3)),
        ])
    func mouse(bytes: String, event: MouseEvent) {
        #expect(parse(bytes) == [.mouse(event)])
    }

    @Test("Focus, and answers of the terminal")
    func reports() {
        #expect(parse("\u{1B}[I\u{1B}[O") == [.focusIn, .focusOut])
        #expect(parse("\u{1B}[?2026;2$y") == [.reply(.mode(number: 2026, state: 2))])
        #expect(parse("\u{1B}[?62;22c") == [.reply(.deviceAttributes)])
        #expect(parse("\u{1B}[12;40R") == [.reply(.cursorPosition(row: 11, column: 39))])
    }

    @Test(
        "What is not known is dropped whole, and what follows is read",
        arguments: [
            "\u{1B}]10;rgb:0000/0000/0000\u{1B}\\", "\u{1B}]11;rgb:0000/0000\u{1B}\\", "\u{1B}]11;rgb:0/0/g\u{7}",
            "\u{1B}]11;rgb:0/0/\u{7}", "\u{1B}]11;rgb:00000/0/0\u{7}", "\u{1B}]11;rgb:0/0/0\u{18}",
            "\u{1B}]0;hello\u{07}", "\u{1B}P>|terminal 1.0\u{1B}\\",
            "\u{1B}_Gi=1;OK\u{1B}\\",
            "\u{1B}^private\u{1B}\\", "\u{1B}[>41;379;0c", "\u{1B}[?1u", "\u{1B}[8;40;120t", "\u{1B}[99~",
            "\u{1B}[1;2;3;4x",
            "\u{1B}[97;1:3u", "\u{1B}[57358u", "\u{1B}[201~", "\u{1B}[?997;1n", "\u{1B}[1;9999999999A", "\u{1B}[97;17u",
            "\u{1B}[12!p", "\u{1B}[<35;1;1M", "\u{1B}[<0;0;0M", "\u{1B}[1;2\u{18}", "\u{1B}OY",
        ])
    func unknown(bytes: String) {
        #expect(parse(bytes + "x") == [.key(Key(.character("x")))])
    }

    @Test(
        "The terminal's background, in every form that terminals give it",
        arguments: [
            ("rgb:ffff/8080/0000\u{1B}\\", RGB(0xFF8000)), ("rgb:FFFF/8080/0000\u{7}", RGB(0xFF8000)),
            ("rgb:ff/80/00\u{7}", RGB(0xFF8000)), ("rgb:f/8/0\u{7}", RGB(0xFF8800)),
            ("rgb:fff/800/0\u{7}", RGB(0xFF8000)), ("rgba:ffff/8080/0000/8000\u{1B}\\", RGB(0xFF8000)),
            ("rgb:0000/0000/0000\u{7}", .black),
        ])
    func background(reply: String, color: RGB) {
        #expect(parse("\u{1B}]11;\(reply)x") == [.reply(.background(color)), .key(Key(.character("x")))])
    }

    @Test("A reply that a slow line tears apart is no text, wherever it is torn and however long the pause")
    func tornReply() {
        for end in ["\u{7}", "\u{1B}\\"] {
            let reply = Array("\u{1B}]11;rgb:1e1e/1e1e/1e1e\(end)".utf8)
            for place in 1..<reply.count {
                var parser = InputParser()
                var events = parser.feed(reply[..<place])
                events += parser.flush()
                events += parser.feed(reply[place...])
                events += parser.feed(Array("k".utf8))
                // Of its first two bytes a key has to be made, since nothing tells them from one.
                let given: [InputEvent] = place == 1 ? [.key(Key(.escape))] : place == 2 ? [.key(.alt("]"))] : []
                let expected = given + [.reply(.background(RGB(0x1E1E1E))), .key(Key(.character("k")))]
                #expect(events == expected, "torn behind \(place) bytes")
            }
        }
    }

    @Test("A reply in many pieces, with a pause behind each, is no text")
    func replyInPieces() {
        var parser = InputParser()
        var events: [InputEvent] = []
        for piece in ["\u{1B}]11", ";r", "gb:1", "e1e/", "1", "e1e", "/1e1e\u{1B}", "\\"] {
            events += parser.feed(Array(piece.utf8))
            if parser.timeout != nil { events += parser.flush() }
        }
        #expect(events == [.reply(.background(RGB(0x1E1E1E)))])
    }

    @Test("What a person types while a reply is overdue is typed")
    func typedBehindReply() {
        for held in ["\u{1B}]", "\u{1B}]11;rgb:1e1e/"] {
            for text in ["x", "hello", "]", "\r"] {
                var parser = InputParser()
                _ = parser.feed(Array(held.utf8))
                _ = parser.flush()
                var other = InputParser()
                let typed = parser.feed(Array(text.utf8))
                let expected = other.feed(Array(text.utf8))
                #expect(typed == expected, "\(text) behind \(held.dropFirst())")
            }
        }
        var parser = InputParser()
        _ = parser.feed([0x1B])
        _ = parser.flush()
        let typed = parser.feed(Array("]x".utf8))
        #expect(typed == [.key(Key(.character("]"))), .key(Key(.character("x")))])
    }

    @Test("A sequence that another one cuts off does not spoil it")
    func cutOff() {
        #expect(parse("\u{1B}[1;\u{1B}[A") == [.key(Key(.up))])
        #expect(parse("\u{1B}]0;abc\u{1B}[A") == [.key(Key(.up))])
        #expect(parse("\u{1B}[12\ra") == [.key(Key(.enter)), .key(Key(.character("a")))])
    }

    @Test("Broken UTF-8 becomes replacement characters, never anything else")
    func brokenText() {
        var parser = InputParser()
        let events = parser.feed([0x61, 0xE6, 0xBC, 0x62, 0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80, 0xF0, 0x9F, 0x98, 0x80])
        let text = events.compactMap { event -> Character? in
            if case .key(let key) = event, case .character(let character) = key.code { return character }
            return nil
        }
        let bytes: [UInt8] = [0x61, 0xE6, 0xBC, 0x62, 0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80, 0xF0, 0x9F, 0x98, 0x80]
        #expect(text == Array(String(decoding: bytes, as: UTF8.self)))
        #expect(parser.feed([0xC2, 0x9B]) == [])
        #expect(parser.feed([0xE6]) == [])
        #expect(parser.timeout != nil)
        #expect(parser.flush() == [.key(Key(.character("\u{FFFD}")))])
    }

    @Test("A paste comes as one text, its line breaks as line feeds, without other controls")
    func paste() {
        #expect(
            parse("\u{1B}[200~a\r\nb\rc\nd\te\u{1B}[31m\u{7}\u{9B}f\u{1B}[201~x") == [
                .paste("a\nb\nc\nd\te[31mf"), .key(Key(.character("x"))),
            ])
        #expect(parse("\u{1B}[200~\u{1B}\u{1B}[20\u{1B}[201~") == [.paste("[20")])
        #expect(parse("\u{1B}[200~\u{1B}[201~") == [.paste("")])
        // What parts words still does, and a mark of the encoding is no part of the text.
        #expect(parse("\u{1B}[200~\u{FEFF}a\u{B}b\u{C}c\u{85}d\u{FEFF}\u{1B}[201~") == [.paste("a b c d\u{FEFF}")])
    }

    @Test("A paste without an end is given out when its time is over, and keys work again")
    func endlessPaste() {
        var parser = InputParser()
        #expect(parser.feed(Array("\u{1B}[200~text".utf8)) == [])
        #expect(parser.timeout == .seconds(5))
        #expect(parser.flush() == [.paste("text")])
        #expect(parser.feed(Array("k".utf8)) == [.key(Key(.character("k")))])
    }

    @Test("A paste is capped, which is said, and its end is still found")
    func hugePaste() throws {
        var parser = InputParser()
        var events = parser.feed(Array("\u{1B}[200~".utf8))
        let chunk = [UInt8](repeating: 0x61, count: 65_536)
        for _ in 0..<20 { events += parser.feed(chunk) }
        events += parser.feed(Array("\u{1B}[201~z".utf8))
        #expect(Array(events.dropFirst()) == [.pasteCut, .key(Key(.character("z")))])
        guard case .paste(let text) = try #require(events.first) else {
            Issue.record("no paste")
            return
        }
        #expect(text.utf8.count == InputParser.pasteLimit)
        let next = parser.feed(Array("\u{1B}[200~short\u{1B}[201~".utf8))
        #expect(next == [.paste("short")])
    }

    @Test("Sequences without end are bounded and let go")
    func endlessSequences() {
        for start in ["\u{1B}[", "\u{1B}]", "\u{1B}P", "\u{1B}O", "\u{1B}[1;"] {
            var parser = InputParser()
            _ = parser.feed(Array(start.utf8))
            _ = parser.feed([UInt8](repeating: 0x31, count: 200_000))
            #expect(parser.sequence.count <= InputParser.controlLimit)
            _ = parser.flush()
            #expect(parser.feed(Array("k".utf8)) == [.key(Key(.character("k")))])
        }
    }

    @Test("A sequence whose escape timed out on a slow line is not text")
    func tornSequence() {
        var parser = InputParser()
        #expect(parser.feed([0x1B]) == [])
        #expect(parser.flush() == [.key(Key(.escape))])
        #expect(parser.feed(Array("[I".utf8)) == [.focusIn])
        #expect(parser.feed([0x1B]) == [])
        #expect(parser.flush() == [.key(Key(.escape))])
        #expect(parser.feed(Array("[".utf8)) == [.key(Key(.character("[")))])
        #expect(parser.feed(Array("I".utf8)) == [.key(Key(.character("I")))])
    }

    /// Everything that a terminal may send in one breath.
    private static let corpus: [UInt8] =
        Array(
            ("aé漢😀\r\u{1}\u{1B}[A\u{1B}OP\u{1B}[1;5C\u{1B}[[B\u{1B}[<0;10;20M\u{1B}[M !!\u{1B}x\u{1B}é\u{1B}\u{1B}[D"
                + "\u{1B}[200~pasted 漢字\r\ntext \u{1B}[20\u{1B}[201~\u{1B}[I\u{1B}[O\u{1B}[?2026;2$y\u{1B}[?62;22c"
                + "\u{1B}]11;rgb:ffff/ffff/ffff\u{1B}\\\u{1B}P>|t\u{1B}\\\u{1B}[97;5u\u{1B}[27;6;65~\u{1B}[3$\u{1B}[3^z")
                .utf8)
        + [0xFF, 0xE6, 0xBC, 0x41]

    @Test("Any split into two or three reads, and byte by byte, gives the same events")
    func splits() async {
        let corpus = Self.corpus
        var whole = InputParser()
        let expected = whole.feed(corpus)
        #expect(expected.count > 25)
        var single = InputParser()
        #expect(corpus.flatMap { single.feed([$0]) } == expected)
        for first in 0...corpus.count {
            await Task.yield()
            for second in stride(from: first, through: corpus.count, by: 17) {
                var parser = InputParser()
                let events =
                    parser.feed(corpus[..<first]) + parser.feed(corpus[first..<second]) + parser.feed(corpus[second...])
                if events != expected { Issue.record("split at \(first) and \(second) gives \(events)") }
            }
        }
    }

    @Test("Chance bytes never crash the parser, never come out as controls, and split alike")
    func chance() async {
        var generator = SeededGenerator(seed: 5)
        let pieces: [[UInt8]] = [
            "\u{1B}", "\u{1B}[", "\u{1B}]", "\u{1B}[200~", "\u{1B}[201~", "\u{1B}[<", "\u{1B}O", ";", "M", "$",
        ]
        .map { Array($0.utf8) }
        for round in 0..<1_500 {
            if round % 100 == 0 { await Task.yield() }
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...40, using: &generator) {
                if Bool.random(using: &generator), let piece = pieces.randomElement(using: &generator) {
                    bytes += piece
                } else {
                    bytes.append(UInt8.random(in: 0...255, using: &generator))
                }
            }
            var whole = InputParser()
            let expected = whole.feed(bytes) + whole.flush()
            var split = InputParser()
            let place = Int.random(in: 0...bytes.count, using: &generator)
            let events = split.feed(bytes[..<place]) + split.feed(bytes[place...]) + split.flush()
            #expect(events == expected)
            for event in events {
                switch event {
                case .key(let key):
                    if case .character(let character) = key.code {
                        #expect(!character.unicodeScalars.contains { $0.properties.generalCategory == .control })
                    }
                case .paste(let text):
                    #expect(
                        !text.unicodeScalars.contains {
                            $0.properties.generalCategory == .control && $0 != "\n" && $0 != "\t"
                        })
                default: break
                }
            }
            #expect(split.timeout == nil)
        }
    }
}
