import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Client: what it follows, over a network in memory", .realProcesses)
struct FollowingClientTests {
    private static let noLeader = MemoryServer.Failure.refusal(
        JetStreamFailure(code: 503, errorCode: 10_008, text: "JetStream system temporarily unavailable"))
    private static let create = "$JS.API.CONSUMER.CREATE.test_stream."

    @Test("B38 a stream that is deleted and made again under a standing connection is followed from its beginning")
    func streamMadeAnew() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        for number in 1...5 { try network.store("old \(number)") }
        try await heard.wait(for: "> old 5")
        network.server.deleteStream("test_stream")
        try network.server.createStream("test_stream", subjects: ["h4sh.>"])
        for number in 1...3 { try network.store("new \(number)") }
        // Whoever looks between the two finds no stream, and looks again in a while.
        try await network.letTimePass("the new messages") { heard.all.contains { $0.hasSuffix("new 3") } }
        let mark = try #require(heard.all.firstIndex(of: "restarted"))
        #expect(heard.all[mark...].filter { $0.contains("new") }.map { $0.suffix(5) } == ["new 1", "new 2", "new 3"])
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        await client.close()
    }

    @Test("B43 RECONNECTED comes when every topic is live; one that fails is named and tried again")
    func reconnectedWhenLive() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let events = Gathered(client.events)
        let heard = Heard(try await client.messages(topic: "chat.room"))
        let other = Heard(try await client.messages(topic: "chat.other"))
        for heard in [heard, other] { try await heard.wait(for: "live") }
        network.server.fail(subjectPrefix: Self.create, with: Self.noLeader)
        network.server.disconnectAll()
        try await network.attemptNow(client)
        // What passes in a moment is no news.
        try await eventually("a second try") {
            network.time.untilNext != nil && client.status.failingSubscriptions.isEmpty
        }
        try await network.letTimePass("the failing topics") {
            client.status.failingSubscriptions == ["chat.other", "chat.room"]
        }
        try await client.state(is: .connected)
        #expect(!events.all.contains(.reconnected))
        try await heard.wait(for: "interrupted")
        // Lines are still sent.
        _ = try await client.send(topic: "chat.room", message: "meanwhile")
        network.server.fail(subjectPrefix: Self.create, with: nil)
        try await network.letTimePass("the end of what fails") { client.status.failingSubscriptions.isEmpty }
        try await eventually("RECONNECTED") { events.all.last == .reconnected }
        try await heard.wait(for: "live", times: 2)
        try await eventually("what came meanwhile") { heard.all.contains { $0.hasSuffix("meanwhile") } }
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

    @Test("B44 a topic that is refused fails alone, and works again when it is granted")
    func refusedTopic() async throws {
        let network = try MemoryNetwork()
        let refusal = MemoryServer.Failure.refusal(
            JetStreamFailure(code: 403, errorCode: 10_025, text: "not authorized"))
        network.server.fail(subjectPrefix: Self.create, with: refusal)
        let client = try await network.connected()
        let heard = Heard(try await client.messages(topic: "chat.secret"))
        try await heard.wait(for: "refused")
        #expect(client.status.failingSubscriptions == ["chat.secret"])
        network.server.fail(subjectPrefix: Self.create, with: nil)
        let room = Heard(try await client.messages(topic: "chat.room"))
        try await room.wait(for: "live")
        try await network.letTimePass("the end of what fails") { client.status.failingSubscriptions.isEmpty }
        try await heard.wait(for: "live")
        try network.store("granted", on: "chat.secret")
        try await heard.wait(for: "> granted")
        await client.close()
    }

    @Test("B36 several listeners hear one topic, each until its token goes; a second `on` is refused")
    func listeners() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let (only, second, third) = (TextListener(), TextListener(), TextListener())
        #expect(try await client.on(topic: "chat.room", listener: only))
        #expect(try await client.on(topic: "chat.room", listener: second) == false)
        let token = try await client.listen(to: "chat.room", listener: second)
        var other: SubscriptionToken? = try await client.listen(to: "chat.room", listener: third)
        try network.store("one")
        for listener in [only, second, third] {
            try await eventually("the first line") { listener.heard.all == ["one"] }
        }
        token.cancel()
        _ = other
        other = nil
        try await eventually("the end of the two") { network.server.consumers(of: "test_stream").count == 1 }
        try network.store("two")
        try await eventually("the second line") { only.heard.all == ["one", "two"] }
        #expect(second.heard.all == ["one"] && third.heard.all == ["one"])
        let closing = try await client.listen(to: SystemEvent.disconnected.topic, listener: third)
        await client.close()
        #expect(third.heard.all == ["one", SystemEvent.disconnected.rawValue])
        closing.cancel()
    }
}
