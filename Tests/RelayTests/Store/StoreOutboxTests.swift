import TestSupport
import Testing

@testable import Relay

@Suite("Local store: whose the outbox is")
struct StoreOutboxTests {
    private func publish(_ id: String, _ state: KeptPublish.State = .queued, of run: String?) -> StoreChange {
        var publish = StoreFixture.publish(id)
        publish.state = state
        publish.run = run
        return .outbox(publish)
    }

    @Test("B30 B32 a run takes over what ended runs left, and nothing of one that lives")
    func takingOver() async throws {
        let (fixture, store) = try StoreFixture.opened()
        let living = try await store.takeOver(as: "living")
        #expect(living.kept.isEmpty)
        do {
            let ended = try await store.takeOver(as: "ended")
            #expect(ended.kept.isEmpty)
            try await store.commit([
                publish("1", of: "living"), publish("2", of: "ended"), publish("3", .sending, of: "ended"),
                publish("4", .notSent("because"), of: "ended"), publish("5", of: nil),
            ])
            #expect(!StoreFiles.hasEnded(run: "ended", of: fixture.path))
            withExtendedLifetime(ended) {}
        }
        let (own, kept) = try await store.takeOver(as: "own")
        #expect(kept.map(\.message.id) == ["2", "3", "5"])
        #expect(kept.map(\.message.mayBeStored) == [false, true, false])
        #expect(kept.allSatisfy { $0.run == "own" })
        let other = try await store.takeOver(as: "other")
        #expect(other.kept.isEmpty)
        #expect(!StoreFiles.hasEnded(run: "living", of: fixture.path))
        withExtendedLifetime((living, own, other)) {}
        try await store.close()
    }

    @Test("B32 what waits is dropped but for that of a run that lives, and a run may take over some of it alone")
    func dropping() async throws {
        let store = try StoreFixture.store()
        let living = try await store.takeOver(as: "living")
        #expect(living.kept.isEmpty)
        try await store.commit([
            publish("1", of: "living"), publish("2", of: "ended"), publish("3", .sending, of: "ended"),
            publish("4", .notSent("because"), of: "living"), publish("5", of: nil),
        ])
        #expect(try await store.livingRuns() == ["living"])
        #expect(try await store.dropFromOutbox(["1", "2", "none"]) == ["2"])
        let own = try await store.takeOver(as: "own", only: ["5", "1"])
        #expect(own.kept.map(\.message.id) == ["5"])
        #expect(try await store.outbox(of: "own").map(\.message.id) == ["4", "5"])
        #expect(try await store.dropFromOutbox() == ["3", "4"])
        #expect(try await store.outbox().map(\.message.id) == ["1", "5"])
        withExtendedLifetime((living, own)) {}
        try await store.close()
    }

    @Test("B32 a message that was not sent is handed to one alone, and remembers that it may be stored")
    func claiming() async throws {
        let store = try StoreFixture.store()
        try await store.commit([publish("1", .sending, of: "a"), publish("2", of: "a")])
        try await store.commit([.outboxLeaves(run: "b"), .outboxNotSent(id: "1", "because", mayBeStored: true)])
        let notSent = try await store.notSent()
        #expect(notSent.map(\.message.id) == ["1"] && notSent.allSatisfy(\.message.mayBeStored))
        #expect(try await store.claim(notSent: "2", for: "b") == nil)
        #expect(try await store.claim(notSent: "1", for: "b") == notSent.first)
        #expect(try await store.claim(notSent: "1", for: "c") == nil)
        #expect(try await store.outbox().map(\.run) == ["b", "a"])
        // It was on its way, and the server refused it: it is known not to be stored.
        try await store.commit([.outboxLeaves(run: "a"), .outboxNotSent(id: "2", "because", mayBeStored: false)])
        #expect(try await store.notSent().map(\.message.mayBeStored) == [false])
        #expect(try await store.drop(notSent: ["1", "2", "3"]) == ["2"])
        #expect(try await store.drop(notSent: ["2"]).isEmpty)
    }
}
