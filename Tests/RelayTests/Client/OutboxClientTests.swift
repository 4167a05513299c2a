import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Client: the outbox, over a network in memory", .realProcesses)
struct OutboxClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    /// So slow that the second message never leaves.
    private static let paced = OutboxPolicy(pacing: OutboxPacing(messages: 1, per: .seconds(600)))

    @Test("B13 a message taken back while the outbox is flushed does not hold up the reconnection")
    func cancelledDuringFlush() async throws {
        let client = try await network.connected(network.configuration(outbox: Self.paced))
        await client.setReachable(false)
        let first = try await client.enqueue(topic: "chat.room", message: "first")
        let second = try await client.enqueue(topic: "chat.room", message: "second")
        await client.setReachable(true)
        _ = try await first.receipt(within: .seconds(60))
        #expect(client.status.state == .reconnecting)
        #expect(client.cancelPublish(id: second.id))
        try await client.state(is: .connected)
        await client.close()
    }

    @Test(
        "B29 a connection's own failure is none of the messages under way",
        arguments: [
            NATSError.tls("broken"), .authorization(.violation), .protocolViolation("nonsense"), .timeout("login"),
        ])
    func failureOfTheConnection(_ error: NATSError) async throws {
        let outbox = OutboxPolicy(discardsOnClose: false)
        let client = try await network.connected(network.configuration(outbox: outbox))
        network.server.setSilent(true)
        let pending = try await client.enqueue(topic: "chat.room", message: "under way")
        let connection = try #require(await client.link?.connection)
        connection.core.end(error)
        try await eventually("the end of the connection") { await client.link?.connection !== connection }
        network.server.setSilent(false)
        if client.status.state == .disconnected {
            try await client.connect()
        } else {
            try await network.attemptNow(client)
        }
        try await client.state(is: .connected)
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        #expect(network.stored() == ["under way"])
        await client.close()
    }

    @Test("B32 what was sent just before close is stored")
    func closeAfterSending() async throws {
        for round in 1...5 {
            let client = try await network.connected()
            // The time of a busy machine.
            client.settings.withLockedValue { $0.limits.closing = .seconds(60) }
            for number in 1...20 { try await client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
            await client.close()
            #expect(network.server.messages(in: "test_stream").count == 20 * round)
        }
    }

    @Test("B29 B32 close ends what waits, also after the session has ended for another reason")
    func closeAfterBan() async throws {
        let client = try await network.connected(network.configuration(outbox: Self.paced))
        let news = Gathered(client.publishes)
        _ = try await client.send(topic: "chat.room", message: "uses up the minutes", timeout: .seconds(60))
        var ids: [String] = []
        for number in 1...3 {
            ids.append(try await client.enqueue(topic: "chat.room", message: .int(Int64(number))).id)
        }
        let ban = Array(#"{"kind":"banned","reason":"spam"}"#.utf8)
        network.server.publish(ControlMessage.subject(for: MemoryNetwork.user), ban)
        try await client.state(is: .disconnected)
        // The policy keeps what waits for the next session; there will be none.
        #expect(client.queuedCount == 3)
        await client.close()
        let discarded = ids.map { PublishNews(id: $0, state: .discarded(.closedByUser)) }
        try await news.wait(for: "three discarded lines") { news in discarded.allSatisfy(news.contains) }
        #expect(client.queuedCount == 0)
    }

    @Test("B32 a new connection that is asked for keeps what waits")
    func reconnectKeepsTheQueue() async throws {
        let client = try await network.connected(network.configuration(outbox: Self.paced))
        _ = try await client.send(topic: "chat.room", message: "uses up the minutes", timeout: .seconds(60))
        let waiting = try await client.enqueue(topic: "chat.room", message: "waits")
        // Dials that a person asks for are kept apart; this one is far enough from the first.
        network.time.advance(by: .seconds(1))
        await client.reconnect()
        try await eventually("another connection") {
            await client.serverVersion != nil && client.status.state != .connected
        }
        #expect(client.queuedCount == 1)
        #expect(client.cancelPublish(id: waiting.id))
        try await client.state(is: .connected)
        #expect(client.status.recoveries == 1)
        // Where no session is, one begins.
        await client.disconnect()
        await client.reconnect()
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("B13 B31 an old message that is dropped while the outbox is flushed does not hold up the reconnection")
    func droppedDuringFlush() async throws {
        var policy = OutboxPolicy(maximumMessages: 1, overflow: .dropOldest)
        policy.pacing = Self.paced.pacing
        let client = try await network.connected(network.configuration(outbox: policy))
        _ = try await client.send(topic: "chat.room", message: "uses up the allowance", timeout: .seconds(60))
        await client.setReachable(false)
        try await client.enqueue(topic: "chat.room", message: "old")
        await client.setReachable(true)
        try await eventually("the flush") { client.publisher.isFlushAwaited }
        #expect(client.status.state == .reconnecting)
        try await client.enqueue(topic: "chat.room", message: "new")
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("B29 a second publish under the same identifier is refused and leaves the first one its receipt")
    func repeatedIdentifier() async throws {
        let client = try await network.connected()
        await client.setReachable(false)
        let first = try await client.enqueue(topic: "chat.room", message: "x", id: "same")
        await #expect(throws: RelayError.self) {
            try await client.enqueue(topic: "chat.room", message: "x", id: "same")
        }
        await client.setReachable(true)
        #expect(try await first.receipt(within: .seconds(60)).sequence == 1)
        #expect(network.stored() == ["x"])
        await client.close()
    }

    @Test("B29 a topic whose stream is away for a moment keeps its messages")
    func streamAway() async throws {
        let client = try await network.connected()
        network.server.deleteStream("test_stream")
        let news = Gathered(client.publishes)
        let pending = try await client.enqueue(topic: "chat.room", message: "patience")
        try await news.wait(for: "a failed attempt") { news in
            guard let sent = news.firstIndex(where: { $0.state == .sending }) else { return false }
            return news[sent...].contains { $0.state == .queued }
        }
        try network.server.createStream("test_stream", subjects: ["h4sh.>"])
        try await network.letTimePass("the next attempt") { client.queuedCount == 0 }
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }
}
