import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Typing: what others are told")
struct ToldTypingTests {
    private static let lobby = CoreEffect.people(.typing(topic: "chat.lobby"))
    private static let nowhere = CoreEffect.people(.typing(topic: nil))

    /// What was told since the last look.
    private func told(_ desk: inout Desk) -> [CoreEffect] {
        defer { desk.typingEffects = [] }
        return desk.typingEffects
    }

    @Test("Others are told of the first key, every four seconds while keys are pressed, and of the line that is sent")
    func line() {
        var desk = Desk.joined("chat.lobby")
        desk.type("h")
        #expect(told(&desk) == [Self.lobby])
        for _ in 0..<39 {
            desk.wait(.milliseconds(100))
            desk.type("e")
        }
        #expect(told(&desk) == [])
        desk.wait(.milliseconds(100))
        desk.type("y")
        #expect(told(&desk) == [Self.lobby])
        // Time alone tells nothing, and a key after a pause does.
        desk.wait(.seconds(60))
        #expect(told(&desk) == [])
        desk.type("!")
        #expect(told(&desk) == [Self.lobby])
        #expect(!desk.press(.enter).lines.isEmpty)
        #expect(told(&desk) == [Self.nowhere])
        desk.type("n")
        #expect(told(&desk) == [Self.lobby])
    }

    @Test("The line goes to the core before the word that it has ended")
    func order() {
        var desk = Desk.joined("chat.lobby")
        desk.type("hi")
        let sent = update(desk.model, .input(.key(Key(.enter))))
        #expect(sent.core.count == 2 && sent.core.last == Self.nowhere)
        #expect(
            sent.core.first.map { if case .topics(.publish(_, "chat.lobby", "hi")) = $0 { true } else { false } }
                == true)
    }

    @Test("A line that is taken back is told, and neither the cursor's ways nor blanks are typing")
    func takenBack() {
        var desk = Desk.joined("chat.lobby")
        desk.type("  ")
        #expect(told(&desk) == [])
        desk.type("x")
        #expect(told(&desk) == [Self.lobby])
        desk.wait(.seconds(5))
        desk.press(.left, .right, .home, .end)
        #expect(told(&desk) == [])
        desk.press(.backspace)
        #expect(told(&desk) == [Self.nowhere])
        desk.press(.backspace)
        #expect(told(&desk) == [])
        desk.paste("all of it")
        #expect(told(&desk) == [Self.lobby])
        desk.press(.control("u"))
        #expect(told(&desk) == [Self.nowhere])
    }

    @Test("A command is no line for the topic, and a line that becomes one has ended; two slashes begin a line")
    func commands() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("/away lunch")
        desk.enter("/say hello")
        #expect(told(&desk) == [])
        desk.type("who")
        desk.press(.home)
        desk.type("/")
        #expect(told(&desk) == [Self.lobby, Self.nowhere])
        desk.type("/")
        #expect(told(&desk) == [Self.lobby])
    }

    @Test("Nobody is told of what is written before a pattern, the postbox, or nothing at all")
    func elsewhere() {
        var desk = Desk.joined("alerts.>")
        desk.type("x")
        desk.press(.function(3), .tab)
        desk.type("xyz")
        #expect(told(&desk) == [])
        var welcome = Desk()
        welcome.type("x")
        #expect(told(&welcome) == [])
    }

    @Test("Looking at another topic ends it, though its text waits there, and the next key there begins it")
    func anotherTopic() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        desk.type("hello")
        desk.press(.control("n"))
        #expect(desk.view == .conversation("chat.qa") && desk.text.isEmpty)
        #expect(told(&desk) == [Self.lobby, Self.nowhere])
        desk.press(.control("p"))
        #expect(desk.text == "hello" && told(&desk) == [])
        desk.press(.control("n"))
        desk.type("!")
        #expect(told(&desk) == [.people(.typing(topic: "chat.qa"))])
        desk.press(.function(3))
        #expect(told(&desk) == [Self.nowhere])
    }

    @Test("A text that comes back from an earlier run is nobody's typing, until it is written on")
    func draft() {
        var desk = Desk.opened(KeptDesk(topics: ["chat.lobby"], drafts: ["chat.lobby": "left over"]), state: .connected)
        #expect(desk.text == "left over" && told(&desk) == [])
        desk.type("!")
        #expect(told(&desk) == [Self.lobby])
    }

    @Test("A text from the editor is typing, and one that was left as it was is not")
    func editor() {
        var desk = Desk.joined("chat.lobby")
        desk.send(.edited(.written("a long story")))
        #expect(told(&desk) == [Self.lobby])
        desk.wait(.seconds(60))
        desk.send(.edited(.written("a long story")))
        #expect(told(&desk) == [])
    }

    @Test("With the switch off nobody is told, and turning it off in the midst of a line ends it")
    func switchedOff() {
        var desk = Desk.joined("chat.lobby")
        desk.type("x")
        var settings = desk.model.settings
        settings.typing = false
        desk.send(.configuration(.changed(settings)))
        #expect(told(&desk) == [Self.lobby, Self.nowhere])
        desk.enter("yz")
        #expect(told(&desk) == [])
    }
}

@Suite("Typing: what is shown of others")
struct ShownTypingTests {
    private func roster(_ typists: [String], here: [String] = [], away: [String] = []) -> PresenceRoster {
        let users =
            typists.map { PresentUser(name: $0, presence: away.contains($0) ? .away("") : .here, isTyping: true) }
            + here.map { PresentUser(name: $0, presence: .here) }
        return PresenceRoster(users: users.sorted { $0.name < $1.name })
    }

