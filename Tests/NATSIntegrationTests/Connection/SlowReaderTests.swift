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

    @Test("the oldest are dropped", arguments: NATSServerProcess.binaries)
    func dropOldest(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(
            to: subject, limits: BufferLimits(messages: 10, overflow: .dropOldest))
        try await connection.flush()
        try await flood(connection, binary, subject, 100)
        #expect(subscription.dropped == 90)
        #expect(try await subscription.first(10).map(\.text) == (90..<100).map(String.init))
        await connection.close()
    }

    @Test("bytes are limited as well as messages", arguments: NATSServerProcess.binaries)
    func byteLimit(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject, limits: BufferLimits(bytes: 5_000))
        for _ in 0..<10 { try connection.publish(ByteBuffer(repeating: 1, count: 1_000), to: subject) }
        try await connection.flush()
        #expect(subscription.dropped == 5)
        #expect(try await subscription.first(5).count == 5)
        await connection.close()
    }

    @Test("a subscription that pauses with its last message and is dropped unread holds no other one up")
    func droppedAtItsEnd() async throws {
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let subject = SharedServers.unique()
        var subscription: NATSSubscription? = try connection.subscribe(
            to: subject, limits: BufferLimits(messages: 9, overflow: .pauseReading))
        subscription?.unsubscribe(after: 10)
        for _ in 0..<10 { try connection.publish([], to: subject) }
        try await eventually("the pause") { connection.core.isReadingPaused }
        subscription = nil
        try await connection.flush(timeout: .seconds(60))
        #expect(!connection.core.isReadingPaused)
        await connection.close()
    }

    @Test("a pause loses nothing, with several paused subscriptions", arguments: NATSServerProcess.binaries)
    func pause(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(
            binary, ConnectOptions(pingInterval: .milliseconds(400), pongTimeout: .seconds(60)))
        let publisher = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let limits = BufferLimits(messages: 50, overflow: .pauseReading)
        let subscriptions = try (0..<3).map { _ in try connection.subscribe(to: subject, limits: limits) }
        try await connection.flush()
        // So little that it fits the sockets: the server cuts off a client whose socket stays full.
        let count = 1_000
        let payload = [UInt8](repeating: 0x61, count: 500)
        async let sending: Void = Self.publish(publisher, count, payload, to: subject)
        try await withThrowingTaskGroup { group in
            for subscription in subscriptions {
                group.addTask {
                    var received = 0
                    var iterator = subscription.makeAsyncIterator()
                    while received < count, let message = try await iterator.next() {
                        if message.reply != "r.\(received)" { Issue.record("\(received): \(message.reply ?? "")") }
                        received += 1
                        if received % 100 == 0 { await Task.yield() }
                    }
                    return received
                }
            }
            for try await received in group { #expect(received == count) }
        }
        try await sending
        #expect(subscriptions.allSatisfy { $0.dropped == 0 })
        try await connection.flush()
        await connection.close()
        await publisher.close()
    }

    private static func publish(
        _ connection: NATSConnection, _ count: Int, _ payload: [UInt8], to subject: String
    ) async throws {
        for index in 0..<count {
            if try !connection.publish(payload, to: subject, reply: "r.\(index)") { try await connection.drained() }
        }
        try await connection.flush(timeout: .seconds(30))
    }

    @Test("a reader that leaves lets a paused connection go on", arguments: NATSServerProcess.binaries)
    func pausedReaderLeaves(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let publisher = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let paused = try connection.subscribe(to: subject, limits: BufferLimits(messages: 1, overflow: .pauseReading))
        let other = try connection.subscribe(to: subject + ".other")
        try await connection.flush()
        for _ in 0..<100 { try publisher.publish([1], to: subject) }
        try await publisher.flush()
        try await eventually("the pause") { connection.core.isReadingPaused }
        paused.unsubscribe()
        try publisher.publish(Array("here".utf8), to: subject + ".other")
        #expect(try await other.nextText() == "here")
        await connection.close()
        await publisher.close()
    }

    @Test("a connection is not taken for dead because its own reader leaves it unread")
    func pausedLiveness() async throws {
        let peer = try ScriptedPeer { link in
            guard link.logIn() else { return }
            var isSubscribed = false
            while link.waitFor("\r\n") {
                if !isSubscribed, link.received.contains("SUB subject 2\r\n") {
                    isSubscribed = true
                    link.send(String(repeating: "MSG subject 2 1\r\nx\r\n", count: 10))
                }
                link.send("PONG\r\n")
            }
        }
        let connection = try await peer.connect(
            ConnectOptions(pingInterval: .milliseconds(200), pongTimeout: .seconds(5)))
        let subscription = try connection.subscribe(
            to: "subject", limits: BufferLimits(messages: 1, overflow: .pauseReading))
        try await eventually("the pause") { connection.core.isReadingPaused }
        // As many intervals as would end it if the unread answers were missed.
        try await ContinuousClock().sleep(for: .milliseconds(6_500))
        #expect(connection.isOpen)
        #expect(try await subscription.first(10).count == 10)
        #expect(!connection.core.isReadingPaused)
        try await connection.flush()
        await connection.close()
    }
}
