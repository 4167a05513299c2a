import Relay
import Terminal
import Testing

@testable import Parley

/// Somebody without a screen: what is said after each event.
struct PlainDesk {
    var desk: Desk
    private var announcer = PlainAnnouncer()

    init(_ desk: Desk) {
        self.desk = desk
        self.desk.acceptsAtOnce = false
        self.desk.model.spoken = ChatModel.Spoken()
        _ = announcer.lines(after: .log(""), [], self.desk.model)
    }

    /// What followed from the last event.
    private(set) var effects: ChatEffects = []

    mutating func send(_ event: ChatEvent) -> [String] {
        effects = update(desk.model, event)
        return announcer.lines(after: event, effects.core, desk.model)
    }

    /// What is said of messages.
    mutating func hear(_ messages: TopicMessage...) -> [String] {
        send(.topic(messages.first?.topic ?? "chat.lobby", .messages(messages)))
    }

    mutating func becomes(_ state: ConnectionStatus.State, _ reason: ConnectionReason? = nil) -> [String] {
        send(.statusChanged(ConnectionStatus(state: state, reason: reason)))
    }

    mutating func published(_ id: String?, _ state: PublishNews.State, mayBeStored: Bool = false) -> [String] {
        send(.published(PublishNews(id: id ?? "", state: state, mayBeStored: mayBeStored)))
    }

    /// Time passes.
    mutating func wait(_ seconds: Int64) -> [String] {
        let now = desk.model.now
        return send(
            .tick(
                Moment(
                    instant: now.instant.advanced(by: .seconds(seconds)),
                    wall: Timestamp(milliseconds: now.wall.milliseconds + seconds * 1_000))))
    }

    /// Enters a line; what is said, and the identifier of what was sent.
    mutating func enter(_ text: String) -> (lines: [String], id: String?) {
        let lines = send(.line(text))
        var id: String?
        for case .topics(.publish(let publish, _, _)) in effects.core { id = publish }
        return (lines, id)
    }
}

@Suite("Plain mode")
struct PlainAnnouncerTests {
    private static func lobby(_ messages: TopicMessage..., state: ConnectionStatus.State = .connected) -> PlainDesk {
        var desk = Desk.joined("chat.lobby", "chat.ops", state: state)
        desk.send(.topic("chat.lobby", .messages(messages)))
        return PlainDesk(desk)
    }

    @Test("B59 A topic that may only be read is said to be, once; a line to it is the core's to refuse and to keep")
    func readOnly() {
        var plain = Self.lobby(line(1, "before"))
        let words = "chat.lobby is read-only with this key."
        #expect(plain.send(.permitted(AccessRights(publish: ["chat.ops"], subscribe: ["chat.>"]))) == [words])
        #expect(plain.send(.permitted(AccessRights(publish: ["chat.ops"], subscribe: [">"]))) == [])
        #expect(plain.enter("hello").id != nil)
        #expect(!plain.enter("/join chat.ops").lines.contains { $0.contains("read-only") })
        let back = plain.enter("/join chat.lobby").lines
        #expect(back.contains("Now in chat.lobby.") && back.contains(words), "\(back)")
        #expect(plain.send(.permitted(AccessRights.all)) == ["You can write to chat.lobby now."])
    }

    @Test("A message to the topic in view is one line with time and name, each once")
    func oneMessage() {
        var plain = Self.lobby(line(1, "before"))
        #expect(plain.hear(line(2, "hello")) == ["10:00 bob: hello"])
        #expect(plain.hear(line(2, "hello")) == [])
        #expect(plain.hear(line(3, "a\u{B}b\u{C}c\u{85}d")) == ["10:00 bob: a b c d"])
        #expect(plain.hear(line(4, "alice: hey")) == ["10:00 bob, to you: alice: hey"])
    }

    @Test("Text of several lines goes on below, and nothing of it can be taken for another line or for a control")
    func hostile() {
        var plain = Self.lobby()
        let text = "one\n10:00 carol: forged\u{1B}[2J\u{9B}31m\u{202E}x\r\ny"
        let lines = plain.hear(line(1, text, from: "b\nob\u{1B}"))
        #expect(lines.first?.hasPrefix("10:00 b") == true && lines.dropFirst().allSatisfy { $0.hasPrefix("    ") })
        #expect(lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
    }

