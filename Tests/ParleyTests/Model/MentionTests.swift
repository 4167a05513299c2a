import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Mentions")
struct MentionTests {
    @Test(
        "A name calls as a whole word, in any case",
        arguments: [
            "@bob hi", "bob: hey", "bob, look", "Bob", "is BOB here?", "(bob)", "thanks bob!", "bob's build",
            "hi @Bob.",
            "one\nbob: two", "alice/bob: both of you", "\"bob\"", "bob…", "bob - hello", "see http://x.org/ bob",
            "`code` and bob", "a ` b bob", "```\ncode\n```\nbob: done", "bob 你好", "你好bob你好", "ask bob.", "bob\r\nhey",
        ])
    func called(text: String) {
        #expect(Mention(name: "bob").isIn(text), "\(text)")
    }

    @Test(
        "A part of another word, code, links, paths and addresses do not call",
        arguments: [
            "", "nobody", "bobby", "@bobby", "bob_2", "jim-bob", "bob-smith", "bob.example.org", "bob@example.org",
            "mail.bob@example.org", "http://example.org/bob", "(https://bob.example.org)", "www.bob.org/x",
            "/home/bob/file",
            "~/bob/x", "`bob`", "run `ls bob` now", "```\nbob: code\n```", "```swift\nlet bob = 1", "mailto:bob", "bób",
            "b o b",
            "bo\u{200B}b",
        ])
    func notCalled(text: String) {
        #expect(!Mention(name: "bob").isIn(text), "\(text)")
    }

    @Test("A name of one or two letters has to be spoken to, since it may be a word")
    func shortNames() {
        let mention = Mention(name: "me")
        #expect(["@me look", "me: look", "hello\nme, look", "  me: look"].allSatisfy { mention.isIn($0) })
        #expect(["tell me", "me too", "for me: nothing", "home"].allSatisfy { !mention.isIn($0) })
        #expect(Mention(name: "李明").isIn("你好李明在吗"))
    }

    @Test(
        "A name that is an account of every machine has to be spoken to as well", arguments: ["root", "Admin", "test"])
    func accounts(name: String) {
        let mention = Mention(name: name)
        let calls = ["\(name): look", "@\(name) look", "hello\n\(name.lowercased()), look", "ask @\(name)."]
        #expect(calls.allSatisfy { mention.isIn($0) })
        #expect(["a \(name) canal", "log in as \(name)", "\(name)"].allSatisfy { !mention.isIn($0) })
        // As a word that the person wants to be told of it is any word.
        #expect(Mention(name: "bob", words: [name]).isIn("a \(name) canal"))
    }

    @Test("Names of any script, and words to be told of")
    func scripts() {
        #expect(Mention(name: "Юлия").isIn("привет, ЮЛИЯ!"))
        #expect(!Mention(name: "Юлия").isIn("Юлиями"))
        #expect(Mention(name: "李小龍").isIn("@李小龍 日本語"))
        #expect(Mention(name: "Anna Maria").isIn("so, anna maria: well?"))
        let words = Mention(name: "bob", words: ["build", "c++", ""])
        #expect(words.isIn("the Build is red") && words.isIn("c++ again") && !words.isIn("builder"))
        #expect(!Mention(name: "", words: ["", " ", "…"]).isIn("… , :"))
        #expect(!Mention().isIn("anything"))
    }

    @Test("Where a text calls is found by whole words, each time")
    func places() {
        func found(_ text: String, _ mention: Mention) -> [String] {
            let scalars = Array(text.unicodeScalars)
            return mention.places(in: scalars).map { String(String.UnicodeScalarView(scalars[$0])) }
        }
        let bob = Mention(name: "bob", words: ["build"])
        #expect(found("Bob: the build of @bob, not bobby's", bob) == ["Bob", "bob", "build"])
        #expect(found("nobody", bob) == [] && found("", bob) == [] && found("李 bob", bob) == ["bob"])
        #expect(found("tell me, @me", Mention(name: "me")) == ["me"])
    }

    @Test("A text of any length costs a bounded time, and calls by its beginning")
    func bound() {
        let long = String(repeating: "b bo `x` http://a ", count: 200_000)
        #expect(!Mention(name: "bob").isIn(long + "bob"))
        #expect(Mention(name: "bob").isIn("bob: " + long))
        #expect(Mention(name: "b").isIn("@b " + long))
    }

    // MARK: On the screen

    /// Three topics, the first in view.
    private static func desk() -> Desk { Desk.joined("a", "b", "c") }

    private static func say(
        _ text: String, _ sequence: UInt64, in topic: String, on desk: inout Desk, from: String = "bob",
        minutes: Int64 = 0
    ) -> ChatEffects {
        desk.receive([message(sequence, text, from: from, topic: topic, minutes: minutes)])
    }

