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
}
