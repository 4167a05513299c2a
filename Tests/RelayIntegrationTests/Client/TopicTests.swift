import NATS
import NIOConcurrencyHelpers
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
        for number in 1...50 { try await client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
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

    @Test(
        "B38: where the rest of what was stored is deleted before it has come, a subscription is live all the same",
        arguments: NATSServerProcess.binaries)
    func deletedRest(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        // More than a reader that takes nothing has room for.
        try await fixture.withJetStream { jetStream in
            for _ in 1...600 {
                _ = try await jetStream.publish(ByteBuffer(repeating: 0x78, count: 100_000), to: "h4sh.chat.room")
            }
        }
        let client = try await fixture.client()
        let (begun, deleted) = (Completion<Bool>(), Completion<Bool>())
        let count = NIOLockedValueBox<Int?>(nil)
        let events = try await client.messages(topic: "chat.room", from: .all)
        let reader = Task {
            var (read, iterator) = (0, events.makeAsyncIterator())
            while let event = try await iterator.next() {
                if event == .live { return count.withLockedValue { [read] in $0 = read } }
                read += 1
                if read == 1 {
                    begun.fulfil(true)
                    _ = await deleted.value()
                }
            }
        }
        #expect(await begun.value())
        try await fixture.withJetStream { _ = try await $0.purgeStream("test_stream") }
        deleted.fulfil(true)
        try await eventually("the live subscription", deadline: .seconds(120)) { count.withLockedValue { $0 != nil } }
        #expect(count.withLockedValue { $0 ?? 600 } < 600)
        reader.cancel()
        await client.close()
    }

    @Test(
        "B64: where identifiers are not hashed, one that another message has is refused, and not told as stored",
        arguments: NATSServerProcess.binaries)
    func takenIdentifier(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        try await fixture.withJetStream { jetStream in
            for (id, subject) in [("a", "h4sh.chat.other"), ("b", "h4sh.chat.room")] {
                _ = try await jetStream.publish(ByteBuffer(string: "theirs"), to: subject, messageID: id)
            }
        }
        for id in ["a", "b"] {
            for mayBeStored in [false, true] {
                let error = await #expect(throws: RelayError.self) {
                    _ = try await client.enqueueLine(topic: "chat.room", text: "ours", id: id, mayBeStored: mayBeStored)
                        .receipt(within: .seconds(60))
                }
                #expect(error?.words.hasPrefix("The identifier \(id) is taken") == true)
            }
        }
        // Another run of the same call.
        let other = try await fixture.client()
        let receipts = [
            try await client.enqueueLine(topic: "chat.room", text: "ours", id: "c").receipt(within: .seconds(60)),
            try await other.enqueueLine(topic: "chat.room", text: "ours", id: "c").receipt(within: .seconds(60)),
        ]
        #expect(receipts.map(\.isDuplicate) == [false, true] && receipts[0].sequence == receipts[1].sequence)
        for client in [client, other] { await client.close() }
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
            if client.queuedCount > 5_000 {
                try await eventually("room in the outbox") { client.queuedCount <= 5_000 }
            }
            try await client.enqueue(topic: "chat.room", message: .int(Int64(number)))
        }
        try await eventually("an empty outbox", deadline: .seconds(120)) { client.queuedCount == 0 }
        var next: Int64 = 1
        while next <= count, let event = try await iterator.next() {
            guard case .message(let message) = event else { continue }
            try #require(message.message.intValue == next)
            next += 1
        }
        #expect(next == Int64(count) + 1)
        await client.close()
    }
}
