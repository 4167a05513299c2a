import NATS
import Testing

@testable import Relay

/// What is made of a key's newest change before a value that waited is sent.
@Suite("Keys and values: what waited")
struct KeyFindingTests {
    private let now = ContinuousClock.now

    private func message(_ id: String = "1", of key: String = "a", mayBeStored: Bool = false) -> OutboxMessage {
        OutboxMessage(id: id, destination: .key(key), payload: [0x31], mayBeStored: mayBeStored)
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

    @Test("B52: the key is looked at before each attempt, with what it had before the first one")
    func attempts() throws {
        var delivery = try opened()
        #expect(delivery.keyLookedUp(id: "1", .notStored(revision: 5), at: now) == [.send(message())])
        _ = delivery.connectionLost()
        let again = delivery.opened(tellsOfRecipients: true, at: now + .seconds(1))
        #expect(again == [.lookUpKey(.init(message: message(), newestBefore: 5), key: "a")])
        let end = delivery.keyLookedUp(id: "1", .overtaken(revision: 6), at: now + .seconds(1))
        let conflict = PublishNews(id: "1", state: .failed(.conflict(key: "a", revision: 6)), mayBeStored: true)
        #expect(end == [.end(conflict)])
        #expect(delivery.isEmpty)
    }

    @Test("B52: values of a key keep their order, and those of other keys do not wait for them")
    func order() throws {
        var delivery = Delivery()
        _ = delivery.opened(tellsOfRecipients: true, at: now)
        let first = try delivery.submit(message("1"), at: now)
        #expect(first == [.lookUpKey(.init(message: message("1"), newestBefore: nil), key: "a")])
        #expect(try delivery.submit(message("2"), at: now) == [.tell(PublishNews(id: "2", state: .queued))])
        let other = try delivery.submit(message("3", of: "b"), at: now)
        #expect(other.first == .lookUpKey(.init(message: message("3", of: "b"), newestBefore: nil), key: "b"))
        #expect(delivery.holds(.key("a")) && !delivery.holds(.key("c")))
        #expect(delivery.keyLookedUp(id: "1", .notStored(revision: 0), at: now) == [.send(message("1"))])
        let acknowledgement = PublishAcknowledgement(stream: "KV_test", sequence: 9)
        let after = delivery.answered([("1", .success(acknowledgement))], at: now)
        #expect(
            after == [
                ended(.acknowledged(sequence: 9)),
                .lookUpKey(.init(message: message("2"), newestBefore: nil), key: "a"),
            ])
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
