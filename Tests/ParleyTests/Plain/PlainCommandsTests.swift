import Relay
import Terminal
import Testing

@testable import Parley

/// What commands do without a screen.
@Suite("Plain mode's commands")
struct PlainCommandsTests {
    private static let topic = "chat.lobby"

    /// In a topic with messages of bob's, numbered from 1.
    private static func lobby(_ texts: String..., state: ConnectionStatus.State = .connected) -> PlainDesk {
        var desk = Desk.joined(topic, "chat.ops", state: state)
        let messages = texts.enumerated().map { message(UInt64($0 + 1), $1) }
        desk.send(.topic(topic, .messages(messages)))
        return PlainDesk(desk)
    }

    /// In a topic of which the newest messages are here.
    private static func live(_ sequences: ClosedRange<UInt64>) -> PlainDesk {
        var desk = Desk(state: .connected)
        desk.send(.start(topics: [topic]))
        desk.send(.topic(topic, .live))
        desk.send(.past(topic, .history(sequences.map { message($0, "text \($0)") }, isComplete: false)))
        return PlainDesk(desk)
    }

    /// Searches, and is told of messages that have it.
    private static func search(_ text: String, _ plain: inout PlainDesk, _ sequences: UInt64...) throws -> [String] {
        _ = plain.enter("/search \(text)")
        let request = try #require(plain.desk.search?.request)
        let found = sequences.map { sequence in
            FoundItem.message(
                FoundMessage(
                    topic: topic,
                    place: KeptPlace(stream: StreamIdentity(name: "local_stream", incarnation: 7), sequence: sequence),
                    id: "m\(sequence)", from: "bob", time: Desk.wall, text: "\(text) \(sequence)"))
        }
        return plain.send(.search(.found(request: request, found, isComplete: true)))
    }

    /// Opens what was found, and is told of ten messages on each side.
    private static func open(_ number: Int, _ plain: inout PlainDesk, around sequence: UInt64) throws -> [String] {
        let lines = plain.enter("/open \(number)").lines
        #expect(lines == [])
        let request = try #require(plain.desk.excerpt?.request)
        let messages = (sequence - 10...sequence + 10).map { message($0, "text \($0)") }
        return plain.send(.search(.around(request: request, ExcerptPart(direction: .around, messages: messages))))
    }

    @Test("Each command says something", arguments: SlashCommand.entries)
    func everyCommand(_ entry: SlashCommand.Entry) throws {
        // Without a connection, so that what is sent says that it waits.
        var plain = Self.lobby("see https://example.org/a", state: .reconnecting)
        let arguments = [
            "join": "chat.new", "say": "hello", "post": "bob/personal hello", "search": "see", "find": "see",
            "open": "1", "quote": "1 indeed", "link": "1", "ignore": "mallory", "unignore": "mallory", "away": "lunch",
            "kv": "get greeting",
        ]
        var lines = plain.enter("/\(entry.name) \(arguments[entry.name] ?? "")").lines
        for effect in plain.effects.core {
            switch effect {
            case .topics(.publish(let id, _, _)), .letters(.post(let id, _, _, _, _)):
                lines += plain.published(id, .queued)
            case .search(.find(let request, _, _, _)):
                lines += plain.send(.search(.found(request: request, [], isComplete: true)))
            case .letters(.listPage(let request, _, _, _, _)):
                lines += plain.send(.postbox(.page(request: request, ListOutput(items: [], nextToken: nil))))
            case .letters(.listSent): lines += plain.send(.postboxes(.sent([])))
            case .keys(.answer): lines += plain.send(.keys("greeting = hello", isFailure: false))
            case .connection(.disconnect): lines += plain.becomes(.disconnected)
            default: break
            }
        }
        // The program's end says enough.
        #expect(!lines.isEmpty || plain.effects.contains(.quit), "/\(entry.name) says nothing")
        // The help has the keys too, for those who have a screen elsewhere.
        guard entry.name != "help" else { return }
        #expect(!lines.contains { $0.contains("clipboard") || $0.contains("Alt-") }, "\(lines)")
    }

