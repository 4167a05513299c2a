import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("Topics over a real server", .realProcesses)
struct TopicTests {
    @Test("B34 every kind of message arrives as it was sent", arguments: NATSServerProcess.binaries)
    func everyKind(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let sender = try await fixture.client()
        let receiver = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await receiver.messages(topic: "chat.*"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        let kinds: [MessageValue] = [
            ["a": 1, "nested": ["b": [true, nil, 2.5]]], "text", 42, -7, 2.5, true, nil, [1, "two", [3]],
            "{\"looks\":\"like JSON\"}",
        ]
        for kind in kinds { #expect(try await sender.publish(topic: "chat.room", message: kind)) }
        try await received.wait(for: "all kinds") { $0.count == kinds.count + 1 }
        let messages = await received.elements.compactMap { event -> TopicMessage? in
            if case .message(let message) = event { message } else { nil }
        }
        #expect(messages.map(\.message) == kinds)
        #expect(messages.map(\.sequence) == Array(1...UInt64(kinds.count)))
        #expect(Set(messages.map(\.topic)) == ["chat.room"])
        await sender.close()
        await receiver.close()
    }

    @Test(
        "B38 after an outage what was missed arrives once, in order, before what is new",
        arguments: NATSServerProcess.binaries)
    func recovery(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let receiver = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await receiver.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        let sender = try await fixture.client()
        for number in 1...20 { _ = try await sender.publish(topic: "chat.room", message: .int(Int64(number))) }
        try await received.wait(for: "the first twenty") { $0.count == 21 }
        await receiver.setReachable(false)
        for number in 21...40 { _ = try await sender.publish(topic: "chat.room", message: .int(Int64(number))) }
        await receiver.setReachable(true)
        for number in 41...60 { _ = try await sender.publish(topic: "chat.room", message: .int(Int64(number))) }
        try await received.wait(for: "all messages") { events in
            events.count { if case .message = $0 { true } else { false } } >= 60
        }
        #expect(await received.texts == (1...60).map(String.init))
        let recovered = await received.elements.compactMap { event -> Int64? in
            guard case .message(let message) = event, message.isRecovered else { return nil }
            return message.message.intValue
        }
        #expect(recovered.starts(with: Array(21...40)))
        await sender.close()
        await receiver.close()
    }

    @Test("B38 what comes after a recovery is not marked as recovered, though another topic had the newest message")
    func afterRecovery() async throws {
        let fixture = try await ClientFixture.start()
        let receiver = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await receiver.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        let sender = try await fixture.client()
        _ = try await sender.publish(topic: "chat.room", message: "before")
        try await received.wait(for: "the first") { $0.count == 2 }
        await receiver.setReachable(false)
        _ = try await sender.publish(topic: "chat.room", message: "missed")
        _ = try await sender.publish(topic: "chat.other", message: "somebody else's")
        await receiver.setReachable(true)
        try await received.wait(for: "the recovery") { events in events.count { $0 == .live } == 2 }
        _ = try await sender.publish(topic: "chat.room", message: "after")
        try await received.wait(for: "the last") { events in
            events.contains { if case .message(let message) = $0 { message.text == "after" } else { false } }
        }
        let recovered = await received.elements.compactMap { event -> String? in
            guard case .message(let message) = event, message.isRecovered else { return nil }
            return message.text
        }
        #expect(recovered == ["missed"])
        #expect(await received.texts == ["before", "missed", "after"])
        await sender.close()
        await receiver.close()
    }

    @Test(
        "B29 B30 lines sent while the server is down are stored once and in order",
        arguments: NATSServerProcess.binaries)
    func outage(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        let events = Collector<SystemEvent>()
        await events.start(client.events)
        let outcomes = Collector<PublishNews>()
        await outcomes.start(client.publishes)
        try await fixture.server.kill9()
        try await client.state(is: .reconnecting)
        for number in 1...50 { try client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
        #expect(try await client.publish(topic: "chat.room", message: "late") == false)
        try await fixture.server.restart()
        try await client.state(is: .connected)
        try await outcomes.wait(for: "51 ends") { $0.count { $0.state.isFinal } == 51 }
        let stored = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(stored.map(\.text) == (1...50).map(String.init) + ["late"])
        try await events.wait(for: "the events") { $0.contains(.messageResend) }
        #expect(await events.elements == [.reconnecting, .reconnected, .messageResend])
        #expect(client.queuedCount == 0)
        await client.close()
    }

    @Test("B38 what the stream no longer holds is reported as lost")
    func gap() async throws {
        let fixture = try await ClientFixture.start()
        let receiver = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await receiver.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        let sender = try await fixture.client()
        _ = try await sender.publish(topic: "chat.room", message: "before")
        try await received.wait(for: "the first") { $0.count == 2 }
        await receiver.setReachable(false)
        for number in 1...5 { _ = try await sender.publish(topic: "chat.room", message: .int(Int64(number))) }
        _ = try await fixture.withJetStream { try await $0.purgeStream("test_stream") }
        _ = try await sender.publish(topic: "chat.room", message: "after")
        await receiver.setReachable(true)
        try await received.wait(for: "the last") { events in
            events.contains { if case .message(let message) = $0 { message.text == "after" } else { false } }
        }
        #expect(await received.elements.contains(.gap(lost: 5)))
        await sender.close()
        await receiver.close()
    }

    @Test("B34 a payload that cannot be read is reported and the stream goes on")
    func unreadable() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: ">"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        try await fixture.withJetStream { jetStream in
            _ = try await jetStream.publish(ByteBuffer(bytes: [0xC1, 0xFF]), to: "h4sh.chat.room")
        }
        _ = try await client.publish(topic: "chat.room", message: "fine")
        try await received.wait(for: "the next message") { $0.count == 3 }
        #expect(await received.elements[1] == .unreadable(sequence: 1, topic: "chat.room", bytes: 2))
        #expect(await received.texts == ["fine"])
        await client.close()
    }

    @Test("Subscriptions begin where they are asked to")
    func starts() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.withJetStream { jetStream in
            for number in 1...300 {
                let topic = number % 3 == 0 ? "chat.third" : "chat.other"
                let envelope = Envelope(id: "\(number)", room: topic, message: .int(Int64(number)), start: .now)
                _ = try await jetStream.publish(ByteBuffer(bytes: envelope.encoded()), to: "h4sh.\(topic)")
            }
        }
        func texts(_ start: SubscriptionStart, _ count: Int, topic: String = "chat.third") async throws -> [String] {
            let received = Collector<TopicEvent>()
            await received.start(try await client.messages(topic: topic, from: start))
            try await received.wait(for: "the live subscription") { $0.contains(.live) }
            await received.stop()
            return await received.texts
        }
        #expect(try await texts(.all, 100).count == 100)
        #expect(try await texts(.new, 0).isEmpty)
        #expect(try await texts(.sequence(298), 1) == ["300"])
        let recent = try await texts(.recent(10), 10)
        #expect(recent.suffix(10) == stride(from: 273, through: 300, by: 3).map(String.init)[...])
        #expect(recent.count <= 20)
        #expect(try await texts(.time(Timestamp(milliseconds: 0)), 100).count == 100)
        let page = try await client.history(topic: "chat.third", before: 151, limit: 5)
        #expect(page.messages.map(\.text) == ["138", "141", "144", "147", "150"])
        #expect(!page.isComplete)
        let first = try await client.history(topic: "chat.third", before: 10, limit: 5)
        #expect(first.messages.map(\.text) == ["3", "6", "9"])
        #expect(first.isComplete)
        await client.close()
    }

    @Test(
        "A subscription says that it catches up, and up to where it has delivered everything",
        arguments: NATSServerProcess.binaries)
    func progress(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        for topic in ["chat.a", "chat.b", "chat.a"] { _ = try await client.publish(topic: topic, message: "x") }
        func news(_ topic: String, from start: SubscriptionStart) async throws -> [String] {
            var iterator = try await client.messages(topic: topic, from: start).makeAsyncIterator()
            var words: [String] = []
            while words.last?.hasPrefix("live") != true, let batch = try await iterator.nextNews() {
                for item in batch {
                    switch item {
                    case .event(.message(let message), _): words.append("\(message.sequence)")
                    case .event: words.append("?")
                    case .catchingUp: words.append("catching up")
                    case .live(let through): words.append("live through \(through)")
                    }
                }
            }
            return words
        }
        #expect(try await news("chat.a", from: .all) == ["catching up", "1", "3", "live through 3"])
        #expect(try await news("chat.b", from: .all) == ["catching up", "2", "live through 3"])
        #expect(try await news("chat.c", from: .all) == ["live through 3"])
        #expect(try await news("chat.a", from: .new) == ["live through 3"])
        await client.close()
    }

    @Test("A slow reader loses nothing, however much is stored meanwhile")
    func slowReader() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let count = 10_000
        let events = try await client.messages(topic: "chat.room")
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == .live)
        for number in 1...count {
            while client.queuedCount > 5_000 { await Task.yield() }
            try client.enqueue(topic: "chat.room", message: .int(Int64(number)))
        }
        try await eventually("an empty outbox", deadline: .seconds(60)) { client.queuedCount == 0 }
        var next: Int64 = 1
        while next <= count, let event = try await iterator.next() {
            guard case .message(let message) = event else { continue }
            try #require(message.message.intValue == next)
            next += 1
        }
        #expect(next == Int64(count) + 1)
        await client.close()
    }

    @Test("B35 wildcards, reserved names and messages over the limit are refused before sending")
    func refusals() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        for topic in ["chat.*", "chat.>", "CONNECTED", "", "a b", "a..b", "a$b"] {
            await #expect(throws: RelayError.self) { try await client.publish(topic: topic, message: "x") }
        }
        let large = String(repeating: "x", count: 200 << 10)
        await #expect {
            try await client.publish(topic: "chat.room", message: .string(large))
        } throws: { error in
            if case .tooLarge(_, let limit) = error as? RelayError { limit == 128 << 10 } else { false }
        }
        await client.close()
    }

    @Test("B36 a listener that came before connect hears messages and system events")
    func listeners() async throws {
        final class Listener: MessageListener {
            let heard = Collected()
            func onMessage(_ message: Any) {
                heard.add((message as? TopicMessage)?.text ?? (message as? String) ?? "?")
            }
        }
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration())
        let messages = Listener()
        let system = Listener()
        #expect(try await client.on(topic: "chat.room", listener: messages))
        #expect(try await client.on(topic: "chat.room", listener: system) == false)
        #expect(try await client.on(topic: SystemEvent.connected.rawValue, listener: system))
        #expect(try await client.on(topic: SystemEvent.disconnected.rawValue, listener: system))
        try await client.connect(timeLimit: 60)
        _ = try await client.publish(topic: "chat.room", message: "hello")
        try await eventually("the message") { messages.heard.all == ["hello"] }
        #expect(await client.off(topic: "chat.room"))
        #expect(await client.off(topic: "chat.room") == false)
        await client.close()
        try await eventually("both system events") { system.heard.all == ["CONNECTED", "DISCONNECTED"] }
    }
}