    @Test("A line that calls the person is marked, in the past too, and an own one is not")
    func highlight() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.past("chat.lobby", .history([message(1, "alice: long ago")], isComplete: true)))
        desk.receive([message(2, "carol"), message(3, "I am alice", from: "alice")])
        desk.receive([message(4, "ask Alice")])
        let rows = desk.screen().filter { $0.contains("│@") }
        #expect(rows.count == 2 && rows[0].contains("long ago") && rows[1].contains("ask Alice"))
        let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant)
        let styles = frame.rows.indices.filter { frame.rows[$0].contains("│@") }.map { frame[$0, 21].style }
        #expect(styles == [Theme.standard.calling, Theme.standard.calling])
        // Who is signed in may be known later only.
        desk.send(.identified(.init(user: "carol", network: "local")))
        #expect(desk.screen().filter { $0.contains("│@") }.count == 1)
    }

    @Test("Mentions are counted apart from what is unread, in the sidebar, the title line and the terminal's title")
    func counts() {
        var desk = Self.desk()
        _ = Self.say("hello", 1, in: "b", on: &desk)
        _ = Self.say("@alice hello", 2, in: "b", on: &desk)
        _ = Self.say("alice: and here", 3, in: "c", on: &desk)
        #expect(desk.conversation("b")?.unread == 2 && desk.conversation("b")?.mentions.count == 1)
        #expect(desk.screen().contains { $0.hasPrefix(" b") && $0.contains(" @1 2 │") })
        #expect(desk.top.contains("@ 2   # 3"))
        #expect(desk.model.screen.title == "(@2, 3) parley alice@local")
        desk.press(.function(2), .down, .enter)
        #expect(desk.conversation("b")?.mentions.isEmpty == true)
        #expect(desk.top.contains("@ 1   # 1"))
    }

    @Test("Alt-a goes to mentions before anything else, and to each of them; ^G offers them first, too")
    func jump() {
        var desk = Self.desk()
        _ = Self.say("unread", 1, in: "b", on: &desk)
        for number in 2..<100 {
            _ = Self.say(
                number == 10 || number == 50 ? "alice: \(number)" : "m\(number)", UInt64(number), in: "c", on: &desk)
        }
        desk.press(.control("g"))
        #expect(desk.model.palette?.items.prefix(2).map(\.title) == ["c", "b"])
        desk.press(.escape, .alt("a"))
        #expect(desk.view == .conversation("c") && desk.shows("alice: 10"))
        #expect(desk.conversation("c")?.mentions == [.message(50)] && desk.conversation("c")?.unread == 98)
        desk.press(.alt("a"))
        #expect(desk.shows("alice: 50") && desk.conversation("c")?.mentions.isEmpty == true)
        // Then to what else is unread, and back to where that began.
        for view in ["b", "c", "a", "a"] {
            desk.press(.alt("a"))
            #expect(desk.view == .conversation(view))
        }
        #expect(desk.conversation("c")?.unread == 0 && desk.notice == "Nothing is unread.")
    }

    @Test("The bell rings for a mention that the person is not looking at, and not for one in view")
    func bell() {
        var desk = Self.desk()
        #expect(Self.say("alice: in view", 1, in: "a", on: &desk) == [])
        #expect(Self.say("alice: elsewhere", 2, in: "b", on: &desk) == .screen(.bell))
        desk.wait(.seconds(10))
        #expect(Self.say("nobody", 3, in: "b", on: &desk) == [])
        #expect(Self.say("alice: to myself", 4, in: "b", on: &desk, from: "alice") == [])
        // A flood rings now and then.
        #expect(Self.say("alice 1", 5, in: "b", on: &desk) == .screen(.bell))
        #expect(Self.say("alice 2", 6, in: "b", on: &desk) == [])
        desk.wait(.seconds(10))
        // A terminal that never says whether it is in front: somebody who types is here, others may not be.
        desk.press(.plain("x"))
        #expect(Self.say("alice: in view", 7, in: "a", on: &desk) == [])
        desk.wait(.seconds(120))
        #expect(Self.say("alice: in view", 8, in: "a", on: &desk) == .screen(.bell))
        #expect(desk.conversation("a")?.unread == 0)
    }

    @Test("B27: a mention that came while Parley was suspended rings on return")
    func suspended() {
        var desk = Self.desk()
        desk.send(.suspending)
        desk.wait(.seconds(600))
        desk.send(.resumed)
        #expect(Self.say("alice: where are you?", 1, in: "a", on: &desk, minutes: 5) == .screen(.bell))
        #expect(desk.shows("── new ─"))
    }

    @Test("What the local store brings back at the start is counted and rings nothing, and what is made anew has none")
    func atStart() {
        var desk = Desk.opened(KeptDesk(topics: ["a", "b"]))
        desk.effects = []
        let messages = [
            message(1, "alice: read", topic: "b"), message(2, "alice: not read", topic: "b"),
            message(3, "x", topic: "b"),
            message(4, "@alice", from: "alice", topic: "b"),
        ]
        desk.send(.past("b", .kept(KeptTopic(messages: messages, readThrough: 1))))
        #expect(desk.conversation("b")?.mentions == [.message(2)] && desk.conversation("b")?.unread == 2)
        #expect(Self.say("alice: missed", 5, in: "b", on: &desk) == [])
        #expect(desk.conversation("b")?.mentions.count == 2)
        desk.send(.topic("b", .restarted))
        #expect(desk.conversation("b")?.mentions.isEmpty == true)
    }
}