    @Test("What changes nothing says so all the same")
    func unchanged() {
        var plain = Self.lobby("one")
        #expect(plain.enter("/join chat.lobby").lines == ["You are in chat.lobby."])
        #expect(plain.enter("/reconnect").lines == ["Connecting …"])
        _ = plain.becomes(.disconnected)
        #expect(plain.enter("/disconnect").lines == ["Disconnected already. /reconnect connects again."])
    }

    @Test("Older pages are said in their order below a heading: first what is here, then what is loaded")
    func history() throws {
        var plain = Self.live(101...130)
        #expect(
            plain.enter("/history").lines
                == ["20 older messages of chat.lobby:"] + (101...120).map { "10:00 bob: text \($0)" })
        #expect(!plain.effects.core.contains { if case .topics(.loadHistory) = $0 { true } else { false } })

        #expect(plain.enter("/history").lines == [])
        #expect(
            plain.effects.contains(.topics(.loadHistory(topic: Self.topic, before: 101, limit: ChatModel.historyPage))))
        let page = (41...100).map { message($0, "text \($0)") }
        #expect(
            plain.send(.past(Self.topic, .history(page, before: 101, isComplete: true)))
                == ["50 older messages of chat.lobby:"] + (51...100).map { "10:00 bob: text \($0)" })
        // It is said once, whatever comes meanwhile.
        #expect(plain.hear(message(131, "new")) == ["10:00 bob: new"])
        #expect(
            plain.enter("/history").lines
                == ["The first 10 messages of chat.lobby:"] + (41...50).map { "10:00 bob: text \($0)" })
        #expect(plain.enter("/history").lines == ["The first message of chat.lobby is here already."])
    }

    @Test("Older messages that this machine keeps are said too, and a failure says why")
    func keptHistory() {
        var plain = Self.live(9...9)
        _ = plain.enter("/history")
        #expect(
            plain.send(.past(Self.topic, .keptHistory([message(8, "eight")], gaps: [KeptGap(end: 9, lost: 0)])))
                == ["1 older message of chat.lobby:", "10:00 bob: eight"])
        _ = plain.enter("/history")
        let failed = plain.send(.past(Self.topic, .historyFailed(.notConnected)))
        #expect(failed.count == 1 && failed[0].hasPrefix("Older messages could not be loaded."))
    }

    @Test("What was found has numbers; one is said with what is around it, and the others are still there behind it")
    func search() throws {
        var plain = Self.lobby("one")
        #expect(
            try Self.search("needle", &plain, 50, 20) == [
                "2 things found, the newest first:", "1. 21 Nov 10:00, chat.lobby, bob: needle 50",
                "2. 21 Nov 10:00, chat.lobby, bob: needle 20", "/open NUMBER goes to one.",
            ])
        #expect(plain.enter("/open 3").lines == ["2 things were found; there is no 3."])
        for (number, sequence) in [(1, UInt64(50)), (2, 20)] {
            let lines = try Self.open(number, &plain, around: sequence)
            #expect(lines.first == "Around what was found in chat.lobby:" && lines.count == 13)
            #expect(lines.dropFirst().first == "10:00 bob: text \(sequence - 5)")
            #expect(
                plain.enter("/history").lines
                    == ["5 older messages:"] + (sequence - 10..<sequence - 5).map { "10:00 bob: text \($0)" })
            #expect(
                plain.enter("/more").lines
                    == ["5 newer messages:"] + (sequence + 6...sequence + 10).map { "10:00 bob: text \($0)" })
            // It is what commands without a number are for.
            #expect(plain.enter("/details").lines.contains("sequence: \(sequence)"))
        }
        #expect(plain.enter("hello").id != nil && plain.desk.model.screen.view == .conversation("chat.lobby"))
    }

    @Test("/find goes on from one message to the next, and says when there is none above")
    func find() {
        var plain = Self.lobby("a needle", "hay", "two needles", "straw")
        #expect(plain.enter("/find").lines == ["Nothing is looked for here. /find LETTERS begins."])
        #expect(plain.enter("/find needle").lines == ["10:00 bob: two needles"])
        #expect(plain.enter("/find").lines == ["10:00 bob: a needle"])
        #expect(plain.enter("/find").lines == ["No message above has needle; /history loads older ones."])
        // What comes meanwhile is said and read all the same.
        #expect(plain.hear(message(5, "new")) == ["10:00 bob: new"])
        #expect(plain.desk.model.unreadMessages == 0)
    }

    @Test("/find in the letter that was read says the lines that have it")
    func findInLetter() {
        var plain = PlainDesk(Desk.inbox([letter(1, "one\ntwo needles\nthree\na needle")]))
        _ = plain.enter("/read 1")
        #expect(plain.enter("/find needle").lines == ["two needles", "a needle"])
        // It goes on line by line, and says when there is none.
        #expect(plain.enter("/find").lines == ["a needle"])
        #expect(plain.enter("/find").lines == ["No line below has needle."])
        #expect(plain.enter("/find dragons").lines == ["Nothing in this letter has dragons."])
    }

    @Test("Around what was found /find goes up from there, and what it leads to is said")
    func findAround() throws {
        var plain = Self.lobby("one")
        _ = try Self.search("text", &plain, 50)
        _ = try Self.open(1, &plain, around: 50)
        #expect(plain.enter("/find text 4").lines == ["10:00 bob: text 49"])
        #expect(plain.enter("/find").lines == ["10:00 bob: text 48"])
        #expect(plain.enter("/details").lines.contains("sequence: 48"))
    }

    @Test("A message is quoted, looked at and read by its number from the newest, or as the one that was gone to")
    func numbered() {
        var plain = Self.lobby("first", "second\nline", "third")
        let answer = plain.enter("/quote 2 indeed")
        #expect(
            plain.effects.contains(
                .topics(.publish(id: answer.id ?? "", topic: "chat.lobby", text: "> bob: second\n> line\nindeed"))))
        #expect(plain.enter("/quote 1").lines.first?.contains("/quote [NUMBER] TEXT") == true)
        #expect(plain.desk.model.compose.isEmpty)
        // The own line is the newest now.
        #expect(plain.enter("/details 4").lines.prefix(2) == ["About this message:", "from: bob"])
        #expect(plain.enter("/details 9").lines == ["Only 4 messages of chat.lobby are here."])
        #expect(plain.enter("/read 3").lines.suffix(2) == ["second", "line"])
        _ = plain.enter("/find first")
        #expect(plain.enter("/details").lines.contains("sequence: 1"))
        // What is said to the topic ends that.
        _ = plain.enter("well")
        #expect(plain.enter("/details").lines.contains("from: alice"))
    }

    @Test("What is read whole is said each time it is asked for, and the topic goes on where it was")
    func readAgain() {
        var plain = Self.lobby("first", "second\nline", "third")
        let read = ["from bob in chat.lobby, 21 Nov 10:00", "second", "line"]
        #expect(plain.enter("/read 2").lines == read)
        #expect(plain.enter("/read 2").lines == read)
        // It covers nothing: what comes is said at once, and once.
        #expect(plain.hear(message(4, "fourth")) == ["10:00 bob: fourth"])
        #expect(plain.enter("well").lines == [])
        #expect(plain.hear(message(5, "fifth")) == ["10:00 bob: fifth"])
    }

    @Test("A sent letter is said each time it is asked for")
    func sentAgain() {
        var plain = Self.lobby("one")
        _ = plain.enter("/sent")
        let sent = KeptLetter(
            direction: .sent, id: "s1", person: "bob", postbox: "personal", time: Desk.wall, text: "see below")
        _ = plain.send(.postboxes(.sent([sent])))
        for _ in 1...2 { #expect(plain.enter("/sent 1").lines.last == "see below") }
        #expect(plain.enter("hello").lines == [])
    }

    @Test("B35: a line that is too long is left to the core, which refuses it and keeps it")
    func tooLong() {
        var plain = Self.lobby()
        let text = String(repeating: "x", count: Compose.messageBytes + 1)
        #expect(plain.enter(text).id != nil)
    }

    @Test("Unsent lines have numbers that stay; one is sent again or dropped by its own")
    func unsent() {
        var plain = Self.lobby()
        let ids = ["one", "two", "three"].map { plain.enter($0).id ?? "" }
        for id in ids {
            _ = plain.published(id, .failed(.tooLarge(bytes: 9, limit: 8)))
        }
        let listed = plain.enter("/unsent").lines
        #expect(listed.count == 4 && listed[0] == "Unsent lines of chat.lobby:")
        #expect(listed[2].hasPrefix("2: two (not sent: "))
        #expect(plain.enter("/resend 1").lines == ["Sending again: one"])
        #expect(plain.effects.contains(.topics(.sendAgain(id: ids[0], topic: "chat.lobby", text: "one"))))
        #expect(plain.published(ids[0], .acknowledged(sequence: 1)) == ["Sent: one"])
        #expect(plain.enter("/discard 2").lines == ["Dropped 1 line."])
        #expect(plain.enter("/resend 2").lines == ["There is no unsent line 2. /unsent lists them."])
        #expect(plain.enter("/resend").lines == ["Sending again: three"])
    }

    @Test("Behind a message with a long address the picture or file is said that it names")
    func namedFiles() {
        var plain = Self.lobby("one")
        let link = "https://cdn.example.org/" + String(repeating: "attachments/", count: 6) + "cat.png?size=large"
        #expect(plain.hear(message(2, "see \(link) now")) == ["10:00 bob: see \(link) now (image cat.png)"])
        #expect(plain.hear(message(3, "http://a.b/cat.png")) == ["10:00 bob: http://a.b/cat.png"])
    }

    @Test("A link of the list is said, whole however long it is, and nothing is copied")
    func links() {
        let link = "https://example.org/" + String(repeating: "a", count: 200)
        var plain = Self.lobby("see \(link)")
        #expect(plain.enter("/links").lines == ["Links in chat.lobby:", "1  bob: \(link)"])
        #expect(plain.enter("/link 1").lines == [link])
        #expect(!plain.effects.screen.contains { if case .copy = $0 { true } else { false } })
    }

    @Test("/more lists the next letters, and /inbox begins again")
    func pages() throws {
        var plain = Self.lobby()
        func answer(_ plain: inout PlainDesk, _ letters: [PostboxMessage], next: String?) throws -> [String] {
            let request = try #require(plain.desk.model.network.inbox.fetch?.request)
            return plain.send(.postbox(.page(request: request, ListOutput(items: letters, nextToken: next))))
        }
        _ = plain.enter("/inbox")
        let first = try answer(&plain, (1...25).map { letter($0) }, next: "t")
        #expect(first.first == "25 letters:" && first.last?.hasPrefix("There are more; /more lists them.") == true)
        #expect(plain.enter("/more").lines == [])
        let second = try answer(&plain, [letter(26, "last")], next: nil)
        #expect(second.first == "Page 2, 1 letter:" && second[1].hasPrefix("1. "))
        #expect(plain.enter("/more").lines == ["This is the last page."])
        #expect(plain.enter("/inbox").lines == [])
        #expect(try answer(&plain, [letter(1)], next: "t").first == "1 letter:")
    }

    @Test("All that is new in a topic is said when it comes into view")
    func newMessages() {
        var plain = Self.lobby()
        let messages = (1...30).map { message($0, "text \($0)", topic: "chat.ops") }
        _ = plain.send(.topic("chat.ops", .messages(messages)))
        let lines = plain.enter("/next").lines
        #expect(lines.prefix(3) == ["Now in chat.ops.", "The last 30 messages:", "10:00 bob: text 1"])
    }
}
