import Foundation
import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Topics over a real server", .realProcesses)
struct TopicTests {
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

    @Test("B38 a stream that lost its newest messages is not delivered again from its beginning")
    func truncatedStream() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        // More than the identifiers that a cursor remembers.
        let count = 1_500
        for number in 1...count { try await client.enqueue(topic: "chat.room", message: .int(Int64(number))) }
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

    @Test(
        "B38 B55 a hundred cuts and a hundred absences of a reader fit into a stream that takes five consumers",
        arguments: NATSServerProcess.binaries)
    func fewConsumers(binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary, maximumConsumers: 5)
        let client = try await fixture.client(reconnect: ReconnectPolicy(schedule: [.milliseconds(1)]))
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room", from: .all))
        func write(_ number: Int) async throws {
            try await client.enqueue(topic: "chat.room", message: .int(Int64(number)))
        }
        for round in 1...100 {
            // One message on each connection, one while there is none, one after an absence. A consumer that is left
            // behind stays for a minute, and the sixth would be refused for as long.
            try await write(3 * round - 2)
            try await eventually("message \(3 * round - 2)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round - 2
            }
            try await #require(client.link?.connection?.core.channel).close().get()
            try await write(3 * round - 1)
            try await eventually("message \(3 * round - 1)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round - 1
            }
            await client.lifecycleChanged(.stopping)
            try await write(3 * round)
            await client.lifecycleChanged(.foreground)
            try await eventually("message \(3 * round)", deadline: .seconds(30)) {
                await received.texts.count == 3 * round
            }
        }
        #expect(await received.texts == (1...300).map(String.init))
        try await fixture.withJetStream { jetStream in
            try await eventually("no consumer but the reader's") {
                try await jetStream.streamInfo("test_stream").state.consumers == 1
            }
        }
        await client.close()
    }
}
