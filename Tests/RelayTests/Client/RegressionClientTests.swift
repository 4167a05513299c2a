import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Client: faults that must not come back, over a network in memory", .realProcesses)
struct RegressionClientTests {
    /// So slow that the second message never leaves.
    private static let pacing = OutboxPacing(messages: 1, per: .seconds(600))

    private static func paced(_ policy: OutboxPolicy = .parley) -> OutboxPolicy {
        var policy = policy
        policy.pacing = pacing
        return policy
    }

    // MARK: Receiving

    @Test("B38 B40 an outage while the reader is slow costs no message")
    func slowReaderThroughOutage() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        var iterator = try await client.messages(topic: "chat.room").makeAsyncIterator()
        #expect(try await iterator.next() == .live)
        // More than the client takes in for its reader, so that some stay on the server.
        let count = 5_000
        for number in 1...count { try network.store("\(number)") }
        for _ in 0..<3 {
            try await eventually("what its reader has not taken is full") {
                iterator.subscription.stream.channel.isFull
            }
            await client.setReachable(false)
            await client.setReachable(true)
            try await client.state(is: .connected)
        }
        var next = 1
        while next <= count, let event = try await iterator.next() {
            guard case .message(let message) = event else { continue }
            try #require(message.text == "\(next)")
            next += 1
        }
        #expect(next == count + 1)
        await client.close()
    }

    @Test("B43 a stream whose server answers late for a while is followed when it answers")
    func lateStream() async throws {
        let network = try MemoryNetwork()
        let connection = try await network.server.connect(
            ServerAddress(host: "memory"), ConnectOptions(pingInterval: .zero))
        // Only where none comes is an answer waited for so shortly.
        let limit = NIOLockedValueBox(Duration.milliseconds(100))
        let source: @Sendable () -> StreamSource = {
            StreamSource(
                name: "test_stream", filter: nil,
                jetStream: JetStream(connection, timeout: limit.withLockedValue { $0 }))
        }
        let subscription = StreamSubscription<String>(
            "test", from: .new,
            SubscriptionWords(
                operation: "reading",
                message: { message, _, _, _ in ("message", nil) }, live: "live", lost: { _ in "lost" }, restarted: nil,
                interrupted: { _, passes in passes ? "interrupted" : "ended" }),
            source: { _, _ in source() })
        network.server.setSilent(true)
        let standings = NIOLockedValueBox<[FollowerStanding]>([])
        let told = Collected()
        let reading = Task {
            while let news = try await subscription.channel.next() {
                switch news {
                case .events(let words, _): for word in words { told.add(word) }
                case .catchingUp: break
                case .live: told.add("live")
                }
            }
        }
        let opened = subscription.follow(
            network.time,
            report: { standing in
                standings.withLockedValue { $0.append(standing) }
            }
        ) { source() }
        // The outbox does not wait for a stream after two answers that did not come; the subscription itself goes on.
        try await network.letTimePass("two answers that do not come") { standings.withLockedValue { !$0.isEmpty } }
        await opened.value()
        #expect(standings.withLockedValue { $0.first } == .failed(passes: true))
        network.server.setSilent(false)
        limit.withLockedValue { $0 = .seconds(60) }
        try await network.letTimePass("the answer") { told.all.contains("live") }
        #expect(told.all == ["interrupted", "live"])
        #expect(standings.withLockedValue { $0.last } == .live)
        subscription.end()
        try await reading.value
        await connection.close()
    }

    // MARK: Sending

    @Test("B13 a message taken back while the outbox is flushed does not hold up the reconnection")
    func cancelledDuringFlush() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected(network.configuration(outbox: Self.paced()))
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

    @Test("B13 B31 an old message that is dropped while the outbox is flushed does not hold up the reconnection")
    func droppedDuringFlush() async throws {
        let network = try MemoryNetwork()
        let policy = Self.paced(OutboxPolicy(maximumMessages: 1, overflow: .dropOldest))
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
        let network = try MemoryNetwork()
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
        let network = try MemoryNetwork()
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

    @Test("B29 a topic that no stream stores fails in the end, with the reason")
    func noStream() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        network.server.deleteStream("test_stream")
        let pending = try await client.enqueue(topic: "chat.room", message: "anyone?")
        try await network.letTimePass("the end") { client.queuedCount == 0 }
        await #expect(throws: RelayError.server(code: 503, "no stream stores chat.room")) {
            try await pending.receipt(within: .seconds(60))
        }
        await client.close()
    }

    @Test(
        "B29 a connection's own failure is none of the messages under way",
        arguments: [
            NATSError.tls("broken"), .authorization(.violation), .protocolViolation("nonsense"), .timeout("login"),
        ])
    func failureOfTheConnection(_ error: NATSError) async throws {
        let network = try MemoryNetwork()
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
        let network = try MemoryNetwork()
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
        let network = try MemoryNetwork()
        let client = try await network.connected(network.configuration(outbox: Self.paced()))
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
        let network = try MemoryNetwork()
        let client = try await network.connected(network.configuration(outbox: Self.paced()))
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

    // MARK: Connection

    @Test("B5 B11 expired credentials end in DISCONNECTED and the status says so")
    func expired() async throws {
        let account = NKeyPair.generate(.account)
        let user = NKeyPair.generate(.user)
        var claims = UserClaims(subject: user.publicKey, name: "alice", grant: UserGrant())
        claims.expires = 1
        let expired = try RelayCredentials(Credentials(jwt: claims.encode(signedBy: account), keyPair: user))
        let network = try MemoryNetwork()
        var configuration = network.configuration()
        configuration.credentials = .provided(startingWith: expired) { throw RelayError.cancelled }
        let client = network.client(configuration)
        await #expect(throws: RelayError.connection(.tokenExpired)) { try await client.connect() }
        #expect(client.status.state == .disconnected)
        #expect(client.status.reason == .tokenExpired)
        #expect(network.server.dials == 0)
    }

    @Test("B36 topics can be listened to again after close and connect")
    func listenersAfterClose() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let listener = TextListener()
        #expect(try await client.on(topic: "chat.room", listener: listener))
        await client.close()
        try await client.connect()
        #expect(try await client.on(topic: "chat.room", listener: listener))
        _ = try await client.send(topic: "chat.room", message: "again", timeout: .seconds(60))
        try await eventually("a message") { listener.heard.all == ["again"] }
        await client.close()
    }

    @Test("A server in lame duck mode is left before it closes")
    func lameDuck() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let statuses = Gathered(client.statuses)
        network.server.sendLameDuck()
        try await statuses.wait(for: "the leaving") { $0.contains { $0.state == .reconnecting } }
        let reason = statuses.all.first { $0.state == .reconnecting }?.reason
        #expect(reason == .connectionLost("the server is shutting down"))
        try await eventually("the client's going") { network.server.connections == 0 }
        await client.disconnect()
    }
}
