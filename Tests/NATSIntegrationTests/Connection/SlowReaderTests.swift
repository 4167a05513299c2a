import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Readers slower than what comes", .realProcesses, .sharedServers)
struct SlowReaderTests {
    /// Publishes numbers from another connection and returns when they have arrived.
    private func flood(_ connection: NATSConnection, _ binary: NATSServerBinary, _ subject: String, _ count: Int)
        async throws
    {
        let publisher = try await SharedServers.connect(binary)
        for index in 0..<count { try publisher.publish(Array("\(index)".utf8), to: subject) }
        try await publisher.flush()
        try await connection.flush()
        await publisher.close()
    }

    @Test("the newest are dropped, counted and reported, and the rest is whole", arguments: NATSServerProcess.binaries)
    func dropNewest(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        var events = connection.events.makeAsyncIterator()
        let subscription = try connection.subscribe(to: subject, limits: BufferLimits(messages: 10))
        let other = try connection.subscribe(to: subject)
        try await connection.flush()
        try await flood(connection, binary, subject, 100)
        #expect(subscription.dropped == 90)
        #expect(try await subscription.first(10).map(\.text) == (0..<10).map(String.init))
        #expect(try await other.first(100).count == 100 && other.dropped == 0)
        var last = 0
        while last < 90, let event = await events.next() {
            guard case .slowConsumer(subject, let dropped) = event else { continue }
            #expect(dropped > last)
            last = dropped
        }
        #expect(last == 90)
        // With room again it goes on.
        try connection.publish(Array("next".utf8), to: subject)
        #expect(try await subscription.nextText() == "next")
        await connection.close()
    }
}
