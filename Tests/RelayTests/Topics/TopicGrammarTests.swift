import NATS
import Relay
import Testing

@Suite struct TopicGrammarTests {
    static let longest = String(repeating: "a", count: 255)

    @Test(
        "B35: concrete topics",
        arguments: ["a", "chat.lobby", "A-z_0~9", "a.b.c.d", "chat.a*b", "a**", "connected", "CONNECTED.x", longest]
    ) func concrete(_ text: String) throws {
        #expect(try Topic(text).text == text)
        #expect(try TopicPattern(text).isWildcard == false)
        #expect(try TopicPattern(text).topic?.text == text)
    }

    @Test(
        "B35, B37: patterns with wildcards are for subscriptions only",
        arguments: ["*", ">", "a.*", "*.b", "a.>", "*.>"])
    func wildcard(_ text: String) throws {
        #expect(try TopicPattern(text).isWildcard)
        #expect(try TopicPattern(text).topic == nil)
        #expect(throws: TopicError.wildcard) { try Topic(text) }
    }

    @Test(
        "B37: malformed topics and patterns are refused, with the reason",
        arguments: [
            ("", .empty), (".", .emptyToken), (".a", .emptyToken), ("a.", .emptyToken), ("a..b", .emptyToken),
            (">.a", .misplacedTail), ("a>", .misplacedTail), ("a.>b", .misplacedTail), ("a.>.b", .misplacedTail),
            (">>", .misplacedTail), ("a b", .invalidCharacter(" ")), ("a$", .invalidCharacter("$")),
            ("$SYS.a", .invalidCharacter("$")), ("a\n", .invalidCharacter("\n")), ("é", .invalidCharacter("é")),
            ("a/b", .invalidCharacter("/")), ("a\u{0}", .invalidCharacter("\u{0}")),
            (longest + "a", .tooLong(bytes: 256)),
        ] as [(String, TopicError)]
    ) func malformed(_ text: String, _ error: TopicError) {
        #expect(throws: error) { try TopicPattern(text) }
        #expect(throws: error) { try Topic(text) }
        #expect(!error.description.isEmpty)
    }

    @Test("B35: a name that is not ASCII is refused with the grammar that does not take it")
    func notASCII() {
        for (name, character) in [("café", "é"), ("日本", "日"), ("chat.👍", "👍")] as [(String, Character)] {
            let error = #expect(throws: TopicError.self) { try Topic(name) }
            #expect(error == .invalidCharacter(character))
            #expect(error?.description == "RelayX's grammar allows a topic only A-Z, a-z, 0-9, - _ ~ and dots.")
        }
        #expect(TopicError.invalidCharacter("\u{7}").description.contains("control characters"))
        #expect(TopicError.invalidCharacter(" ").description.contains("a space"))
    }

    @Test("B35: system event names are refused", arguments: TopicGrammar.reservedNames.sorted())
    func reserved(_ name: String) {
        #expect(throws: TopicError.reserved(name)) { try Topic(name) }
        #expect(throws: TopicError.reserved(name)) { try TopicPattern(name) }
    }

    @Test("Every system event has a reserved name")
    func everyEventIsReserved() {
        #expect(SystemEvent.allCases.allSatisfy { TopicGrammar.reservedNames.contains($0.rawValue) })
    }

    @Test(
        "B37: * is one token, > one or more",
        arguments: [
            ("a", "a", true), ("a", "b", false), ("a", "a.b", false), ("a.b", "a", false),
            ("*", "a", true), ("*", "a.b", false), ("a.*", "a.b", true), ("a.*", "a", false), ("a.*", "a.b.c", false),
            ("*.b", "a.b", true), ("*.b", "a.c", false), ("a.*.c", "a.b.c", true), ("a.*.c", "a.b.d", false),
            (">", "a", true), (">", "a.b.c", true), ("a.>", "a", false), ("a.>", "a.b", true), ("a.>", "a.b.c", true),
            ("a.>", "ab.c", false), ("*.>", "a", false), ("*.>", "a.b", true), ("a.*.>", "a.b", false),
            ("a.*.>", "a.b.c.d", true), ("a*.b", "ax.b", false), ("a*.b", "a*.b", true), ("A", "a", false),
            ("a.>", "a.", false), ("a.*", "a.", false),
        ]
    ) func matching(_ pattern: String, _ topic: String, _ expected: Bool) throws {
        #expect(try TopicPattern(pattern).matches(topic) == expected)
    }

    @Test(
        "B37: patterns overlap where some topic matches both, and without those that others cover the same topics match"
    )
    func overlapping() throws {
        let words = ["a", "b"]
        var topics = words
        for _ in 0..<2 { topics += topics.flatMap { topic in words.map { "\(topic).\($0)" } } }
        let tokens = ["a", "b", "*"]
        var texts = tokens + tokens.flatMap { token in tokens.map { "\(token).\($0)" } }
        texts += texts.map { "\($0).>" }
        texts.append(">")
        let patterns = try texts.map { try TopicPattern($0) }
        for one in patterns {
            let matched = topics.filter { one.matches($0) }
            for other in patterns {
                #expect(one.overlaps(other) == matched.contains { other.matches($0) }, "\(one) and \(other)")
            }
        }
        var random = SeededGenerator(seed: 4)
        for _ in 0..<200 {
            let some = (0..<Int.random(in: 1...5, using: &random)).compactMap { _ in
                patterns.randomElement(using: &random)
            }
            let kept = TopicPattern.withoutCovered(some)
            #expect(Set(kept).count == kept.count && Set(kept).isSubset(of: some))
            for topic in topics {
                #expect(kept.contains { $0.matches(topic) } == some.contains { $0.matches(topic) }, "\(some): \(topic)")
            }
        }
        let named = try ["chat.a", "chat.*", "chat.a", "*.b", "chat.b"].map { try TopicPattern($0) }
        #expect(TopicPattern.withoutCovered(named).map(\.text) == ["chat.*", "*.b"])
    }

    @Test("A topic's subject is below the network's hash")
    func subjects() throws {
        #expect(try Topic("chat.lobby").subject(under: "h4sh") == "h4sh.chat.lobby")
        #expect(try TopicPattern("chat.>").subject(under: "h4sh") == "h4sh.chat.>")
        #expect(Topic.text(ofSubject: "h4sh.chat.lobby", under: "h4sh") == "chat.lobby")
        #expect(Topic.text(ofSubject: "h4shx.chat", under: "h4sh") == nil)
        #expect(Topic.text(ofSubject: "h4sh.", under: "h4sh") == nil)
        #expect(Topic.text(ofSubject: "other.chat", under: "h4sh") == nil)
    }

    @Test("Random texts: the grammar agrees with the published expression")
    func grammar() throws {
        let published = try Regex(#"(?:[A-Za-z0-9_*~-]+(?:\.[A-Za-z0-9_*~-]+)*(?:\.>)?|>)"#)
        let alphabet = Array("ab*>..$ ~-_Z9")
        var random = SeededGenerator(seed: 37)
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...8, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" })
            let expected = (try published.wholeMatch(in: text)) != nil
            #expect((try? TopicPattern(text)) != nil ? expected : !expected, "\(text)")
        }
    }
}