    private func heading(_ desk: Desk) -> String { desk.screen()[1] }

    private func heading(_ desk: inout Desk, _ roster: PresenceRoster) -> String {
        desk.send(.people(topic: "chat.lobby", roster))
        return heading(desk)
    }

    @Test("The heading says who types, on its right, and nothing else moves; it goes when they type no more")
    func names() {
        var desk = Desk.joined("chat.lobby")
        let quiet = heading(&desk, roster([], here: ["bob", "carol", "dora"]))
        let rest = desk.screen()
        #expect(quiet.hasSuffix("│── chat.lobby ─ 3 here ────────────────────────────────────"))
        for (typists, words) in [
            (["bob"], "│── chat.lobby ─ 3 here ────────────────── bob is typing … ─"),
            (["bob", "carol"], "│── chat.lobby ─ 3 here ─────── bob and carol are typing … ─"),
            (["bob", "carol", "dora"], "│── chat.lobby ─ 3 here ─────────────────── 3 are typing … ─"),
        ] {
            let others = ["bob", "carol", "dora"].filter { !typists.contains($0) }
            #expect(heading(&desk, roster(typists, here: others)).hasSuffix(words))
            #expect(desk.screen().enumerated().allSatisfy { $0.offset == 1 || $0.element == rest[$0.offset] })
        }
        #expect(heading(&desk, roster([], here: ["bob", "carol", "dora"])) == quiet)
    }

    @Test("Neither the person nor anybody ignored is named or counted, and those who are away are")
    func others() {
        var desk = Desk.joined("chat.lobby")
        #expect(!heading(&desk, roster(["alice"])).contains("typing"))
        #expect(heading(&desk, roster(["alice", "bob"], away: ["bob"])).contains(" bob is typing … ─"))
        desk.enter("/ignore Mallory")
        #expect(!heading(&desk, roster(["alice", "mallory"])).contains("typing"))
        #expect(heading(&desk, roster(["MALLORY", "bob", "carol"])).contains(" bob and carol are typing … ─"))
        desk.enter("/unignore mallory")
        #expect(heading(desk).contains(" 3 are typing … ─"))
    }

    @Test("Nobody is shown without a connection, in another topic, or with the switch off")
    func hidden() {
        var desk = Desk.joined("chat.lobby", "chat.qa")
        #expect(heading(&desk, roster(["bob"])).contains("bob is typing"))
        desk.press(.control("n"))
        #expect(!heading(desk).contains("typing"))
        desk.press(.control("p"))
        #expect(heading(&desk, roster(["bob"])).contains("bob is typing"))
        desk.becomes(.reconnecting)
        #expect(!heading(desk).contains("typing"))
        desk.becomes(.connected)
        #expect(heading(desk).contains("bob is typing"))
        var settings = desk.model.settings
        settings.typing = false
        desk.send(.configuration(.changed(settings)))
        #expect(!heading(desk).contains("typing"))
    }

    @Test("Where there is no room for names there is a number, and where there is none for that, nothing")
    func room() {
        let names = ["a-person-of-a-long-name", "another-person-of-that-name"]
        #expect(
            TypingWords.fitting(names, columns: 80)?.description
                == "a-person-o…long-name and another-pe…that-name are typing …")
        #expect(TypingWords.fitting(names, columns: 50)?.description == "2 are typing …")
        #expect(TypingWords.fitting(names, columns: 13) == nil)
        #expect(TypingWords.fitting(["bob"], columns: 15)?.description == "bob is typing …")
        #expect(TypingWords.fitting(["bob"], columns: 14)?.description == "1 is typing …")
        #expect(TypingWords.fitting([], columns: 80) == nil)
        // Whatever the width, the topic's name is not touched.
        var desk = Desk.joined("chat.lobby", size: Size(rows: 12, columns: 40))
        desk.send(.people(topic: "chat.lobby", roster(["bob"])))
        for (columns, words) in [
            (20, "── chat.lobby ─ … ──"), (39, "── chat.lobby ─ 1 here ────────────────"),
            (40, "── chat.lobby ─ 1 here ─ 1 is typing … ─"), (41, "── chat.lobby ─ 1 here ── 1 is typing … ─"),
            (42, "── chat.lobby ─ 1 here ─ bob is typing … ─"),
        ] {
            #expect(desk.screen(Size(rows: 12, columns: columns))[1] == words)
        }
    }

    @Test("A crowd that types is a number, and no more of it is kept than anybody counts")
    func crowd() {
        var desk = Desk.joined("chat.lobby")
        let crowd = (0..<5_000).map { "user\($0)" }
        #expect(heading(&desk, roster(crowd)).contains(" 100+ are typing … ─"))
        #expect(desk.model.network.people.typists.count == People.typistLimit)
    }

    @Test("B53: a hostile name that types moves nothing")
    func hostile() {
        let attack = "\u{1B}[2J\u{9B}5n\u{202E}evil\r\n\u{8}" + String(repeating: "x\u{301}", count: 5_000)
        var desk = Desk.joined("chat.lobby")
        let words = heading(&desk, roster([attack]))
        #expect(words.contains(" is typing … ─") && SafeText(words).width == 80 && [words].isHarmless)
    }
}
