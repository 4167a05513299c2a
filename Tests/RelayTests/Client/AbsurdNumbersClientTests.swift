import NATS
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import Relay

/// Whatever numbers a server sends, the client answers its callers, and the process lives.
@Suite("A client and a server that sends absurd numbers, in memory", .realProcesses)
struct AbsurdNumbersClientTests {
    private static let values = ["4611686018427387903", "18446744073709551615"]

    @Test(
        "No number in an answer ends the process, whatever is asked for",
        arguments: [
            "first_seq", "last_seq", "num_pending", "stream_seq", "seq", "Nats-Sequence", "Nats-Last-Sequence",
            "Nats-Num-Pending", "Nats-Msg-Size", "ack.5", "ack.7", "ack.8", "createdAt",
        ])
    func numbers(name: String) async throws {
        var network = try MemoryNetwork()
        // Some numbers leave a question without an answer.
        network.answerLimit = .seconds(5)
        // Newer servers give batches, whose places are headers.
        network.server.info.version = name.hasPrefix("Nats-") ? "2.12.0" : "2.10.0"
        try network.server.createStream("KV_test", subjects: ["$KV.test.>"])
        for number in 1...6 {
            try network.store("\(number)")
            try network.postLetter("\(number)")
            try network.server.store("$KV.test.key\(number)", Array("\(number)".utf8))
        }
        var configuration = network.configuration()
        configuration.namespace?.readsBatches = true
        configuration.store = .nowhere
        let client = try await network.connected(configuration)
        let token = try await client.listMessages(limit: 2).nextToken
        let wire = try await network.server.connect()
        var jetStream = JetStream(wire, timeout: .milliseconds(100))
        jetStream.readsBatches = true
        for value in Self.values {
            network.server.replaceNumbers([name: value])
            let followed = try? await client.messages(topic: "chat.room", from: .recent(3))
            let reader = Task {
                guard let followed else { return }
                for try await _ in followed {}
            }
            let isAnswered = NIOLockedValueBox(false)
            let asking = Task { [jetStream] in
                // All at once: what is never answered takes its time but once.
                async let _ = Self.ask(jetStream)
                await Self.ask(client, token)
                isAnswered.withLockedValue { $0 = true }
            }
            try await eventually("all answers to \(name) \(value)") { isAnswered.withLockedValue { $0 } }
            asking.cancel()
            reader.cancel()
            network.server.replaceNumbers([:])
            // The client is as good as new once the server is right again.
            #expect(try await client.listMessages(limit: 6).items.count == 6, "\(name) \(value)")
        }
        await client.close()
        await wire.close()
    }

    /// Has a client make use of every kind of answer. What it says to absurd ones is its own affair.
    private static func ask(_ client: RelayClient, _ token: String?) async {
        async let _ = try? client.history(topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 4)
        async let _ = try? client.history(topic: "chat.room", before: nil, limit: 4)
        async let _ = try? client.history(topic: "chat.room", before: 3, limit: 4)
        async let _ = try? client.history(topic: "chat.room", before: .max, limit: 4)
        await withDiscardingTaskGroup { group in
            for order in [LetterOrder.oldestFirst, .newestFirst] {
                for postbox in [nil, "personal"] {
                    group.addTask { _ = try? await client.listMessages(limit: 3, postbox: postbox, order: order) }
                }
            }
            group.addTask { _ = try? await client.listMessages(limit: 3, nextToken: token) }
            group.addTask { _ = try? await client.countMessages() }
            group.addTask { _ = try? await client.deleteMessages(withMessageIds: ["forged"]) }
            group.addTask {
                _ = try? await client.enqueue(topic: "chat.room", message: "line", id: RelayClient.newID())
            }
        }
    }

    private static func ask(_ jetStream: JetStream) async {
        _ = try? await jetStream.streamInfo("test_stream", subjectsFilter: ">")
        _ = try? await jetStream.message(in: "test_stream", sequence: 1)
        _ = try? await jetStream.lastMessageDirect(in: "KV_test", subject: "$KV.test.key1")
        _ = try? await jetStream.page(of: "test_stream", from: .all, limit: 4)
        _ = try? await jetStream.heads(of: "test_stream", from: .sequence(2), limit: 4)
        _ = try? await jetStream.batch(of: "test_stream", from: 2, limit: 4, bytes: 1 << 20)
        _ = try? await jetStream.publish(ByteBuffer(string: "x"), to: "h4sh.other")
        guard let bucket = try? KeyValueBucket("test", jetStream) else { return }
        _ = try? await bucket.get("key1")
        _ = try? await bucket.keys()
        _ = try? await bucket.put(ByteBuffer(string: "x"), for: "key2")
        _ = try? await bucket.update(ByteBuffer(string: "y"), for: "key3", revision: 3)
    }
}
