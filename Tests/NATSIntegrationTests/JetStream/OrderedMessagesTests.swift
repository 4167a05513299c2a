import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Ordered messages", .realProcesses, .sharedServers)
struct OrderedMessagesTests {
    /// The texts of the next `count` messages.
    private func texts(_ iterator: inout OrderedMessages.Iterator, _ count: Int) async throws -> [String] {
        var texts: [String] = []
        while texts.count < count, let message = try await iterator.next() { texts.append(message.text) }
        return texts
    }

    /// Deletes the stream's consumers from outside; the count of those that were there.
    private func deleteConsumers(_ jetStream: JetStream, _ name: String) async throws -> Int {
        struct Names: Decodable { var consumers: [String]? }
        let names: Names = try await jetStream.call("CONSUMER.NAMES.\(name)")
        for consumer in names.consumers ?? [] { try await jetStream.deleteConsumer(consumer, in: name) }
        return names.consumers?.count ?? 0
    }

    @Test("go on exactly once when their consumer is deleted from outside", arguments: NATSServerProcess.binaries)
    func deletedConsumer(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await JetStreamFixture.fill(jetStream, name, 1...2_000)
        let other = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        var iterator = try jetStream.orderedMessages(in: name).makeAsyncIterator()
        var found: [String] = []
        var deleted = 0
        // In the middle of a pull request's messages only newer servers tell at once that the consumer is gone.
        let isOld = other.connection.info.version.hasPrefix("2.9.")
        for end in isOld ? [2_000] : [10, 1_500, 2_000] {
            found += try await texts(&iterator, end - found.count)
            // There is none where the reader has not noticed the last deletion yet.
            deleted += try await deleteConsumers(other, name)
        }
        #expect(deleted >= 1)
        try await JetStreamFixture.fill(other, name, 2_001...2_010)
        found += try await texts(&iterator, 10)
        #expect(found == (1...2_010).map(String.init))
        await other.connection.close()
        await jetStream.connection.close()
    }

    @Test("a consumer that goes before the first message costs none", arguments: NATSServerProcess.binaries)
    func deletedBeforeFirst(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await JetStreamFixture.fill(jetStream, name, 1...3)
        var iterator = try jetStream.orderedMessages(in: name, from: .last).makeAsyncIterator()
        try await iterator.open()
        #expect(try await deleteConsumers(jetStream, name) == 1)
        try await JetStreamFixture.fill(jetStream, name, 4...6)
        // What the first consumer had sent before it went is in the reader's buffer.
        #expect(try await texts(&iterator, 4) == ["3", "4", "5", "6"])
        await jetStream.connection.close()
    }

    @Test(
        "end with nil when the task is cancelled or the connection closed, and throw when it is lost",
        arguments: NATSServerProcess.binaries)
    func ends(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let connection = try await server.connect()
        let jetStream = JetStream(connection, timeout: .seconds(120))
        try await jetStream.createStream(StreamConfiguration(name: "S", subjects: ["s.>"], storage: .memory))
        let messages = try jetStream.orderedMessages(in: "S")
        let reading = Task { () -> StoredMessage? in
            var iterator = messages.makeAsyncIterator()
            try await iterator.open()
            withUnsafeCurrentTask { $0?.cancel() }
            return try await iterator.next()
        }
        #expect(try await reading.value == nil)
        let closing = try await server.connect()
        var own = try JetStream(closing, timeout: .seconds(120)).orderedMessages(in: "S").makeAsyncIterator()
        try await own.open()
        await closing.close()
        #expect(try await own.next() == nil)
        var lost = messages.makeAsyncIterator()
        try await lost.open()
        try await server.kill9()
        await #expect(throws: NATSError.self) { try await lost.next() }
    }

    @Test("a stream that goes is an error soon", arguments: NATSServerProcess.binaries)
    func noStream(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        var iterator = try jetStream.orderedMessages(in: name).makeAsyncIterator()
        try await iterator.open()
        try await jetStream.deleteStream(name)
        await #expect(throws: NATSError.self) { try await iterator.next() }
        await jetStream.connection.close()
    }

    @Test("leave no consumer behind", arguments: NATSServerProcess.binaries)
    func cleanUp(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        do {
            var iterator = try jetStream.orderedMessages(in: name).makeAsyncIterator()
            try await iterator.open()
            #expect(try await jetStream.streamInfo(name).state.consumers == 1)
        }
        try await eventually("the consumer is gone") { try await jetStream.streamInfo(name).state.consumers == 0 }
        await jetStream.connection.close()
    }
}
