import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Messages of many megabytes", .realProcesses)
struct LargeMessageTests {
    /// A server that takes messages of 16 MiB, and its stream.
    private static func start(_ binary: NATSServerBinary) async throws -> (NATSServerProcess, JetStream) {
        let server = try await NATSServerProcess.start(
            binary, configuration: "max_payload: 16777216\nwrite_deadline: \"120s\"\n")
        let jetStream = JetStream(try await server.connect(), timeout: .seconds(120))
        try await jetStream.createStream(StreamConfiguration(name: "S", subjects: ["s.>"], storage: .memory))
        return (server, jetStream)
    }

    /// Stores messages of these sizes, each under a subject of its own.
    private static func store(_ sizes: [Int], _ jetStream: JetStream) async throws {
        for (index, size) in sizes.enumerated() {
            let payload = ByteBuffer(repeating: UInt8(truncatingIfNeeded: index), count: size)
            _ = try await jetStream.publish(payload, to: "s.\(index)")
        }
    }

    /// Whether these are the stream's messages, whole, in order, each once.
    private static func check(_ messages: [StoredMessage], _ sizes: [Int], _ way: Comment) {
        #expect(messages.map(\.sequence) == Array(1...UInt64(sizes.count)), way)
        #expect(messages.map(\.payload.readableBytes) == sizes, way)
        let isWhole = messages.enumerated().allSatisfy { index, message in
            let byte = UInt8(truncatingIfNeeded: index)
            return message.payload.readableBytesView.first ?? byte == byte
                && message.payload.readableBytesView.last ?? byte == byte
        }
        #expect(isWhole, way)
    }

    private static let large = Array(repeating: 8 << 20, count: 6)
    private static let mixed = [
        1, 8 << 20, 10, 10, 0, 9 << 20 + 7, 100, 5 << 20, 3 << 20, 3 << 20, 1 << 20, 1, 4 << 20, 100,
    ]

    @Test("come in order, each once, by every way of reading", arguments: NATSServerProcess.binaries, [large, mixed])
    func everyWay(binary: NATSServerBinary, sizes: [Int]) async throws {
        let (server, jetStream) = try await Self.start(binary)
        try await Self.store(sizes, jetStream)

        var iterator = try jetStream.orderedMessages(in: "S").makeAsyncIterator()
        var ordered: [StoredMessage] = []
        while ordered.count < sizes.count, let message = try await iterator.next() { ordered.append(message) }
        Self.check(ordered, sizes, "ordered messages")
        let dropped = iterator.consumer?.pulls.buffer.dropped
        #expect(dropped == 0)
        ordered = []

        let page = try await jetStream.page(of: "S", from: .all, limit: 100)
        Self.check(page.messages, sizes, "a page")
        #expect(page.pending == 0)

        for expires in [Duration.zero, .seconds(120)] {
            let name = expires == .zero ? "hasty" : "patient"
            try await jetStream.createConsumer(ConsumerConfiguration(name: name, isDurable: true), in: "S")
            let consumer = try PullConsumer(name, in: "S", jetStream)
            Self.check(try await consumer.fetch(sizes.count, expires: expires), sizes, "a fetch")
            #expect(try await consumer.fetch(100).isEmpty)
        }

        await jetStream.connection.close()
        server.close()
    }

    @Test("divide pages by their bytes, and each page has one of them at least", arguments: NATSServerProcess.binaries)
    func pages(binary: NATSServerBinary) async throws {
        let (server, jetStream) = try await Self.start(binary)
        try await Self.store(Self.mixed, jetStream)
        for bytes in [20 << 20, 8 << 20, 1] {
            var found: [StoredMessage] = []
            while found.count < Self.mixed.count {
                let start = (found.last?.sequence ?? 0) + 1
                let page = try await jetStream.page(of: "S", from: .sequence(start), limit: 100, bytes: bytes)
                try #require(!page.messages.isEmpty)
                let sum = page.messages.reduce(0) { $0 + $1.size }
                #expect(sum <= bytes || page.messages.count == 1, "\(bytes)")
                found += page.messages
                #expect(page.pending == UInt64(Self.mixed.count - found.count))
                // Whatever would have fitted is there.
                if let next = Self.mixed.dropFirst(found.count).first { #expect(sum + next + 200 > bytes, "\(bytes)") }
            }
            Self.check(found, Self.mixed, "pages")
        }
        let listed = try await jetStream.heads(of: "S", from: .all, limit: 100)
        #expect(listed.pending == 0)
        #expect(listed.messages.map(\.sequence) == Array(1...UInt64(Self.mixed.count)))
        let surpluses = zip(listed.messages, Self.mixed).map { $0.sizeWithPayload - $1 }
        #expect(surpluses.allSatisfy { (0...300).contains($0) })
        try await eventually("no consumer is left") { try await jetStream.streamInfo("S").state.consumers == 0 }
        await jetStream.connection.close()
        server.close()
    }

    @Test("each subject's newest message comes, however large all of them are", arguments: NATSServerProcess.binaries)
    func lastPerSubject(binary: NATSServerBinary) async throws {
        let (server, jetStream) = try await Self.start(binary)
        let sizes = Array(repeating: 1 << 20, count: 20) + [8 << 20, 8 << 20]
        try await Self.store(sizes, jetStream)
        var iterator = try jetStream.orderedMessages(in: "S", from: .lastPerSubject).makeAsyncIterator()
        var found: [StoredMessage] = []
        while found.count < sizes.count, let message = try await iterator.next() { found.append(message) }
        Self.check(found, sizes, "the newest of each subject")
        try await Self.store([8 << 20, 1], jetStream)
        var following: [Int] = []
        while following.count < 2, let message = try await iterator.next() {
            following.append(message.payload.readableBytes)
        }
        #expect(following == [8 << 20, 1])
        await jetStream.connection.close()
        server.close()
    }
}
