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

    @Test(
        "B52: a value that was stored without an answer counts as stored, and does not replace what was set since",
        arguments: [true, false])
    func unanswered(isOvertaken: Bool) async throws {
        let network = try network()
        let client = try await network.connected()
        let outcomes = Gathered(client.publishes)
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        network.server.holdAcknowledgements(true)
        await client.setReachable(true)
        try await eventually("the value") { stored(network) == ["a = 1"] }
        await client.setReachable(false)
        let winner = isOvertaken ? try store("2", for: "a", on: network) : nil
        // So long that the server has forgotten the identifier.
        network.time.advance(by: .seconds(300))
        network.server.holdAcknowledgements(false)
        await client.setReachable(true)
        if let winner {
            let conflict = RelayError.conflict(key: "a", revision: winner)
            await #expect(throws: conflict) { try await pending.receipt(within: .seconds(60)) }
            try await outcomes.wait(for: "the conflict") {
                $0.contains(PublishNews(id: pending.id, state: .failed(conflict), mayBeStored: true))
            }
        } else {
            let receipt = try await pending.receipt(within: .seconds(60))
            #expect(receipt.sequence == 1 && receipt.isDuplicate)
        }
        #expect(stored(network) == (isOvertaken ? ["a = 1", "a = 2"] : ["a = 1"]))
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

    @Test("B52: without a key-value store a value that waited fails, and says why")
    func noStore() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        await client.setReachable(true)
        await #expect(throws: RelayError.notFound("The network's key-value store")) {
            try await pending.receipt(within: .seconds(60))
        }
        await client.close()
    }
}
