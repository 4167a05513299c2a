import Relay
import Terminal
import Testing

@testable import Parley

@Suite("Conversations")
struct ConversationTests {
    @Test("B38: messages are in stream order whatever order they came in, each once")
    func order() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(5, "five"), message(3, "three")])
        desk.receive([message(4, "four", isRecovered: true), message(5, "five")])
        desk.send(
            .past("chat.lobby", .history([message(1, "one"), message(2, "two"), message(3, "x")], isComplete: true)))
        #expect(desk.texts("chat.lobby") == ["1 one", "2 two", "3 three", "4 four", "5 five"])
    }

    @Test("B38: a gap is marked between what was and what follows")
    func gap() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(2, "before")])
        desk.send(.topic("chat.lobby", .gap(lost: 7)))
        desk.receive([message(10, "after")])
        #expect(desk.texts("chat.lobby") == ["2 before", "gap 7", "10 after"])
        #expect(desk.shows("─ 7 messages are gone ─"))
    }

    @Test("B38: a topic that was deleted and made again begins anew, with a marker")
    func restart() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(7, "before", id: "a")])
        desk.send(.topic("chat.lobby", .restarted))
        desk.receive([message(1, "after"), message(2, "again", id: "a")])
        #expect(desk.texts("chat.lobby") == ["restart", "1 after", "2 again"])
        #expect(desk.shows("─ the network began anew: here it goes on ─"))
    }

    @Test(
        "B39: an own message appears once, whether its echo comes before or after the acknowledgement",
        arguments: [["echo", "outcome"], ["outcome", "echo"], ["outcome"], ["echo"]])
    func ownMessage(order: [String]) throws {
        var desk = Desk.joined("chat.lobby")
        let id = try desk.publish("hello")
        #expect(desk.texts("chat.lobby") == ["sending hello"])
        for step in order {
            switch step {
            case "echo": desk.receive([message(8, "hello", from: "alice", id: id)])
            default: desk.published(id, .acknowledged(sequence: 8))
            }
        }
        #expect(desk.texts("chat.lobby") == ["8 own hello"])
        #expect(desk.model.network.outbox.queuedCount == 0)
        #expect(desk.conversation("chat.lobby")?.unread == 0)
    }

    @Test("An own line that a page of history brings counts as sent, and another that waits does not")
    func ownInHistory() throws {
        var desk = Desk.joined("chat.lobby")
        let id = try desk.publish("hello")
        desk.enter("still under way")
        desk.send(.past("chat.lobby", .history([message(8, "hello", from: "alice", id: id)], isComplete: true)))
        #expect(desk.texts("chat.lobby") == ["8 own hello", "sending still under way"])
        #expect(desk.model.network.outbox.queuedCount == 1)
    }

    @Test("B38 B64: the same id under another sequence is the same message; one that another message has hides neither")
    func sameID() {
        var desk = Desk.joined("chat.lobby")
        desk.receive([message(5, "five", id: "a"), message(9, "five", id: "a")])
        #expect(desk.texts("chat.lobby") == ["5 five"])
        desk.receive([message(15, "first", from: "carol", id: "deploy"), message(16, "done", id: "deploy")])
        desk.receive([message(19, "done", from: "carol", id: "deploy")])
        #expect(desk.texts("chat.lobby").dropFirst() == ["15 first", "16 done", "19 done"])
        // Another spelling of an id's letters is another id.
        desk.receive([message(25, "done", id: "caf\u{E9}"), message(26, "done", id: "cafe\u{301}")])
        #expect(desk.texts("chat.lobby").suffix(2) == ["25 done", "26 done"])
    }

    @Test("Ids, names and texts in which one letter has any number of marks hold up nothing")
    func manyMarks() {
        var desk = Desk.joined("chat.lobby")
        desk.enter("mine")
        let letter = "e" + String(repeating: "\u{301}\u{316}", count: 200_000)
        desk.receive([
            message(1, "one", from: letter, id: letter), message(2, letter, id: "x"), message(3, letter + "!", id: "x"),
        ])
        #expect(desk.conversation("chat.lobby")?.rows.map(\.position) == (1...3).map { .message($0) })
    }

    @Test("B65: a line that somebody else wrote under the user's name has a mark in place of ✓, and is new")
    func forged() throws {
        var desk = Desk.joined("chat.lobby")
        desk.loseFocus()
        desk.receive([
            message(1, "I never said that", from: "alice", isOwn: false),
            message(2, "the network says", from: "~parley"),
        ])
        #expect(desk.texts("chat.lobby") == ["1 I never said that", "2 the network says"])
        #expect(desk.conversation("chat.lobby")?.unread == 2)
        #expect(desk.screen().contains { $0.contains("alice?") && $0.contains("never") && $0.hasSuffix("?") })
        #expect(desk.screen().contains { $0.contains("parley?") && $0.hasSuffix("?") })
        #expect(!desk.screen().contains { $0.hasSuffix("✓") })
        let row = try #require(desk.conversation("chat.lobby")?.row(at: 0))
        desk.model.lookAt(row)
        #expect(desk.shows("not sent by you"))
    }

    @Test(
        "B65: of several messages under an own line's id the first in the stream is the own one",
        arguments: [true, false])
    func copied(inOrder: Bool) {
        var desk = Desk.joined("chat.lobby")
        let own = message(3, "I agree to a", from: "alice", id: "x")
        let copy = message(8, "I agree to b", from: "alice", id: "x")
        if inOrder {
            desk.receive([own])
            desk.receive([copy])
        } else {
            desk.receive([copy])
            desk.send(.past("chat.lobby", .history([own], isComplete: true)))
        }
        #expect(desk.texts("chat.lobby") == ["3 own I agree to a", "8 I agree to b"])
        #expect(desk.screen().contains { $0.contains("alice?") && $0.contains("agree to b") })
    }

    @Test("B39: own lines that history or another session brings are own lines too, where the name is known")
    func ownByName() {
        var desk = Desk.joined("chat.lobby")
        desk.send(
            .past("chat.lobby", .history([message(1, "mine", from: "alice"), message(2, "his")], isComplete: true)))
        desk.loseFocus()
        desk.receive([message(3, "from the other window", from: "alice")])
        #expect(desk.texts("chat.lobby") == ["1 own mine", "2 his", "3 own from the other window"])
        #expect(desk.conversation("chat.lobby")?.unread == 0)
        #expect(desk.screen().contains { $0.contains("alice  mine") && $0.hasSuffix("✓") })
        #expect(desk.screen().contains { $0.contains("bob    his") && !$0.hasSuffix("✓") })

        // Anybody can be called what somebody without credentials is called.
        var nobody = Desk.joined("chat.lobby")
        nobody.send(.identified(.init(user: "anonymous", network: "x", isNamed: false)))
        nobody.receive([message(1, "whose?", from: "anonymous")])
        #expect(nobody.texts("chat.lobby") == ["1 whose?"])
    }

    @Test("An own name is whole as soon as the first line is written")
    func ownNameWidth() {
        for state in [ConnectionStatus.State.connected, .reconnecting] {
            var desk = Desk.joined("chat.lobby", state: state)
            desk.enter("hello")
            #expect(desk.shows(" alice  hello"))
        }
    }

    @Test("B29: a line that was not sent stays, says why, and can be sent again under its old id")
    func failureAndResend() throws {
        var desk = Desk.joined("chat.lobby")
        let id = try desk.publish("big")
        desk.published(id, .failed(.timeout("The publish")))
        desk.receive([message(3, "later")])
        #expect(desk.screen().contains { $0.hasSuffix("✗") && $0.contains("big") })
        #expect(desk.shows("not sent: The publish was not answered"))
        #expect(desk.model.network.outbox.queuedCount == 0)
        #expect(desk.enter("/resend") == [.topics(.sendAgain(id: id, topic: "chat.lobby", text: "big"))])
        #expect(desk.texts("chat.lobby") == ["3 later", "queued big"])
    }

    @Test("B29: a line that may be stored already says so, and is sent again or dropped as its writer likes")
    func uncertain() throws {
        var desk = Desk.joined("chat.lobby")
        let id = try desk.publish("once?")
        desk.published(id, .uncertain)
        #expect(desk.shows("perhaps sent: The answer was lost."))
        #expect(desk.model.network.outbox.queuedCount == 0)
        #expect(desk.enter("/resend") == [.topics(.sendAgain(id: id, topic: "chat.lobby", text: "once?"))])
        desk.published(id, .uncertain)
        desk.enter("/discard")
        #expect(desk.texts("chat.lobby").isEmpty)
    }

    @Test(
        "B32: a line that was discarded, or failed, while it was under way reads as after a restart: perhaps sent",
        arguments: [PublishNews.State.discarded(.windowExpired), .failed(.timeout("The publish"))])
    func discardedUnderWay(_ state: PublishNews.State) throws {
        for (mayBeStored, verdict) in [(true, "perhaps sent: "), (false, "not sent: ")] {
            var desk = Desk.joined("chat.lobby")
            desk.enter("once?")
            let id = try #require(desk.model.network.outbox.messages.keys.first)
            let news = PublishNews(id: id, state: state, mayBeStored: mayBeStored)
            desk.send(.published(news))
            let reason = try #require(news.givenUp?.reason)
            let words = verdict + reason
            #expect(desk.conversation("chat.lobby")?.failedLines.map(\.state) == [.failed(words)])
            let message = OutboxMessage(
                id: id, destination: .topic("chat.lobby"), payload: [], mayBeStored: mayBeStored)
            let kept = KeptPublish(message: message, state: .notSent(reason), since: Desk.wall, run: "run")
            #expect(kept.lineState == .failed(words))
        }
    }

    @Test("B40: a conversation keeps a bounded number of rows, the newest", .processorBound)
    func bound() {
        var desk = Desk.joined("chat.lobby")
        for start in stride(from: UInt64(1), to: 12_000, by: 500) {
            desk.receive((start..<start + 500).map { message($0, "m") })
        }
        let conversation = desk.conversation("chat.lobby")
        #expect((conversation?.rows.count ?? .max) <= Conversation.rowLimit)
        #expect(conversation?.rows.last?.position == .message(12_000))
        #expect(conversation?.history == .more)
    }

    @Test("B40: a conversation's rows have a bounded length of text, and the newest stays however long it is")
    func textBound() {
        var desk = Desk.joined("chat.lobby")
        let text = String(repeating: "x", count: Conversation.textLimit / 10)
        for number in UInt64(1)...25 { desk.receive([message(number, text)]) }
        #expect(desk.conversation("chat.lobby")?.rows.map(\.position) == (16...25).map { .message($0) })
        // What was dropped comes again where the person pages up.
        #expect(desk.conversation("chat.lobby")?.history == .more)
        let longest = String(repeating: "y", count: Conversation.textLimit + 1)
        desk.receive([message(26, longest)])
        desk.receive([message(27, "short")])
        #expect(desk.conversation("chat.lobby")?.rows.map(\.position) == [.message(27)])
    }

    @Test(
        "B38: a page of older messages that comes when those behind it were dropped leaves no hole: it is left",
        .processorBound, arguments: [true, false])
    func droppedMeanwhile(isKept: Bool) {
        var desk = Desk.joined("chat.lobby")
        func lines(_ range: ClosedRange<UInt64>) -> [TopicMessage] { range.map { message($0, "m\($0)") } }
        desk.receive(lines(1_001...6_001))
        let first = desk.conversation("chat.lobby")?.oldest?.sequence ?? 0
        desk.press(.backTab)
        #expect(desk.press(.home) == [.topics(.loadHistory(topic: "chat.lobby", before: first, limit: 200))])
        desk.receive(lines(6_002...6_501))
        #expect(desk.conversation("chat.lobby")?.oldest?.sequence == first)
        desk.press(.end)
        desk.receive(lines(6_502...6_502))
        let next = desk.conversation("chat.lobby")?.oldest?.sequence ?? 0
        #expect(next > first)
        let page = lines(first - 200...first - 1)
        desk.send(
            .past(
                "chat.lobby",
                isKept
                    ? .keptHistory(page, gaps: [], before: first) : .history(page, before: first, isComplete: false)))
        #expect(desk.conversation("chat.lobby")?.oldest?.sequence == next)
        #expect(desk.press(.home) == [.topics(.loadHistory(topic: "chat.lobby", before: next, limit: 200))])
    }

    @Test("B63: an empty message is shown as one")
    func empty() {
        var desk = Desk.joined("chat.lobby")
        var empty = message(1, "")
        (empty.message, empty.from) = (.null, nil)
        desk.receive([empty, message(2, "two")])
        #expect(desk.texts("chat.lobby") == ["1 (empty message)", "2 two"])
    }

    @Test("B37: a message that two subscriptions bring is shown once, in the closest of them")
    func overlap() {
        var desk = Desk.joined("chat.>", "chat.lobby", ">")
        for name in ["chat.>", "chat.lobby", ">"] {
            desk.receive([message(1, "hi"), message(2, "qa", topic: "chat.qa"), message(3, "x", topic: "y")], in: name)
        }
        #expect(desk.texts("chat.lobby") == ["1 hi"])
        #expect(desk.texts("chat.>") == ["2 qa"])
        #expect(desk.texts(">") == ["3 x"])
    }

    @Test("B44: a topic that fails says so and the others go on")
    func failedTopic() {
        var desk = Desk.joined("chat.lobby", "secret.room")
        desk.send(.topic("secret.room", .failed(.notAuthorized("secret.room"))))
        #expect(desk.shows("✗ secret.room"))
        #expect(desk.conversation("chat.lobby")?.subscription == .live)
    }

    @Test("History is asked for once the topic is live, and again at the top")
    func history() {
        var desk = Desk()
        desk.send(.start(topics: ["chat.lobby"]))
        #expect(desk.effects == [.topics(.subscribe(topic: "chat.lobby")), .letters(.open)])
        #expect(
            desk.send(.topic("chat.lobby", .live)) == [
                .topics(.loadHistory(topic: "chat.lobby", before: nil, limit: 200))
            ])
        desk.send(.past("chat.lobby", .history((51...99).map { message($0, "m\($0)") }, isComplete: false)))
        #expect(desk.conversation("chat.lobby")?.unread == 0)
        var asked: ChatEffects = []
        for _ in 0..<10 { asked += desk.press(.pageUp) }
        #expect(asked == [.topics(.loadHistory(topic: "chat.lobby", before: 51, limit: 200))])
    }
}
