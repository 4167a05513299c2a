import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("Large messages over a real server", .realProcesses)
struct LargeMessageTests {
    /// A server that takes messages of 16 MiB, with the fixture's streams.
    ///
    /// - Parameter patience: how long the server waits for a client that reads nothing before it cuts its connection.
    private static func start(_ binary: NATSServerBinary, patience: String = "120s") async throws -> ClientFixture {
        let server = try await NATSServerProcess.start(
            binary, configuration: "max_payload: 16777216\nwrite_deadline: \"\(patience)\"\n")
        let fixture = ClientFixture(server: server)
        try await fixture.withJetStream { jetStream in
            try await jetStream.createStream(StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"]))
            try await jetStream.createStream(
                StreamConfiguration(name: "PB_alice", subjects: ClientFixture.postboxes))
        }
        return fixture
    }

    /// Stores so many messages, each with a text of so many bytes.
    private static func store(_ count: Int, of size: Int, _ fixture: ClientFixture) async throws {
        try await fixture.withJetStream { jetStream in
            let text = String(repeating: "x", count: size)
            for number in 1...count {
                let envelope = Envelope(id: "\(number)", room: "chat.room", message: .string(text), start: .now)
                _ = try await jetStream.publish(ByteBuffer(bytes: envelope.encoded()), to: "h4sh.chat.room")
            }
        }
    }

    @Test("B48 a history of large messages comes in parts", arguments: NATSServerProcess.binaries)
    func history(_ binary: NATSServerBinary) async throws {
        let fixture = try await Self.start(binary)
        try await Self.store(12, of: 8 << 20, fixture)
        let client = try await fixture.client()
        // From the newest on.
        let newest = try await client.history(topic: "chat.room", before: nil, limit: 500)
        #expect(newest.messages.map(\.sequence) == Array(6...12))
        #expect(newest.messages.allSatisfy { $0.text.utf8.count == 8 << 20 })
        #expect(!newest.isComplete)
        let older = try await client.history(topic: "chat.room", before: 6, limit: 500)
        #expect(older.messages.map(\.sequence) == Array(1...5))
        #expect(older.isComplete)
        let last = try await client.history(topic: "chat.room", before: nil, limit: 1)
        #expect(last.messages.map(\.sequence) == [12])
        // From the oldest on.
        var found: [UInt64] = []
        var next: UInt64?
        repeat {
            let part = try await client.history(
                topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 500, after: next)
            #expect(part.messages.count <= 7)
            found += part.messages.map(\.sequence)
            next = part.next
        } while next != nil
        #expect(found == Array(1...12))
        await client.close()
    }

    @Test("B48 the newest messages are found among large and small ones", arguments: NATSServerProcess.binaries)
    func mixedHistory(_ binary: NATSServerBinary) async throws {
        let fixture = try await Self.start(binary)
        for _ in 0..<3 {
            try await Self.store(10, of: 10, fixture)
            try await Self.store(3, of: 1 << 20, fixture)
        }
        try await fixture.withJetStream { jetStream in
            // A message that claims to have no payload.
            let envelope = Envelope(
                id: "false", room: "chat.room", message: .string(String(repeating: "x", count: 3 << 20)), start: .now)
            _ = try await jetStream.publish(
                ByteBuffer(bytes: envelope.encoded()), to: "h4sh.chat.room", headers: ["Nats-Msg-Size": "0"])
            let source = ClientFixture.namespace.source(of: try TopicPattern("chat.room"), jetStream)
            for limit in [8 << 20, 4 << 20, 2 << 20, 1] {
                let found = try await source.newest(100, from: 1, through: 40, bytes: limit)
                guard let first = found.messages.first?.sequence else { throw TestFailure("no message") }
                #expect(found.messages.map(\.sequence) == Array(first...40), "\(limit)")
                let bytes = found.messages.reduce(0) { $0 + $1.payload.readableBytes }
                #expect(bytes <= limit || found.messages.count == 1, "\(limit)")
                #expect(!found.isWhole)
            }
            let part = try await source.newest(5, from: 1, through: 20)
            #expect(part.messages.map(\.sequence) == Array(16...20))
            let whole = try await source.newest(100, from: 1, through: 40)
            #expect(whole.messages.map(\.sequence) == Array(1...40) && whole.isWhole)
        }
    }

    @Test(
        "B40 a reader who stops for longer than the server waits keeps the connection, and gets every large message",
        arguments: NATSServerProcess.binaries)
    func stoppedReader(_ binary: NATSServerBinary) async throws {
        let fixture = try await Self.start(binary, patience: "5s")
        let count: UInt64 = 60
        try await Self.store(Int(count), of: 1 << 20, fixture)
        let client = try await fixture.client()
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        var iterator = try await client.messages(topic: "chat.room", from: .all).makeAsyncIterator()
        let channel = iterator.subscription.stream.channel
        try await eventually("what its reader has not taken is full") { channel.isFull }
        #expect(channel.waiting.bytes < 18 << 20)
        // Longer than the server waits for a socket that takes nothing.
        try await ContinuousClock().sleep(for: .seconds(7))
        var found: [UInt64] = []
        while let event = try await iterator.next(), event != .live {
            if case .message(let message) = event { found.append(message.sequence) }
            #expect(channel.waiting.bytes < 18 << 20)
        }
        #expect(found == Array(1...count))
        #expect(await statuses.elements.allSatisfy { $0.state == .connected && $0.recoveries == 0 })
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        #expect(!fixture.server.log.contains("Slow Consumer"), "\(fixture.server.log.suffix(2_000))")
        await client.close()
    }

    @Test(
        "A server that drops slow readers keeps one reader, and all of many get everything",
        arguments: NATSServerProcess.binaries)
    func shortQueue(_ binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, configuration: "max_pending: 1048576\n")
        let fixture = ClientFixture(server: server)
        try await fixture.withJetStream { jetStream in
            _ = try await jetStream.createStream(StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"]))
        }
        let count = 2_000
        try await Self.store(count, of: 10 << 10, fixture)
        let client = try await fixture.client()
        @Sendable func read() async throws -> [UInt64] {
            var found: [UInt64] = []
            for try await event in try await client.messages(topic: "chat.room", from: .all) {
                if case .message(let message) = event { found.append(message.sequence) }
                if found.count == count { break }
            }
            return found
        }
        let all = Array(1...UInt64(count))
        #expect(try await read() == all)
        let history = try await client.history(topic: "chat.room", before: nil, limit: count)
        #expect(history.messages.map(\.sequence) == all && !history.isOffline)
        #expect(!server.log.contains("Slow Consumer"), "\(server.log.suffix(2_000))")
        #expect(client.status.recoveries == 0, "\(server.log.suffix(2_000))")
        // Together they ask for more than the server holds, until its cuts have told them.
        try await withThrowingTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 { group.addTask { try await read() } }
            for try await found in group { #expect(found == all) }
        }
        await client.close()
    }

    @Test("B45 large letters are spread over several pages, each once", arguments: NATSServerProcess.binaries)
    func letters(_ binary: NATSServerBinary) async throws {
        let fixture = try await Self.start(binary)
        try await fixture.withJetStream { jetStream in
            for number in 1...9 {
                let postbox = number == 5 ? "work" : "personal"
                let letter = ByteBuffer(repeating: UInt8(ascii: "a") + UInt8(number), count: 8 << 20)
                _ = try await jetStream.publish(letter, to: "postbox.alice.\(postbox).bob")
            }
        }
        let client = try await fixture.client()
        for postbox in [nil, "personal"] as [String?] {
            var pages: [[String]] = []
            var token: String?
            repeat {
                let page = try await client.listMessages(limit: 100, nextToken: token, postbox: postbox)
                pages.append(page.items.map { String($0.message.prefix(1)) })
                token = page.nextToken
            } while token != nil
            let all = postbox == nil ? "bcdefghij" : "bcdeghij"
            #expect(pages.flatMap { $0 }.joined() == all)
            #expect(pages.map(\.count) == [7, all.count - 7])
        }
        await client.close()
    }
}
