import NATS
import NIOConcurrencyHelpers
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Client: keys and values, over a network in memory", .realProcesses)
struct KeyValueClientTests {
    /// A network with a bucket.
    private func network(history: Int = 1) throws -> MemoryNetwork {
        let network = try MemoryNetwork()
        try network.server.createBucket("test", history: history)
        return network
    }

    /// What was stored, in order: the key and its value, or a deletion.
    private func stored(_ network: MemoryNetwork) -> [String] {
        network.server.messages(in: "KV_test").map { message in
            let key = message.subject.dropFirst("$KV.test.".count)
            return message.headers["KV-Operation"] == "DEL" ? "\(key) deleted" : "\(key) = \(message.text)"
        }
    }

    @discardableResult
    private func store(_ json: String, for key: String, on network: MemoryNetwork) throws -> UInt64 {
        try network.server.store("$KV.test.\(key)", Array(json.utf8))
    }

    @Test("B52: a change is made for the revision that it was meant for, or fails with the one that won")
    func conflicts() async throws {
        let network = try network()
        let client = try await network.connected()
        let first = try await client.put(key: "a", value: .int(1), revision: 0)
        let second = try await client.put(key: "a", value: .int(2), revision: first)
        for revision in [0, first] {
            await #expect(throws: RelayError.conflict(key: "a", revision: second)) {
                try await client.put(key: "a", value: .int(3), revision: revision)
            }
        }
        await #expect(throws: RelayError.conflict(key: "a", revision: second)) {
            try await client.delete(key: "a", revision: first)
        }
        await #expect(throws: RelayError.conflict(key: "b", revision: 0)) {
            try await client.put(key: "b", value: .int(3), revision: 9)
        }
        #expect(try await client.get(key: "a")?.value == .int(2))
        // A refusal that does not name the revision.
        let refusal = JetStreamFailure(code: 400, errorCode: 10_164, text: "wrong last sequence")
        network.server.fail(subjectPrefix: "$KV.test.a", with: .refusal(refusal))
        await #expect(throws: RelayError.conflict(key: "a", revision: second)) {
            try await client.put(key: "a", value: .int(3), revision: second)
        }
        network.server.fail(subjectPrefix: "$KV.test.a", with: nil)
        try await client.delete(key: "a", revision: second)
        // A key that was deleted has no value, whatever its revision is.
        try await client.put(key: "a", value: .int(4), revision: 0)
        #expect(try await client.get(key: "a")?.value == .int(4))
        await client.close()
    }

    @Test("B52: any number of keys is set, ten at a time, the last of a key's values staying")
    func batches() async throws {
        let network = try network()
        let client = try await network.connected()
        var entries = (0..<25).map { (key: "k.\($0)", value: MessageValue.int(Int64($0))) }
        entries.append((key: "k.3", value: .string("last")))
        let batch = try await client.put(entries)
        #expect(batch.failed.isEmpty && batch.stored.map(\.key) == entries.map { $0.key })
        #expect(try await client.keys(matching: "k.*").count == 25)
        #expect(try await client.get(key: "k.3")?.value == .string("last"))
        #expect(try await client.put([]) == KeyValueBatch())

        // One that cannot be stored keeps all from being sent.
        let before = network.server.lastSequence(of: "KV_test")
        let faulty = [(key: "good", value: MessageValue.null), (key: "not good", value: MessageValue.null)]
        await #expect(throws: RelayError.self) { try await client.put(faulty) }
        #expect(network.server.lastSequence(of: "KV_test") == before)

        network.server.fail(subjectPrefix: "$KV.test.", with: .noResponders)
        let failed = try await client.put(entries)
        let error = RelayError.server(code: 503, "nobody answers storing a key")
        #expect(failed.stored.isEmpty && failed.failed.map(\.key) == entries.map { $0.key })
        #expect(failed.failed.allSatisfy { $0.error == error })
        await client.close()
    }

    @Test("B52: without a connection, without a bucket and above the limit nothing is sent, and the error says why")
    func refusals() async throws {
        let network = try MemoryNetwork()
        let client = network.client()
        await #expect(throws: RelayError.notConnected) { try await client.put(key: "a", value: .null) }
        await #expect(throws: RelayError.notConnected) { try await client.get(key: "a") }
        await #expect(throws: RelayError.notConnected) { try await client.put([(key: "a", value: MessageValue.null)]) }
        try await client.connect()
        await #expect(throws: RelayError.notFound("The network's key-value store")) { try await client.keys() }
        try network.server.createBucket("test")
        let text = String(repeating: "x", count: 200_000)
        await #expect(throws: RelayError.tooLarge(bytes: 200_002, limit: 128 << 10)) {
            try await client.put(key: "a", value: .string(text))
        }
        await #expect(throws: RelayError.self) { try await client.put(key: "a..b", value: .null) }
        await #expect(throws: RelayError.self) { try await client.watch(key: "a b") }
        #expect(network.server.messages(in: "KV_test").isEmpty)
        await client.close()
    }

    @Test("A bucket with history tells a key's past, and one without rollups is purged by a mark alone")
    func history() async throws {
        let network = try network(history: 3)
        let client = try await network.connected()
        for number in 1...4 { try await client.put(key: "a", value: .int(Int64(number))) }
        try await client.put(key: "b", value: .null)
        try await client.delete(key: "a")
        let changes = try await client.history(ofKey: "a")
        #expect(changes.map { $0.stored.map { "\($0.value)" } ?? "removed" } == ["3", "4", "removed"])
        #expect(changes.map(\.revision) == [3, 4, 6])
        try await client.purge(key: "a")
        #expect(try await client.history(ofKey: "a").map(\.revision) == [7])

        network.server.deleteStream("KV_test")
        try network.server.createStream("KV_test", subjects: ["$KV.test.>"], maximumMessagesPerSubject: 1)
        try await client.put(key: "a", value: .int(1))
        try await client.put(key: "b", value: .int(1))
        try await client.purge(key: "a")
        #expect(try await client.history(ofKey: "a").map(\.stored) == [nil])
        #expect(try await client.keys() == ["b"])
        await client.close()
    }

    @Test("B52: a watch of a key takes no other, and goes on with a bucket that was made anew")
    func watchingAnew() async throws {
        let network = try network()
        let client = try await network.connected()
        let seen = Gathered(try await client.watch(key: "a"))
        try await seen.wait(for: "the empty bucket") { $0 == [.live] }
        try await client.put(key: "b", value: .int(1))
        try await client.put(key: "a", value: .int(2))
        try await seen.wait(for: "the key") { $0.count == 2 }
        network.server.deleteStream("KV_test")
        try network.server.createBucket("test")
        try store("3", for: "a", on: network)
        try await network.letTimePass("the new bucket") { seen.words.contains("a = 3") }
        #expect(seen.words.filter { $0 != "live" && $0 != "interrupted" } == ["a = 2", "restarted", "a = 3"])
        await client.close()
    }

    @Test(
        "B52: a value that was stored without an answer counts as stored, and does not replace what was set since",
        arguments: [true, false])
    func unanswered(isOvertaken: Bool) async throws {
        let network = try network(history: 10)
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
        let network = try network(history: 10)
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
        let network = try network(history: 10)
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
        let client = try await MemoryNetwork().connected()
        await client.setReachable(false)
        let pending = try await client.enqueue(key: "a", value: .int(1))
        await client.setReachable(true)
        await #expect(throws: RelayError.notFound("The network's key-value store")) {
            try await pending.receipt(within: .seconds(60))
        }
        await client.close()
    }

    @Test("B34 B52: RelayX's policy discards values that wait when the window passes, and says so")
    func discarded() async throws {
        let network = try network(history: 10)
        let client = try await network.connected(network.configuration(reconnect: .relayx, outbox: .relayx))
        network.server.refuseDials(with: .connectionLost("no server"))
        network.server.disconnectAll()
        try await eventually("the loss") { client.status.state != .connected }
        let pending = try await client.enqueue(key: "a", value: .int(1))
        try await network.letTimePass("the end of the window") { client.status.state == .disconnected }
        await #expect(throws: RelayError.connection(.windowExpired)) {
            try await pending.receipt(within: .seconds(60))
        }
        #expect(stored(network).isEmpty)
        await client.close()
    }

    @Test("B52: without a connection values and deletions wait, and leave with the next one, once and in order")
    func waits() async throws {
        let network = try network(history: 10)
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

    @Test("B52: a watch tells what is there, then what changes, through a cut and without a repetition")
    func watching() async throws {
        let network = try network()
        let client = network.client()
        for (json, key) in [("1", "a"), ("2", "b"), ("3", "a")] { try store(json, for: key, on: network) }
        let seen = Gathered(try await client.watch(key: ">"))
        try await client.connect()
        try await seen.wait(for: "what is there") { $0.last == .live }
        #expect(seen.words == ["b = 2", "a = 3", "live"])
        try await client.delete(key: "b")
        try await seen.wait(for: "the deletion") { $0.count == 4 }
        try await network.takeConnection(of: client)
        for (json, key) in [("4", "a"), ("5", "a"), ("null", "c"), ("6", "b")] {
            try store(json, for: key, on: network)
        }
        await client.setReachable(true)
        try await seen.wait(for: "what changed meanwhile") { events in events.count { $0 == .live } == 2 }
        try await client.put(key: "a", value: .int(7))
        try await seen.wait(for: "what changes now") { $0.count == 9 }
        let expected = ["b = 2", "a = 3", "live", "b removed", "a = 5", "c = null", "b = 6", "live", "a = 7"]
        #expect(seen.words == expected)
        await client.close()
    }

    @Test("B52: a batch of eleven waits as a whole, and is stored as a whole")
    func batch() async throws {
        let network = try network(history: 10)
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

    @Test("B32 B52: values that wait outlive the client, and leave at the next start, once and in order")
    func restarted() async throws {
        let network = try network(history: 10)
        let folder = try TemporaryDirectory("keys")
        var configuration = network.configuration()
        configuration.store = .file(folder.path("alice.sqlite"))
        func leave() async throws {
            let client = try await network.connected(configuration)
            await client.setReachable(false)
            try await client.put(key: "a", value: .int(1))
            try await client.delete(key: "a")
            try await client.put(key: "a", value: .int(2))
        }
        try await leave()
        try await eventually("the end of the run") {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return !names.contains { $0.contains(".run-") }
        }
        #expect(stored(network).isEmpty)
        let client = try await network.connected(configuration)
        #expect(stored(network) == ["a = 1", "a deleted", "a = 2"])
        #expect(try await client.get(key: "a")?.value == .int(2))
        await client.close()

        let again = try await network.connected(configuration)
        #expect(stored(network).count == 3)
        #expect(try await again.notSent().isEmpty)
        await again.close()
    }

    @Test("B52: a key that is set to null has a value; one that was never set, deleted or purged has none")
    func nullAndMissing() async throws {
        let network = try network()
        let client = try await network.connected()
        #expect(try await client.get(key: "a") == nil)
        #expect(try await client.put(key: "a", value: .null) == 1)
        #expect(network.server.messages(in: "KV_test").map(\.text) == ["null"])
        let stored = try #require(try await client.get(key: "a"))
        #expect(stored.key == "a" && stored.value == .null && stored.revision == 1)
        try await client.put(key: "b", value: .string("x"))
        #expect(try await client.keys() == ["a", "b"])
        try await client.delete(key: "a")
        #expect(try await client.get(key: "a") == nil)
        try await client.put(key: "a", value: .int(1))
        #expect(try await client.keys(matching: "*") == ["b", "a"])
        let values = NIOLockedValueBox<[MessageValue]>([])
        try await client.forEachValue(matching: "a") { stored in values.withLockedValue { $0.append(stored.value) } }
        #expect(values.withLockedValue(\.self) == [.int(1)])
        try await client.purge(key: "a")
        #expect(try await client.get(key: "a") == nil)
        #expect(try await client.keys() == ["b"])
        await client.close()
    }

    @Test("B52: what other programs have stored is read: JSON as what it is, anything else as its bytes")
    func foreignValues() async throws {
        let network = try network()
        let client = try await network.connected()
        try store(#"{"x": [1, 2.5, "é"]}"#, for: "json", on: network)
        try network.server.store("$KV.test.bytes", [0xFF, 0x00])
        let expected = MessageValue.map(["x": .array([.int(1), .double(2.5), .string("é")])])
        #expect(try await client.get(key: "json")?.value == expected)
        #expect(try await client.get(key: "bytes")?.value == .binary([0xFF, 0x00]))
        await client.close()
    }
}

extension Gathered where Element == KeyValueEvent {
    /// The events in short words.
    var words: [String] {
        all.map { event in
            switch event {
            case .change(.put(let stored)): "\(stored.key) = \(stored.value)"
            case .change(.removed(let key, _, _)): "\(key) removed"
            case .live: "live"
            case .restarted: "restarted"
            case .interrupted: "interrupted"
            }
        }
    }
}
