import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// The network's key-value store as its users reach it, each through an account of its own.
@Suite("Network: keys and values of its users", .realProcesses)
struct KeyValueTests {
    /// The next changes of a watch.
    private func changes(_ count: Int, of events: KeyValueEvents) async throws -> [KeyValueChange] {
        var iterator = events.makeAsyncIterator()
        var seen: [KeyValueChange] = []
        while seen.count < count, let event = try await iterator.next() {
            if case .change(let change) = event { seen.append(change) }
        }
        return seen
    }

    private func words(_ changes: [KeyValueChange]) -> [String] {
        changes.map { change in "\(change.key) \(change.stored.map { "\($0.value)" } ?? "removed")" }
    }

    @Test(
        "B52: users set, compare, read, list, watch and delete keys that all of them share",
        arguments: TestServers.all)
    func shared(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            // What topics a user has makes no difference.
            _ = try await network.administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            let alice = try network.client()
            let bob = try network.client(as: "bob")
            for client in [alice, bob] { try await client.connect(timeLimit: 60) }
            let first = try await alice.put(key: "room/1.color", value: .string("blue"), revision: 0)
            try await alice.put(key: "room/1.open", value: .null)
            let watch = try await bob.watch(key: "room/1.*")
            let before = try await changes(2, of: watch)
            #expect(words(before) == ["room/1.color \"blue\"", "room/1.open null"])

            let second = try await bob.put(key: "room/1.color", value: .int(7), revision: first)
            await #expect(throws: RelayError.conflict(key: "room/1.color", revision: second)) {
                try await alice.put(key: "room/1.color", value: .int(8), revision: first)
            }
            let stored = try #require(try await alice.get(key: "room/1.color"))
            #expect(stored.value == .int(7) && stored.revision == second)
            #expect(try await alice.get(key: "room/1.open")?.value == .null)
            #expect(try await alice.get(key: "room/2.open") == nil)
            let batch = try await alice.put((0..<15).map { (key: "many.\($0)", value: MessageValue.int(Int64($0))) })
            #expect(batch.stored.count == 15 && batch.failed.isEmpty)
            #expect(try await bob.keys(matching: "many.*").count == 15)
            try await bob.forEachValue(matching: "room/1.color") { #expect($0.value == .int(7)) }

            // The watch goes on behind what it told last.
            await bob.reconnect()
            try await alice.delete(key: "room/1.open")
            let after = try await changes(2, of: watch)
            #expect(words(after) == ["room/1.color 7", "room/1.open removed"])
            try await alice.purge(key: "room/1.color")
            #expect(try await alice.get(key: "room/1.color") == nil)
            #expect(try await alice.history(ofKey: "room/1.color").map(\.stored) == [nil])
            #expect(try await alice.keys(matching: "room/1.*") == [])
            for client in [alice, bob] { await client.close() }
        }
    }

    @Test(
        "B32 B52: what an earlier run may have stored is not put over what somebody has set since",
        arguments: TestServers.all)
    func overtaken(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let bob = try network.client(as: "bob")
            try await bob.connect(timeLimit: 60)
            let winner = try await bob.enqueue(key: "taken", value: .string("bob's"))
                .receipt(within: .seconds(60)).sequence
            // This one was stored, and the process ended before it knew.
            let earlier = try network.client()
            try await earlier.connect(timeLimit: 60)
            let found = try await earlier.enqueue(key: "found", value: .int(1), id: "id-found")
                .receipt(within: .seconds(60)).sequence
            await earlier.close()

            let folder = try TemporaryDirectory("keys")
            let path = folder.path("alice.sqlite")
            let store = try LocalStore.open(path)
            let changes = ["taken", "found", "free"].map { key -> StoreChange in
                let message = OutboxMessage(id: "id-\(key)", destination: .key(key), payload: [0x31])
                return .outbox(KeptPublish(message: message, state: .sending, since: Timestamp(milliseconds: 5)))
            }
            try await store.commit(changes)
            try await store.close()

            let client = try network.client { $0.store = .file(path) }
            try await client.connect(timeLimit: 60)
            #expect(try await bob.get(key: "taken")?.value == .string("bob's"))
            #expect(try await bob.get(key: "found")?.revision == found)
            #expect(try await bob.get(key: "free")?.value == .int(1))
            let kept = try await client.notSent()
            #expect(kept.map(\.id) == ["id-taken"] && kept.map(\.destination) == [.key("taken")])
            #expect(kept.first?.reason == RelayError.conflict(key: "taken", revision: winner).words)
            // Who puts it again means it.
            try await client.sendAgain(id: "id-taken")
            try await eventually("the value") { try await bob.get(key: "taken")?.value == .int(1) }
            for client in [client, bob] { await client.close() }
        }
    }
}
