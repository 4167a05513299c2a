import GRDB
import Testing

@testable import Relay

@Suite("Local store: what the person was at")
struct StoreDeskTests {
    @Test("B32 the outbox comes back in its order, with what may be stored already")
    func outbox() async throws {
        let (fixture, store) = try StoreFixture.opened()
        var letter = StoreFixture.publish("2")
        letter.message = OutboxMessage(
            id: "2", destination: .postbox(user: "carol", postbox: "personal"), payload: [1, 2])
        var first = StoreFixture.publish("1")
        first.state = .sending
        try await store.commit([.outbox(first), .outbox(letter), .outbox(StoreFixture.publish("3"))])
        try await store.commit([.outboxNotSent(id: "3", "the session ended", mayBeStored: false)])
        try await store.commit([.outbox(StoreFixture.publish("4")), .outboxEnded(id: "4"), .outboxEnded(id: "none")])
        // One that is there keeps its place.
        letter.message = OutboxMessage(id: "2", destination: letter.message.destination, payload: [3])
        try await store.commit([.outbox(letter)])
        try await store.close()

        let kept = try await fixture.open().outbox()
        #expect(kept.map(\.message.id) == ["1", "2", "3"])
        #expect(kept.map(\.state) == [.sending, .queued, .notSent("the session ended")])
        #expect(kept.map(\.message.mayBeStored) == [true, false, false])
        #expect(kept[1] == letter)
    }

    @Test("A line that waits for its writer's name still waits for it")
    func unsigned() async throws {
        let store = try StoreFixture.store()
        let line = ChatLine(username: "", text: "hello", timestamp: Timestamp(milliseconds: 5))
        let envelope = Envelope(id: "1", room: "chat", message: line.value, start: Timestamp(milliseconds: 5))
        let message = OutboxMessage(
            id: "1", destination: .topic("chat"), payload: envelope.encoded(), unsigned: .line(line))
        try await store.commit([.outbox(KeptPublish(message: message, since: Timestamp(milliseconds: 5)))])
        #expect(try await store.outbox().map(\.message) == [message])
    }

    @Test("Who is ignored, what is muted and what was chosen come back, each once, and what is no more does not")
    func chosen() async throws {
        let (fixture, store) = try StoreFixture.opened()
        try await store.commit([.ignored("eve", true), .ignored("mallory", true), .ignored("eve", true)])
        try await store.commit([.muted("b", true), .muted("alerts.>", true), .muted("a", true), .muted("b", true)])
        try await store.commit([.choice("order", true), .choice("folded", true), .choice("other", false)])
        try await store.commit([
            .ignored("mallory", false), .ignored("nobody", false), .muted("alerts.>", false), .muted("c", false),
            .choice("order", nil), .choice("folded", false),
        ])
        try await store.close()
        let again = try fixture.open()
        var desk = try await again.desk()
        #expect(desk.ignored == ["eve"] && desk.muted == ["b", "a"])
        #expect(desk.choices == ["folded": false, "other": false])
        // They are bounded, and the oldest give way.
        try await again.commit((0..<StoreBounds.ignored + 10).map { .ignored("name \($0)", true) })
        try await again.commit((0..<StoreBounds.muted + 10).map { .muted("topic.\($0)", true) })
        try await again.commit((0..<StoreBounds.choices + 10).map { .choice("choice \($0)", true) })
        desk = try await again.desk()
        #expect(desk.ignored.count == StoreBounds.ignored && !desk.ignored.contains("eve"))
        #expect(desk.ignored.contains("name 1009"))
        #expect(desk.muted.count == StoreBounds.muted && !desk.muted.contains("b") && desk.muted.last == "topic.1009")
        #expect(desk.choices.count == StoreBounds.choices && desk.choices["other"] == nil)
        #expect(desk.choices["choice 109"] == true)
        try await again.close()
    }

    @Test("Drafts, joined topics, cursors and marks come back")
    func desk() async throws {
        let (fixture, store) = try StoreFixture.opened()
        try await store.commit([
            .join("b"), .join("a"), .join("b"), .draft(conversation: "a", "one"), .draft(conversation: "b", "two"),
            .cursor("a", StoreFixture.place(5)), .readMark("a", StoreFixture.place(3)),
        ])
        try await store.commit([
            .leave("a"), .join("c"), .order(["c", "b"]), .draft(conversation: "a", ""),
            .draft(conversation: "b", "three"),
        ])
        try await store.commit([.cursor("a", StoreFixture.place(6))])
        try await store.close()

        let again = try fixture.open()
        #expect(try await again.desk().joined == ["c", "b"])
        #expect(try await again.desk().drafts == ["b": "three"])
        #expect(try await again.cursor(of: "a") == StoreFixture.place(6))
        #expect(try await again.readMark(of: "a") == StoreFixture.place(3))
        try await again.close()
    }