    @Test("Of other topics it is said once that something is new, and each message that calls the person")
    func others() {
        var plain = Self.lobby()
        func ops(_ sequence: UInt64, _ text: String) -> ChatEvent {
            .topic("chat.ops", .messages([line(sequence, text, topic: "chat.ops")]))
        }
        #expect(plain.send(ops(1, "disk")) == ["chat.ops has something new."])
        #expect(plain.send(ops(2, "load")) == [])
        #expect(plain.send(ops(3, "@alice look")) == ["10:00 chat.ops, bob, to you: @alice look"])
        #expect(
            plain.enter("/join chat.ops").lines == [
                "Now in chat.ops.", "The last 3 messages:", "10:00 bob: disk", "10:00 bob: load",
                "10:00 bob, to you: @alice look",
            ])
        #expect(plain.send(ops(4, "fine")) == ["10:00 bob: fine"])
    }

    @Test("B65: a line that somebody else wrote under the user's name is not said as the user's own")
    func forged() {
        var plain = Self.lobby(line(1, "before"))
        let forged = message(2, "I never said that", from: "alice", isOwn: false)
        #expect(plain.hear(forged) == ["10:00 alice? (not sent by you): I never said that"])
    }

    @Test("An own line is not repeated; that it waits, that it has left and that it did not is said")
    func own() {
        var plain = Self.lobby()
        let sent = plain.enter("hi there")
        #expect(sent.lines == [] && sent.id != nil)
        #expect(plain.published(sent.id, .acknowledged(sequence: 1)) == [])
        #expect(plain.hear(line(1, "hi there", from: "alice", id: sent.id)) == [])
        #expect(plain.becomes(.reconnecting, .networkUnavailable).count == 1)
        let waiting = plain.enter("later")
        #expect(plain.published(waiting.id, .queued) == ["Waits for a connection: later"])
        #expect(plain.published(waiting.id, .acknowledged(sequence: 2)) == ["Sent: later"])
        let large = plain.enter("too large")
        let failure = plain.published(large.id, .failed(.tooLarge(bytes: 9, limit: 8)))
        #expect(failure.count == 1 && failure[0].hasPrefix("Not sent: too large. ") && failure[0].contains("/resend"))
    }

    @Test("Of a line that was perhaps sent both ways on are said")
    func uncertain() {
        var plain = Self.lobby()
        let id = plain.enter("hi there").id ?? ""
        #expect(
            plain.published(id, .uncertain)
                == [
                    "Perhaps sent: hi there. The answer was lost. Sent again, it may be there twice. "
                        + "/resend sends it again, /discard drops it."
                ])
        let other = plain.enter("and this").id ?? ""
        let words = ConnectionReason.windowExpired.words
        let next = "/resend sends it again, /discard drops it."
        #expect(
            plain.published(other, .discarded(.windowExpired), mayBeStored: true)
                == ["Perhaps sent: and this. \(words) \(next)"])
    }

    @Test("B32 A letter that was refused is said with its reason, leaves no draft behind, and is kept")
    func refusedLetter() throws {
        var plain = Self.lobby()
        plain.desk.model.network.keepsOutbox = true
        _ = plain.enter("/post bob/personal Lunch?")
        let id = try #require(plain.desk.model.network.outbox.messages.keys.first)
        let error = RelayError.tooLarge(bytes: 9, limit: 8)
        #expect(
            plain.published(id, .failed(error))
                == ["Not sent: Lunch?. \(error.words) parley outbox send \(id) sends it again."])
        #expect(plain.desk.model.compose.isEmpty && !plain.effects.contains(.topics(.drop(ids: [id]))))
    }

    @Test("B61 The connection is said as it changes, and never as it counts")
    func connection() {
        var plain = Self.lobby()
        var status = ConnectionStatus(state: .reconnecting, reason: .networkUnavailable, attempt: 1)
        let lost = plain.send(.statusChanged(status))
        #expect(lost.count == 1 && lost[0].hasPrefix("The connection is lost."))
        for attempt in 2...5 {
            status.attempt = attempt
            #expect(plain.send(.statusChanged(status)) == [])
        }
        #expect(plain.becomes(.connected) == ["Connected."])
        let silent = ConnectionStatus(state: .connected, silentSince: Desk.start)
        #expect(plain.send(.statusChanged(silent)) == ["The server is not answering. What you write waits."])
        #expect(plain.send(.statusChanged(silent)) == [])
        #expect(plain.becomes(.connected) == ["The server answers again."])
    }

    @Test("B9 Without a connection what is kept is said as soon as that is known, and once; then what the network has")
    func offline() {
        var plain = PlainDesk(.opened(KeptDesk(topics: ["chat.lobby"]), named: ["chat.lobby"]))
        #expect(plain.send(.past("chat.lobby", .kept(KeptTopic(messages: [line(1, "one"), line(2, "two")])))) == [])
        let reason = ConnectionReason.unreachable("connection refused")
        var status = ConnectionStatus(state: .connecting, reason: reason, attempt: 1)
        #expect(
            plain.send(.statusChanged(status)) == [
                "There is no connection yet. \(reason.words) What you write waits.", "The last 2 messages:",
                "10:00 bob: one", "10:00 bob: two",
            ])
        status.attempt = 2
        #expect(plain.send(.statusChanged(status)) == [])
        #expect(plain.becomes(.connected) == ["Connected."])
        #expect(plain.hear(line(4, "four")) == ["10:00 bob: four"])
        #expect(plain.send(.topic("chat.lobby", .live)) == [])
        let history = [line(1, "one"), line(2, "two"), line(4, "four"), line(5, "five")]
        #expect(plain.send(.past("chat.lobby", .history(history, isComplete: true))) == ["10:00 bob: five"])

        // Where the failure comes first, they are said when they come.
        var late = Desk(state: .connecting)
        late.send(.start(topics: ["chat.lobby"], keeps: true))
        var other = PlainDesk(late)
        _ = other.send(.statusChanged(status))
        _ = other.send(.opened(KeptDesk(topics: ["chat.lobby"])))
        #expect(
            other.send(.past("chat.lobby", .kept(KeptTopic(messages: [line(1, "one")]))))
                == ["The last 1 message:", "10:00 bob: one"])
    }

    @Test("What a topic has when its stream was made anew is said, though its sequences begin again")
    func madeAnew() {
        var plain = Self.lobby(line(7, "before"))
        _ = plain.send(.topic("chat.lobby", .restarted))
        #expect(plain.hear(line(1, "after")) == ["10:00 bob: after"])
    }

    @Test("Lists are said and closed; a question waits for its answer")
    func lists() {
        var plain = Self.lobby()
        let help = plain.enter("/help").lines
        #expect(help.contains("Commands:") && help.contains { $0.hasPrefix("/join TOPIC: ") })
        #expect(plain.desk.model.screen.overlay == nil)
        let subject = plain.enter("/help kv").lines
        #expect(subject.first == "Help: kv:" && subject.dropFirst().first?.hasPrefix("/kv") == true)
        let unsent = plain.enter("unsent").id
        #expect(plain.enter("/quit").lines == ["1 message is not sent yet. Quit anyway? (y/n)"])
        #expect(plain.enter("no").lines == ["That is left as it was."])
        _ = plain.enter("/quit")
        #expect(update(plain.desk.model, .line("Y")).contains(.quit) && unsent != nil)
    }

    @Test("What is no command says so, and leaves nothing behind for the next line")
    func mistakes() {
        var plain = Self.lobby()
        #expect(plain.enter("/jion x").lines.first?.hasPrefix("There is no command /jion.") == true)
        #expect(plain.desk.model.compose.isEmpty)
        #expect(plain.enter("hello").id != nil)
    }

    @Test("Letters are listed with their first lines; what is written then goes to the topic as before")
    func letters() {
        var plain = Self.lobby()
        _ = plain.send(.postbox(.boxes([postbox("b1", "personal")])))
        #expect(
            plain.send(.postbox(.created(letter(3, "Lunch?\nAt noon.")))) == [
                "A letter from bob: Lunch?. /inbox reads them."
            ])
        #expect(plain.enter("/inbox").lines == [])
        let request = plain.desk.model.network.inbox.fetch?.request ?? 0
        let page = plain.send(
            .postbox(.page(request: request, ListOutput(items: [letter(1, "one\ntwo")], nextToken: nil))))
        let hint = "/read NUMBER reads one, /delete NUMBER deletes it."
        #expect(page == ["1 letter:", "1. 21 Nov 10:01, bob to personal: one …", hint])
        #expect(plain.enter("hello").id != nil && plain.desk.model.screen.view == .conversation("chat.lobby"))
    }

    @Test("Letters have numbers that stay while some are deleted; a letter is read and deleted by its own")
    func numbers() throws {
        var plain = Self.lobby()
        #expect(plain.enter("/delete 1").lines == ["List the letters first: /inbox"])
        _ = plain.enter("/inbox")
        let request = try #require(plain.desk.model.network.inbox.fetch?.request)
        let page = ListOutput(items: (1...3).map { letter($0, "text \($0)\nmore of it") }, nextToken: nil)
        let listed = plain.send(.postbox(.page(request: request, page)))
        #expect(listed.count == 5 && listed[0] == "3 letters:")
        #expect(listed[2].hasPrefix("2. ") && listed[2].hasSuffix(": text 2 …"))
        #expect(listed[4] == "/read NUMBER reads one, /delete NUMBER deletes it.")

        #expect(plain.enter("/delete 1").lines.first?.hasPrefix("Delete the letter from bob of") == true)
        _ = plain.enter("yes")
        let ids = [page.items[0].id]
        _ = plain.send(.postbox(.deleted(BulkDeletion(deleted: ids))))
        #expect(plain.desk.model.network.inbox.letters.count == 2)
        let read = plain.enter("/read 3").lines
        #expect(read.contains("text 3") && read.contains("more of it"))
        let again = plain.enter("/inbox").lines
        #expect(again.count == 4 && again[0] == "2 letters:" && again[1].hasPrefix("2. ") && again[2].hasPrefix("3. "))
        #expect(plain.enter("/read 1").lines == ["Letter 1 is not there any more."])
        #expect(plain.enter("/delete 4").lines == ["The list has 3 letters."])
        #expect(plain.enter("/read 0").lines == ["Write it as /read [NUMBER]"])
    }

    @Test("What was begun on a screen is still there when lines were sent without one")
    func draft() {
        var desk = Desk.joined("chat.lobby", "chat.ops")
        desk.type("half a line")
        var plain = PlainDesk(desk)
        #expect(plain.enter("hello").id != nil)
        _ = plain.enter("/join chat.ops")
        #expect(plain.desk.model.screen.view == .conversation("chat.ops") && plain.desk.model.compose.isEmpty)
        _ = plain.enter("/join chat.lobby")
        #expect(plain.desk.model.compose.text == "half a line")
    }

    @Test("B27: Stopped and continued, it says what came meanwhile as soon as all of it is here, once")
    func continued() {
        var plain = Self.lobby(line(1, "before"))
        #expect(plain.send(.suspending) == [])
        #expect(plain.effects.contains(.connection(.setActive(false))))
        #expect(plain.wait(600) == [])
        #expect(plain.send(.resumed) == [])
        #expect(plain.effects.contains(.connection(.setActive(true))))
        let rests = ConnectionStatus(state: .suspended, reason: .backgrounded)
        #expect(plain.send(.statusChanged(rests)) == ["The connection rests."])
        #expect(plain.becomes(.connected) == ["Connected."])
        #expect(plain.hear(message(2, "one", minutes: 3)) == ["10:03 bob: one"])
        let elsewhere = ChatEvent.topic("chat.ops", .messages([message(3, "disk", topic: "chat.ops", minutes: 4)]))
        #expect(plain.send(elsewhere) == ["chat.ops has something new."])
        for topic in ["chat.lobby", "chat.ops"] { #expect(plain.send(.topic(topic, .live)) == []) }
        #expect(plain.wait(1) == ["Away 10 min: 2 new in 2 topics. /next goes to the first."])
        #expect(plain.wait(1) == [])
        #expect(plain.enter("/next").lines.first == "Now in chat.ops.")
    }

    @Test("What came in view was said, so that nothing leads there, after a quick look at the shell too")
    func continuedInView() {
        let stops: [(seconds: Int64, words: [String])] = [
            (600, ["Away 10 min: 1 new in 1 topic."]), (30, ["Away 30 s: 1 new in 1 topic."]),
        ]
        for (seconds, words) in stops {
            var plain = Self.lobby(line(1, "before"))
            _ = plain.send(.suspending)
            _ = plain.wait(seconds)
            _ = plain.send(.resumed)
            #expect(plain.hear(message(2, "one")) == ["10:00 bob: one"])
            for topic in ["chat.lobby", "chat.ops"] { #expect(plain.send(.topic(topic, .live)) == []) }
            #expect(plain.wait(1) == words)
        }
    }

    @Test("The topics are listed with what is unread, and /next goes to it")
    func topics() {
        var plain = Self.lobby(line(1, "here"))
        #expect(plain.enter("/topics").lines == ["Your topics:", "chat.lobby: in view", "chat.ops"])
        _ = plain.hear(line(2, "alice: there", topic: "chat.ops"))
        #expect(plain.enter("/topics").lines.last == "chat.ops: 1 unread, 1 to you")
        #expect(plain.enter("/next").lines.first == "Now in chat.ops.")
        #expect(plain.enter("/next").lines.first == "Now in chat.lobby.")
        #expect(plain.enter("/next").lines == ["Nothing is unread."])
    }
}

/// A message of the fixture's.
private func line(
    _ sequence: UInt64, _ text: String, from name: String = "bob", topic: String = "chat.lobby", id: String? = nil
) -> TopicMessage {
    message(sequence, text, from: name, topic: topic, id: id)
}
