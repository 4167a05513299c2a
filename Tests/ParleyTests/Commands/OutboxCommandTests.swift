import Relay
import Testing

@testable import Parley

@Suite("Outbox command")
struct OutboxCommandTests {
    private static func publish(
        _ id: String, _ state: KeptPublish.State = .queued, of run: String? = nil, to destination: Destination? = nil
    ) -> KeptPublish {
        let line = ChatLine(username: "alice", text: "text of \(id)", timestamp: Desk.wall)
        let envelope = Envelope(id: id, room: "chat.qa", message: line.value, start: Desk.wall)
        let message = OutboxMessage(id: id, destination: destination ?? .topic("chat.qa"), payload: envelope.encoded())
        return KeptPublish(message: message, state: state, since: Desk.wall, run: run)
    }

    @Test("B32 what a program that runs is to send is its own, what was not sent is anybody's")
    func selection() throws {
        let kept = [
            Self.publish("1", of: "living"), Self.publish("2", .sending, of: "ended"),
            Self.publish("3", .notSent("because"), of: "living"), Self.publish("4"),
        ]
        let all = try OutboxSelection(kept, living: ["living"], ids: [])
        #expect(all.free.map(\.message.id) == ["2", "3", "4"] && all.held.map(\.message.id) == ["1"])
        let some = try OutboxSelection(kept, living: ["living"], ids: ["4", "1", "2"])
        #expect(some.free.map(\.message.id) == ["2", "4"] && some.held.map(\.message.id) == ["1"])
        let failure = #expect(throws: CommandFailure.self) {
            try OutboxSelection(kept, living: ["living"], ids: ["1", "5"])
        }
        #expect(failure?.code == .badData)
    }

    @Test("A line of the list says what it is, where it was to go, and why it is still here")
    func words() {
        let kept = Self.publish("1", .notSent("Nobody\u{1B} listens."))
        #expect(
            kept.json()
                == [
                    "id": "1", "topic": "chat.qa", "text": "text of 1", "state": "notSent",
                    "reason": "Nobody\u{1B} listens.", "since": "2025-11-21T10:00:00.000Z", "mayBeStored": false,
                ])
        #expect(kept.line().hasPrefix("1  2025-11-21T10:00:00.000Z  chat.qa  text of 1  (not sent: Nobody"))
        #expect(!kept.line().contains("\u{1B}"))
        #expect(Self.publish("2", .sending).line().hasSuffix("(waits, perhaps sent)"))
        #expect(Self.publish("2").json("dropped")["state"] == "dropped")
        let letter = Self.publish("3", to: .postbox(user: "bob", postbox: "work"))
        #expect(letter.json()["topic"] == .null && letter.json()["recipient"] == "bob/work")
    }
}
