import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: changes of keys that wait, over a network in memory", .realProcesses)
struct WaitingKeyClientTests {
    /// A network whose bucket keeps what keys had, so that it shows what was stored how often.
    private func network() throws -> MemoryNetwork {
        let network = try MemoryNetwork()
        try network.server.createBucket("test", history: 10)
        return network
    }

    /// What was stored, in order: the key and its value, or a deletion.
    private func stored(_ network: MemoryNetwork) -> [String] {
        network.server.messages(in: "KV_test").map { message in
            let key = message.subject.dropFirst("$KV.test.".count)
            return message.headers["KV-Operation"] == "DEL" ? "\(key) deleted" : "\(key) = \(message.text)"
        }
    }

    private func store(_ json: String, for key: String, on network: MemoryNetwork) throws -> UInt64 {
        try network.server.store("$KV.test.\(key)", Array(json.utf8))
    }

    @Test("B52: without a connection values and deletions wait, and leave with the next one, once and in order")
    func waits() async throws {
        let network = try network()
        let client = try await network.connected()
        let events = Gathered(client.events)
        let outcomes = Gathered(client.publishes)
        await client.setReachable(false)
        #expect(try await client.put(key: "a", value: .int(1)) == nil)
        #expect(try await client.put(key: "a", value: .null) == nil)
        #expect(try await client.delete(key: "b") == false)
        #expect(client.queuedCount == 3)
        // Somebody else's earlier value is replaced, as it would be with a connection.
        _ = try store("0", for: "b", on: network)
        await client.setReachable(true)
        try await client.state(is: .connected)
        let a = stored(network).filter { $0.hasPrefix("a") }
        let b = stored(network).filter { $0.hasPrefix("b") }
        #expect(a == ["a = 1", "a = null"] && b == ["b = 0", "b deleted"])
        #expect(try await client.get(key: "a")?.value == .null)
        #expect(try await client.get(key: "b") == nil)
        try await events.wait(for: "the news of what waited") { $0.contains(.messageResend) }
        try await outcomes.wait(for: "the ends") { news in news.count { $0.state.isFinal } == 3 }
        #expect(client.queuedCount == 0)
        // With a connection nothing waits.
        #expect(try await client.put(key: "a", value: .int(2)) == 5)
        await client.close()
    }

    @Test("B52: a value that was stored without an answer does not replace what somebody has set since")
    func overtaken() async throws {
        let network = try network()
        let client = try await network.connected()
        let outcomes = Gathered(client.publishes)
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        network.server.holdAcknowledgements(true)
        await client.setReachable(true)
        try await eventually("the value") { stored(network) == ["a = 1"] }
        await client.setReachable(false)
        let winner = try store("2", for: "a", on: network)
        // So long that the server has forgotten the identifier.
        network.time.advance(by: .seconds(300))
        network.server.holdAcknowledgements(false)
        await client.setReachable(true)
        await #expect(throws: RelayError.conflict(key: "a", revision: winner)) {
            try await pending.receipt(within: .seconds(60))
        }
        #expect(stored(network) == ["a = 1", "a = 2"])
        try await outcomes.wait(for: "the conflict") {
            let conflict = PublishNews.State.failed(.conflict(key: "a", revision: winner))
            return $0.contains(PublishNews(id: pending.id, state: conflict, mayBeStored: true))
        }
        await client.close()
    }

    @Test("B52: a value that was stored without an answer counts as stored, however late it is found")
    func found() async throws {
        let network = try network()
        let client = try await network.connected()
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        network.server.holdAcknowledgements(true)
        await client.setReachable(true)
        try await eventually("the value") { stored(network) == ["a = 1"] }
        await client.setReachable(false)
        network.time.advance(by: .seconds(300))
        network.server.holdAcknowledgements(false)
        await client.setReachable(true)
        let receipt = try await pending.receipt(within: .seconds(60))
        #expect(receipt.sequence == 1 && receipt.isDuplicate)
        #expect(stored(network) == ["a = 1"])
        await client.close()
    }

    @Test("B52: what depends on a revision is refused at once without a connection, and so is a purge")
    func revisions() async throws {
        let network = try network()
        let client = try await network.connected()
        await client.setReachable(false)
        await #expect(throws: RelayError.needsConnection("Setting the key a at a revision")) {
            try await client.put(key: "a", value: .int(1), revision: 0)
        }
        await #expect(throws: RelayError.needsConnection("Deleting the key a at a revision")) {
            try await client.delete(key: "a", revision: 3)
        }
        await #expect(throws: RelayError.needsConnection("Purging the key a")) { try await client.purge(key: "a") }
        await #expect(throws: RelayError.notConnected) { try await client.get(key: "a") }
        #expect(client.queuedCount == 0)
        await client.close()
    }

    @Test("B52: a value goes behind those of its key that wait, and nothing is compared with what is on its way")
    func behind() async throws {
        let network = try network()
        let client = try await network.connected()
        // Longer than time passes here.
        client.settings.withLockedValue { $0.limits.publish = .seconds(86_400) }
        let refusal = NATS.JetStreamFailure(code: 503, errorCode: 10_008, text: "no quorum")
        network.server.fail(subjectPrefix: "$KV.test.a", with: .refusal(refusal))
        _ = try await client.enqueue(key: "a", value: .int(1))
        async let second = client.put(key: "a", value: .int(2))
        try await eventually("both") { client.queuedCount == 2 }
        await #expect(throws: RelayError.busy("Changing the key a")) {
            try await client.put(key: "a", value: .int(3), revision: 0)
        }
        // Another key has nothing to do with it.
        #expect(try await client.put(key: "b", value: .int(0)) == 1)
        network.server.fail(subjectPrefix: "$KV.test.a", with: nil)
        try await network.letTimePass("both values", inStepsOf: .milliseconds(250)) { stored(network).count == 3 }
        #expect(try await second == 3)
        #expect(stored(network) == ["b = 0", "a = 1", "a = 2"])
        await client.close()
    }

    @Test("B52: a batch of eleven waits as a whole, and is stored as a whole")
    func batch() async throws {
        let network = try network()
        let client = try await network.connected()
        await client.setReachable(false)
        let entries = (0..<11).map { (key: "k.\($0)", value: MessageValue.int(Int64($0))) }
        let batch = try await client.put(entries)
        #expect(batch.waiting == entries.map { $0.key } && batch.stored.isEmpty && batch.failed.isEmpty)
        let faulty = [(key: "good", value: MessageValue.null), (key: "not good", value: MessageValue.null)]
        await #expect(throws: RelayError.self) { try await client.put(faulty) }
        #expect(client.queuedCount == 11)
        await client.setReachable(true)
        try await client.state(is: .connected)
        #expect(try await client.keys(matching: "k.*").count == 11)
        #expect(network.server.lastSequence(of: "KV_test") == 11)
        await client.close()
    }

    @Test("B52: without a key-value store a value that waited fails, and says why")
    func noStore() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        await client.setReachable(true)
        await #expect(throws: RelayError.notFound("The network's key-value store")) {
            try await pending.receipt(within: .seconds(60))
        }
        await client.close()
    }
}