    @Test("Two chats that share a store join, leave and read beside each other")
    func shared() async throws {
        let fixture = try StoreFixture()
        let (one, two) = (try fixture.open(), try fixture.open())
        try await one.commit([.join("a"), .join("b")])
        try await one.commit([.join("c")])
        try await two.commit([.join("d"), .leave("a"), .join("b"), .leave("none")])
        try await one.commit([.join("e")])
        #expect(try await two.desk().joined == ["b", "c", "d", "e"])

        try await one.commit([.readMark("a", StoreFixture.place(9))])
        try await two.commit([.readMark("a", StoreFixture.place(7))])
        #expect(try await one.readMark(of: "a") == StoreFixture.place(9))
        try await two.commit([.readMark("a", StoreFixture.place(10))])
        #expect(try await one.readMark(of: "a") == StoreFixture.place(10))
        // A stream that was made anew begins again.
        let new = KeptPlace(stream: StreamIdentity(name: "N_stream", incarnation: 2_000), sequence: 1)
        try await one.commit([.readMark("a", new)])
        #expect(try await two.readMark(of: "a") == new)
        try await one.close()
        try await two.close()
    }

    @Test("An order of topics is kept, and what another chat has joined meanwhile comes behind them")
    func order() async throws {
        let fixture = try StoreFixture()
        let (one, two) = (try fixture.open(), try fixture.open())
        try await one.commit([.join("a"), .join("b"), .join("c")])
        try await two.commit([.leave("b"), .join("d")])
        try await one.commit([.order(["c", "b", "a"])])
        #expect(try await two.desk().joined == ["c", "a", "d"])
        try await two.commit([.join("e")])
        #expect(try await one.desk().joined == ["c", "a", "d", "e"])
        try await one.close()
        try await two.close()
    }

    @Test("Lines are bounded, in number and in length")
    func lines() async throws {
        let store = try StoreFixture.store()
        try await store.commit((1...1_005).map { StoreChange.line(KeptLine("line \($0)")) })
        let lines = try await store.desk().lines
        #expect(lines.count == StoreBounds.lines && lines.first?.text == "line 6" && lines.last?.text == "line 1005")
        #expect(try await store.desk().lines.suffix(2) == [KeptLine("line 1004"), KeptLine("line 1005")])
        try await store.commit([.line(KeptLine("there", in: "chat.lobby"))])
        #expect(try await store.desk().lines.suffix(1) == [KeptLine("there", in: "chat.lobby")])
        try await store.commit([.line(KeptLine(String(repeating: "é", count: StoreBounds.textBytes)))])
        #expect(try await store.desk().lines.last?.text.utf8.count == StoreBounds.textBytes)
    }

    @Test("B35: a text that is too long to be sent is kept whole as a draft")
    func longDraft() async throws {
        let store = try StoreFixture.store()
        let text = String(repeating: "x", count: 262_144)
        try await store.commit([.draft(conversation: "chat.lobby", text)])
        #expect(try await store.desk().drafts == ["chat.lobby": text])
    }

    @Test("Letters are kept once, by their direction and time")
    func letters() async throws {
        let store = try StoreFixture.store()
        func letter(_ id: String, _ time: Int64, _ direction: KeptLetter.Direction = .received) -> KeptLetter {
            KeptLetter(
                direction: direction, id: id, person: direction == .sent ? "carol" : nil, postbox: "personal",
                time: Timestamp(milliseconds: time), text: "letter \(id)")
        }
        try await store.commit([
            .letter(letter("1", 10)), .letter(letter("2", 30)), .letter(letter("1", 20, .sent)),
            .letter(letter("1", 99)),
        ])
        #expect(try await store.letters(limit: 9) == [letter("2", 30), letter("1", 20, .sent), letter("1", 10)])
        #expect(try await store.letters(.received, limit: 9) == [letter("2", 30), letter("1", 10)])
        #expect(try await store.letters(.sent, limit: 9) == [letter("1", 20, .sent)])
        try await store.commit([.letterDeleted(.received, id: "1"), .letterDeleted(.received, id: "none")])
        #expect(try await store.letters(limit: 9).map(\.id) == ["2", "1"])
        await #expect(throws: RelayError.invalidArgument("The limit is from 1 to 10000")) {
            try await store.letters(limit: 0)
        }
    }

    @Test("A letter's subject is kept, listed and found")
    func subjects() async throws {
        let store = try StoreFixture.store()
        let place = PostboxMessageID(incarnation: 7, sequence: 1)
        let letter = KeptLetter(
            direction: .received, id: place.text, person: "bob", postbox: "personal", time: Timestamp(milliseconds: 5),
            text: "see below", subject: "Quarterly figures")
        try await store.commit([.letter(letter)])
        #expect(try await store.letters(limit: 9) == [letter])
        #expect(try await store.search(SearchQuery("quarterly below")).hits == [.letter(letter)])
        let page = try await store.letterPage(limit: 9, nextToken: nil, postbox: nil, owner: "alice").page
        #expect(page.items.map(\.subject) == ["Quarterly figures"] && page.items.map(\.message) == ["see below"])
    }

    @Test("A part of what is committed together is never kept alone")
    func together() async throws {
        let store = try StoreFixture.store()
        try await store.database.write { try $0.execute(sql: "DROP TABLE lines") }
        await #expect(throws: RelayError.self) {
            try await store.commit([.outbox(StoreFixture.publish("1")), .line(KeptLine("x"))])
        }
        #expect(try await store.outbox().isEmpty)
    }
}
