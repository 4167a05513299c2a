import Testing

@testable import Relay

@Suite("PresenceMachine: what a client says of its user, and whom it watches")
struct PresenceMachineTests {
    private let start = ContinuousClock.now

    private func around(
        _ seconds: Int = 0, user: String? = "alice", granted: [String]? = nil
    ) -> PresenceMachine.Circumstances {
        PresenceMachine.Circumstances(
            now: start + .seconds(seconds), user: user, granted: granted, policy: PresencePolicy())
    }

    /// What is to be done, as words.
    private func words(_ actions: [PresenceMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .write(let writes, let user, _, let asks):
                "\(user) \(asks ? "asks" : "writes") "
                    + writes.map { write in
                        (write.presence == nil ? "-" : "") + write.topic + (write.isTyping ? "…" : "")
                    }.joined(separator: " ")
            case .read(let topic): "read \(topic)"
            case .stop(let topic): "stop \(topic)"
            case .startTimer(let id, let moment): "\(word(id)) at \((moment - start).components.seconds)"
            case .cancelTimer(let id): "no \(word(id))"
            case .tell(let readers, let roster):
                "tell \(readers.count): "
                    + (roster.isKnown ? roster.users.map(\.name).joined(separator: " ") : "unknown")
            }
        }
    }

    private func word(_ id: PresenceMachine.TimerID) -> String {
        switch id {
        case .renewal: "renewal"
        case .retry: "retry"
        case .typing: "typing"
        case .expiry(let topic): "expiry of \(topic)"
        }
    }

    private func handle(
        _ presence: inout PresenceMachine, _ event: PresenceMachine.Event, _ seconds: Int = 0
    ) -> [String] {
        words(presence.handle(event, around(seconds)))
    }

    /// A user who is seen in a topic over an open connection.
    private func seen(in topic: String = "room") -> PresenceMachine {
        var presence = PresenceMachine(device: "desk")
        _ = presence.handle(.appeared(in: [topic]), around())
        _ = presence.handle(.opened, around())
        _ = presence.handle(.answered(.kept), around())
        return presence
    }

    private func item(_ user: String) -> PresenceTable.Item {
        PresenceTable.Item(
            entry: PresenceEntry(user: user, device: "d", presence: .here), time: 0, isListed: false)
    }

    @Test("Where a user appears is written with the connection, renewed during it, and withdrawn at a farewell")
    func appearing() {
        var presence = PresenceMachine(device: "desk")
        #expect(handle(&presence, .appeared(in: ["room"])) == [])
        #expect(handle(&presence, .opened) == ["renewal at 30", "alice asks room"])
        #expect(handle(&presence, .answered(.kept)) == ["no retry"])
        #expect(presence.isAvailable == true && presence.isInUse)
        #expect(handle(&presence, .timerFired(.renewal), 30) == ["renewal at 60", "alice asks room"])
        #expect(handle(&presence, .appeared(in: ["hall"]), 31) == ["alice writes -room hall"])
        #expect(
            handle(&presence, .closed(tellsOthers: true), 32)
                == ["no renewal", "no retry", "no typing", "alice writes -hall"])
        #expect(handle(&presence, .closed(tellsOthers: true), 33) == [])
    }

    @Test("A lost connection writes nothing any more, and a timer that fires late changes nothing")
    func lost() {
        var presence = seen()
        #expect(handle(&presence, .closed(tellsOthers: false)) == ["no renewal", "no retry", "no typing"])
        #expect(handle(&presence, .timerFired(.renewal), 30) == [])
        #expect(handle(&presence, .timerFired(.retry), 30) == [])
        #expect(handle(&presence, .answered(.missing), 30) == [])
    }

    @Test("A network that keeps no presence, or does not permit it, is asked again, more and more rarely")
    func missing() {
        #expect(PresenceMachine.Answer(.publishNotPermitted(subject: "$KV.relay_here.alice.desk.room")) == .missing)
        var presence = PresenceMachine(device: "desk")
        _ = presence.handle(.appeared(in: ["room"]), around())
        _ = presence.handle(.opened, around())
        #expect(handle(&presence, .answered(.missing), 0) == ["no renewal", "retry at 1"])
        #expect(presence.isAvailable == false)
        #expect(handle(&presence, .timerFired(.retry), 1) == ["renewal at 31", "alice asks room"])
        #expect(handle(&presence, .answered(.missing), 1) == ["no renewal", "retry at 3"])
        // What a reader finds in between says nothing of the entry that was refused.
        #expect(handle(&presence, .answered(.kept), 2) == [])
        #expect(handle(&presence, .timerFired(.retry), 3) == ["renewal at 33", "alice asks room"])
        #expect(handle(&presence, .answered(.missing), 3) == ["no renewal", "retry at 7"])
        #expect(handle(&presence, .said(.away("lunch")), 4) == [])
    }

    @Test("A watched topic is read on each connection, its readers hear each change, and the last one ends it")
    func watching() {
        var presence = PresenceMachine(device: "desk")
        #expect(handle(&presence, .readerCame(id: "1", topic: "room")) == ["tell 1: unknown"])
        #expect(handle(&presence, .opened) == ["no renewal", "read room"])
        #expect(handle(&presence, .watched(topic: "room")) == ["no retry"])
        #expect(
            handle(&presence, .heard([item("bob")], topic: "room")) == ["tell 1: bob", "expiry of room at 90"])
        #expect(handle(&presence, .readerCame(id: "2", topic: "room")) == ["tell 1: bob"])
        #expect(handle(&presence, .timerFired(.expiry(topic: "room")), 90) == ["tell 2: "])
        #expect(handle(&presence, .readerLeft(id: "1", topic: "room")) == [])
        #expect(handle(&presence, .readerLeft(id: "2", topic: "room")) == ["stop room", "no expiry of room"])
        #expect(!presence.isInUse)
    }

    @Test("A topic that is not granted is not read, and no more than 64 are watched at once")
    func limits() {
        var presence = PresenceMachine(device: "desk")
        _ = presence.handle(.opened, around())
        let refused = presence.handle(.readerCame(id: "1", topic: "ops"), around(granted: ["chat.>"]))
        #expect(words(refused) == ["tell 1: unknown"])
        for number in 1..<PresenceMachine.watchLimit {
            _ = presence.handle(.readerCame(id: "\(number)", topic: "chat.\(number)"), around())
        }
        #expect(!presence.mayWatch("chat.0") && presence.mayWatch("chat.1"))
    }

    @Test("Typing is told at once, again while it goes on, and no more when the line is sent")
    func typing() {
        var presence = seen()
        #expect(handle(&presence, .typed(in: "room")) == ["no typing", "alice writes room…"])
        #expect(handle(&presence, .typed(in: "room"), 1) == ["no typing"])
        #expect(handle(&presence, .typed(in: "room"), 3) == ["no typing", "typing at 4"])
        #expect(handle(&presence, .timerFired(.typing), 4) == ["alice writes room…"])
        #expect(handle(&presence, .typed(in: nil), 5) == ["no typing", "alice writes room"])
    }
}
