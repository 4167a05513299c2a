import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Faults of the client that must not come back", .realProcesses)
struct ClientRegressionTests {
    // MARK: Receiving

    @Test("B38 B40 an outage while the reader is slow costs no message")
    func slowReaderThroughOutage() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let sender = try await fixture.client()
        var iterator = try await client.messages(topic: "chat.room").makeAsyncIterator()
        #expect(try await iterator.next() == .live)
        let count = 6_000
        for number in 1...count { try sender.enqueue(topic: "chat.room", message: .int(Int64(number))) }
        try await eventually("an empty outbox", deadline: .seconds(60)) { sender.queuedCount == 0 }
        for _ in 0..<3 {
            try await eventually("what its reader has not taken is full") {
                iterator.subscription.stream.channel.isFull
            }
            await client.setReachable(false)
            await client.setReachable(true)
            try await client.state(is: .connected)
        }
        var next: Int64 = 1
        while next <= count, let event = try await iterator.next() {
            guard case .message(let message) = event else { continue }
            try #require(message.message.intValue == next)
            next += 1
        }
        #expect(next == Int64(count) + 1)
        await sender.close()
        await client.close()
    }

    @Test("B38 a stream that lost its newest messages is not delivered again from its beginning")
    func truncatedStream() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        // More than the identifiers that a cursor remembers.
        let count = 1_500
        for number in 1...count { try client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
        try await eventually("an empty outbox") { client.queuedCount == 0 }
        try await fixture.server.stop()
        let store = fixture.server.directory.path("store")
        try FileManager.default.copyItem(atPath: store, toPath: store + ".old")
        try await fixture.server.restart()
        try await client.state(is: .connected)
        for number in count + 1...count + 3 {
            _ = try await client.send(
                topic: "chat.room", message: .int(Int64(number)), timeout: .seconds(60))
        }
        try await received.wait(for: "all messages") { events in
            events.contains { if case .message(let message) = $0 { message.text == "\(count + 3)" } else { false } }
        }
        try await fixture.server.stop()
        // As after a power cut that came before the disk had everything.
        try FileManager.default.removeItem(atPath: store)
        try FileManager.default.moveItem(atPath: store + ".old", toPath: store)
        try await fixture.server.restart()
        try await client.state(is: .connected)
        _ = try await client.send(topic: "chat.room", message: "after", timeout: .seconds(60))
        try await received.wait(for: "the newest") { events in
            events.contains { if case .message(let message) = $0 { message.text == "after" } else { false } }
        }
        #expect(await received.texts == (1...count + 3).map(String.init) + ["after"])
        await client.close()
    }

    @Test("B43 a stream whose server answers late for a while is followed when it answers")
    func lateStream() async throws {
        let fixture = try await ClientFixture.start()
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: fixture.server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let subscription = StreamSubscription<String>(
            from: .new,
            SubscriptionWords(
                message: { message, _, _ in ("message", nil) }, live: "live", lost: { _ in "lost" }, restarted: nil,
                interrupted: { _, passes in passes ? "interrupted" : "ended" }))
        try await fixture.server.pause()
        let source = StreamSource(
            name: "test_stream", filter: nil, jetStream: JetStream(connection, timeout: .milliseconds(200)))
        let standings = NIOLockedValueBox<[FollowerStanding]>([])
        let opened = subscription.follow(
            SystemTime(),
            report: { standing in
                standings.withLockedValue { $0.append(standing) }
            }
        ) { source }
        // The outbox does not wait for a stream after two answers that did not come; the subscription itself goes on.
        await opened.value()
        #expect(standings.withLockedValue { $0.first } == .failed(passes: true))
        fixture.server.resume()
        let first = Task {
            _ = try await subscription.channel.next()
            guard case .live? = try await subscription.channel.next() else { return false }
            return true
        }
        let alarm = Task {
            try await Task.sleep(for: .seconds(300))
            subscription.end()
        }
        #expect(try await first.value)
        #expect(standings.withLockedValue { $0.last } == .live)
        alarm.cancel()
        subscription.end()
        await connection.close()
    }

    // MARK: Sending

    @Test("B13 a message taken back while the outbox is flushed does not hold up the reconnection")
    func cancelledDuringFlush() async throws {
        let fixture = try await ClientFixture.start()
        var policy = OutboxPolicy.parley
        policy.pacing = OutboxPacing(messages: 1, per: .seconds(600))
        let client = try await fixture.client(outbox: policy)
        await client.setReachable(false)
        let first = try client.submit(topic: "chat.room", message: "first")
        let second = try client.enqueue(topic: "chat.room", message: "second")
        await client.setReachable(true)
        _ = try await first.receipt(within: .seconds(60))
        #expect(client.status.state == .reconnecting)
        #expect(client.cancelPublish(id: second))
        try await client.state(is: .connected, deadline: .seconds(30))
        await client.close()
    }

    @Test("B13 B31 an old message that gives way while the outbox is flushed does not hold up the reconnection")
    func droppedDuringFlush() async throws {
        let fixture = try await ClientFixture.start()
        var policy = OutboxPolicy(maximumMessages: 1, overflow: .dropOldest)
        policy.pacing = OutboxPacing(messages: 1, per: .seconds(600))
        let client = try await fixture.client(outbox: policy)
        _ = try await client.send(topic: "chat.room", message: "uses up the allowance", timeout: .seconds(60))
        await client.setReachable(false)
        try client.enqueue(topic: "chat.room", message: "old")
        await client.setReachable(true)
        try await eventually("the new connection") { await client.serverVersion != nil }
        try await eventually("the flush") { client.publisher.isFlushAwaited }
        try client.enqueue(topic: "chat.room", message: "new")
        try await client.state(is: .connected, deadline: .seconds(30))
        await client.close()
    }

    @Test("B29 a second publish under the same identifier is refused and leaves the first one its receipt")
    func repeatedIdentifier() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        await client.setReachable(false)
        let first = try client.submit(topic: "chat.room", message: "x", id: "same")
        #expect(throws: RelayError.self) { try client.submit(topic: "chat.room", message: "x", id: "same") }
        await client.setReachable(true)
        #expect(try await first.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }

    @Test("B29 a topic whose stream is away for a moment keeps its messages")
    func streamAway() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.withJetStream { try await $0.deleteStream("test_stream") }
        let news = Collector<PublishNews>()
        await news.start(client.publishes)
        let pending = try client.submit(topic: "chat.room", message: "patience")
        try await news.wait(for: "a failed attempt") { news in
            guard let sent = news.firstIndex(where: { $0.state == .sending }) else { return false }
            return news[sent...].contains { $0.state == .queued }
        }
        try await fixture.withJetStream {
            _ = try await $0.createStream(StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"]))
        }
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }

    @Test("B29 a topic that no stream stores fails in the end, with the reason")
    func noStream() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.withJetStream { try await $0.deleteStream("test_stream") }
        await #expect(throws: RelayError.server(code: 503, "no stream stores chat.room")) {
            try await client.send(topic: "chat.room", message: "anyone?", timeout: .seconds(120))
        }
        await client.close()
    }

    @Test(
        "B29 a connection's own failure is none of the messages under way",
        arguments: [
            NATSError.tls("broken"), .authorization(.violation), .protocolViolation("nonsense"), .timeout("login"),
        ])
    func failureOfTheConnection(_ error: NATSError) async throws {
        let fixture = try await ClientFixture.start()
        var outbox = OutboxPolicy.parley
        outbox.discardsOnClose = false
        let client = try await fixture.client(outbox: outbox)
        try await fixture.server.pause()
        let pending = try client.submit(topic: "chat.room", message: "under way")
        let connection = try #require(await client.link?.connection)
        connection.core.end(error)
        try await eventually("the end of the connection") { await client.link?.connection !== connection }
        fixture.server.resume()
        try await client.connect(timeLimit: 60)
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }

    @Test("B20 B29 publishes without an answer have a frozen server noticed, and outlast it")
    func frozenWhilePublishing() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.server.pause()
        let pending = try client.submit(topic: "chat.room", message: "patience")
        try await client.state(is: .reconnecting, deadline: .seconds(30))
        fixture.server.resume()
        #expect(try await pending.receipt(within: .seconds(60)).sequence == 1)
        await client.close()
    }

    @Test("B32 what was sent just before close is stored")
    func closeAfterSending() async throws {
        let fixture = try await ClientFixture.start()
        for round in 1...5 {
            let client = try await fixture.client()
            await client.setLimits(closing: .seconds(60))
            for number in 1...20 { try client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
            await client.close()
            let stored = try await fixture.withJetStream { try await $0.streamInfo("test_stream").state.messages }
            #expect(stored == UInt64(20 * round))
        }
    }

    @Test("B29 B32 close ends what waits, also after the session has ended for another reason")
    func closeAfterBan() async throws {
        let fixture = try await ClientFixture.start()
        var policy = OutboxPolicy.parley
        policy.pacing = OutboxPacing(messages: 1, per: .seconds(600))
        let client = try await fixture.client(outbox: policy)
        let news = Collector<PublishNews>()
        await news.start(client.publishes)
        _ = try await client.send(topic: "chat.room", message: "uses up the minutes")
        var ids: [String] = []
        for number in 1...3 { ids.append(try client.enqueue(topic: "chat.room", message: .int(Int64(number)))) }
        try await fixture.withJetStream {
            let ban = ByteBuffer(string: #"{"kind":"banned","reason":"spam"}"#)
            try $0.connection.publish(ban, to: ControlMessage.subject(for: ClientFixture.user))
            try await $0.connection.flush()
        }
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
        let fixture = try await ClientFixture.start()
        var policy = OutboxPolicy.parley
        policy.pacing = OutboxPacing(messages: 1, per: .seconds(600))
        let client = try await fixture.client(outbox: policy)
        _ = try await client.send(topic: "chat.room", message: "uses up the minutes", timeout: .seconds(60))
        let waiting = try client.submit(topic: "chat.room", message: "waits")
        await client.reconnect()
        try await eventually("another connection") {
            await client.serverVersion != nil && client.status.state != .connected
        }
        #expect(client.queuedCount == 1)
        #expect(client.cancelPublish(id: waiting.id))
        try await client.state(is: .connected, deadline: .seconds(30))
        #expect(client.status.recoveries == 1)
        // Where no session is, one begins.
        await client.disconnect()
        await client.reconnect()
        try await client.state(is: .connected, deadline: .seconds(30))
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
        let credentials = RelayCredentials.provided(startingWith: expired) { throw RelayError.cancelled }
        let client = RelayClient(
            configuration: RelayConfiguration(
                servers: .fixed(try RelayConfiguration.addresses(["nats://127.0.0.1:1"])), credentials: credentials,
                namespace: ClientFixture.namespace))
        await #expect(throws: RelayError.connection(.tokenExpired)) { try await client.connect(timeLimit: 60) }
        #expect(client.status.state == .disconnected)
        #expect(client.status.reason == .tokenExpired)
    }

    @Test("B36 topics can be listened to again after close and connect")
    func listenersAfterClose() async throws {
        final class Listener: MessageListener {
            let heard = Collected()
            func onMessage(_ message: Any) { heard.add((message as? TopicMessage)?.text ?? "?") }
        }
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let listener = Listener()
        #expect(try await client.on(topic: "chat.room", listener: listener))
        await client.close()
        try await client.connect(timeLimit: 60)
        #expect(try await client.on(topic: "chat.room", listener: listener))
        try await eventually("a message") {
            _ = try await client.send(topic: "chat.room", message: "again", timeout: .seconds(60))
            return listener.heard.all.contains("again")
        }
        await client.close()
    }

    @Test("A server in lame duck mode is left before it closes")
    func lameDuck() async throws {
        let server = try await NATSServerProcess.start(
            configuration: "lame_duck_grace_period: \"20s\"\nlame_duck_duration: \"30s\"\n")
        let fixture = ClientFixture(server: server)
        let client = RelayClient(configuration: try fixture.configuration())
        try await client.connect(timeLimit: 60)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        kill(server.processID, SIGUSR2)
        try await statuses.wait(for: "the leaving") { $0.contains { $0.state == .reconnecting } }
        let reason = await statuses.elements.first { $0.state == .reconnecting }?.reason
        #expect(reason == .connectionLost("the server is shutting down"))
        await client.disconnect()
        try await server.kill9()
    }
}
