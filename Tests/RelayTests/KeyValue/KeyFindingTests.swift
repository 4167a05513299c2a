import NATS
import Testing

@testable import Relay

/// What is made of a key's newest change before a value that waited is sent.
@Suite("Keys and values: what waited")
struct KeyFindingTests {
    private let now = ContinuousClock.now

    private func message(mayBeStored: Bool = false) -> OutboxMessage {
        OutboxMessage(id: "1", destination: .key("a"), payload: [0x31], mayBeStored: mayBeStored)
    }

    @Test(
        "B52: a value is stored once, and replaces what others stored before it was sent the first time, and nothing else",
        arguments: [
            // It was never sent.
            (nil, false, 0, nil, .notStored(revision: 0)), (nil, false, 7, "other", .notStored(revision: 7)),
            // It is there already.
            (3, false, 7, "1", .stored(revision: 7)), (nil, true, 7, "1", .stored(revision: 7)),
            // It may have been stored, and nobody has set anything since.
            (3, false, 3, "other", .notStored(revision: 3)), (0, false, 0, nil, .notStored(revision: 0)),
            (nil, true, 0, nil, .notStored(revision: 0)),
            // Somebody has, or may have: what an earlier run of the program knew is gone.
            (3, false, 4, "other", .overtaken(revision: 4)), (3, false, 4, nil, .overtaken(revision: 4)),
            (nil, true, 4, nil, .overtaken(revision: 4)),
        ] as [(UInt64?, Bool, UInt64, String?, KeyFinding)])
    func finding(newest: UInt64?, mayBeStored: Bool, revision: UInt64, id: String?, expected: KeyFinding) {
        let late = Delivery.LateMessage(message: message(mayBeStored: mayBeStored), newestBefore: newest)
        #expect(KeyFinding(before: late, revision: revision, isThis: id == "1") == expected)
    }

    @Test("B52: where a key cannot be read, a value is sent once")
    func unreadable() {
        func unreadable(_ newest: UInt64?, _ mayBeStored: Bool) -> KeyFinding {
            KeyFinding(
                unreadableBefore: Delivery.LateMessage(message: message(mayBeStored: mayBeStored), newestBefore: newest)
            )
        }
        #expect(unreadable(nil, false) == .notStored(revision: 0))
        #expect(unreadable(0, false) == .unknown)
        #expect(unreadable(nil, true) == .unknown)
    }

    /// A value that waits, and is looked for.
    private func opened() throws -> Delivery {
        var delivery = Delivery()
        #expect(try delivery.submit(message(), at: now) == [.tell(PublishNews(id: "1", state: .queued))])
        let actions = delivery.opened(tellsOfRecipients: true, at: now)
        #expect(actions == [.lookUpKey(.init(message: message(), newestBefore: nil), key: "a")])
        return delivery
    }

    private func ended(_ outcome: PublishNews.State) -> Delivery.Action {
        .end(PublishNews(id: "1", state: outcome))
    }

    @Test(
        "B52: what the look at a key leads to",
        arguments: [
            (.stored(revision: 4), .acknowledged(sequence: 4, isDuplicate: true)),
            (.unknown, .uncertain),
            (.noStore, .failed(.notFound("The network's key-value store"))),
        ] as [(KeyFinding, PublishNews.State)])
    func outcomes(finding: KeyFinding, outcome: PublishNews.State) throws {
        var delivery = try opened()
        #expect(delivery.keyLookedUp(id: "1", finding, at: now) == [ended(outcome)])
        #expect(delivery.keyLookedUp(id: "1", finding, at: now).isEmpty)
    }

    @Test("B52: a look without an answer is repeated after a moment")
    func noAnswer() throws {
        var delivery = try opened()
        #expect(delivery.keyLookedUp(id: "1", .failed, at: now).first == .tell(PublishNews(id: "1", state: .queued)))
        let again = delivery.moment(at: now + .milliseconds(250))
        #expect(again == [.lookUpKey(.init(message: message(), newestBefore: nil), key: "a")])
    }

    @Test("B32 B52: a waiting value and a waiting deletion come back from the local store as what they are")
    func kept() async throws {
        let store = try StoreFixture.store()
        let value = try KeyValueStore.message(setting: "a.b", to: .string("x"), id: "1")
        let deletion = try KeyValueStore.message(deleting: "a.b", id: "2")
        for message in [value, deletion] {
            try await store.commit([.outbox(KeptPublish(message: message, since: Timestamp(milliseconds: 5)))])
        }
        let rows = try await store.outbox()
        #expect(rows.map(\.message) == [value, deletion])
        #expect(rows.map(\.message.destination) == [.key("a.b"), .key("a.b")])
        #expect(rows.map { NotSentMessage($0).text } == ["\"x\"", ""])
        #expect("\(Destination.key("a.b"))" == "$KV.a.b")
    }
}
