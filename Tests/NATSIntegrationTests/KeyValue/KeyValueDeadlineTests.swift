import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Deadlines of key-value buckets", .longWaits)
struct KeyValueDeadlineTests {
    /// A server that answers pings and nothing else.
    private static func silent() throws -> ScriptedPeer {
        try ScriptedPeer { link in
            guard link.logIn() else { return }
            while link.waitFor("PING\r\n") { link.send("PONG\r\n") }
        }
    }

    /// Every call, by its name.
    private static let calls: [(name: String, call: @Sendable (KeyValueBucket) async throws(NATSError) -> Void)] = [
        ("bucket", { bucket async throws(NATSError) in try await bucket.create() }),
        ("get", { bucket async throws(NATSError) in _ = try await bucket.get("a") }),
        ("put", { bucket async throws(NATSError) in try await bucket.put(ByteBuffer(), for: "a") }),
        ("create", { bucket async throws(NATSError) in try await bucket.create(ByteBuffer(), for: "a") }),
        ("update", { bucket async throws(NATSError) in try await bucket.update(ByteBuffer(), for: "a", revision: 1) }),
        ("delete", { bucket async throws(NATSError) in try await bucket.delete("a") }),
        ("purge", { bucket async throws(NATSError) in try await bucket.purge("a") }),
        ("keys", { bucket async throws(NATSError) in _ = try await bucket.keys() }),
        ("entries", { bucket async throws(NATSError) in try await bucket.forEachEntry { _ in } }),
        ("history", { bucket async throws(NATSError) in _ = try await bucket.history(of: "a") }),
        (
            "open",
            { bucket async throws(NATSError) in
                var changes = try bucket.watch().makeAsyncIterator()
                try await changes.open()
            }
        ),
        (
            "watch",
            { bucket async throws(NATSError) in
                var changes = try bucket.watch("a").makeAsyncIterator()
                _ = try await changes.next()
            }
        ),
        (
            "changes",
            { bucket async throws(NATSError) in
                var changes = try bucket.watch(onlyChanges: true).makeAsyncIterator()
                _ = try await changes.next()
            }
        ),
    ]

    @Test("no call waits for a server that never answers", arguments: calls.map(\.name))
    func unanswered(name: String) async throws {
        let call = try #require(Self.calls.first { $0.name == name }?.call)
        let peer = try Self.silent()
        let connection = try await peer.connect()
        let bucket = try KeyValueBucket("B", JetStream(connection, timeout: .milliseconds(100)))
        #expect(await failure { () async throws(NATSError) in try await call(bucket) }.isTimeout)
        #expect(connection.isOpen)
        connection.closeNow()
    }

    @Test(
        "a server that makes a consumer and then brings no more is not waited for, and what came before was told of",
        arguments: [true, false])
    func nothingBrought(bringsFirst: Bool) async throws {
        let made = NIOLockedValueBox(0)
        let peer = try ScriptedPeer { link in
            guard link.logIn() else { return }
            while link.waitFor("$JS.API.CONSUMER.CREATE.") {
                guard link.waitFor("\r\n") else { return }
                made.withLockedValue { $0 += 1 }
                // The reply's subject is the third word of the last line that makes a consumer.
                guard
                    let line = link.received.split(separator: "\r\n").last(where: {
                        $0.hasPrefix("PUB $JS.API.CONSUMER.CREATE.")
                    }), let reply = line.split(separator: " ").dropFirst(2).first
                else { return }
                let answer = "{\"stream_name\":\"KV_B\",\"name\":\"c\",\"num_pending\":2}"
                link.send("MSG \(reply) 1 \(answer.utf8.count)\r\n\(answer)\r\n")
                guard link.waitFor("$JS.API.CONSUMER.MSG.NEXT."), bringsFirst else { continue }
                link.waitFor("\r\n")
                link.send("MSG $KV.B.a 3 $JS.ACK.KV_B.c.1.1.1.1700000000000000000.1 1\r\nx\r\n")
            }
        }
        // The peer answers no ping, however late the bucket's patience ends.
        let connection = try await peer.connect(ConnectOptions(pingInterval: .zero, pongTimeout: .seconds(120)))
        // Long enough for the peer's answer, which comes from a thread of its own.
        let bucket = try KeyValueBucket("B", JetStream(connection, timeout: .seconds(10)))
        let told = NIOLockedValueBox<[String]>([])
        let failure = await failure { () async throws(NATSError) in
            try await bucket.forEachEntry { entry in told.withLockedValue { $0.append(entry.key) } }
        }
        #expect(failure.isTimeout)
        #expect(told.withLockedValue(\.self) == (bringsFirst ? ["a"] : []))
        try await eventually("one consumer") { made.withLockedValue(\.self) == 1 }
        connection.closeNow()
    }

    @Test("a change takes as long as it takes, however short a call may be")
    func lateChange() async throws {
        let server = MemoryServer()
        try server.createBucket("B")
        let connection = try await server.connect(ServerAddress(host: "memory"), ConnectOptions(pingInterval: .zero))
        let patient = try KeyValueBucket("B", JetStream(connection, timeout: .seconds(120)))
        let hasty = try KeyValueBucket("B", JetStream(connection, timeout: .seconds(2)))
        try await patient.put(ByteBuffer(string: "1"), for: "a")
        var changes = try hasty.watch().makeAsyncIterator()
        #expect(try await changes.next()?.key == "a")
        server.setSilent(true)
        #expect(await failure { () async throws(NATSError) in _ = try await hasty.get("a") }.isTimeout)
        server.setSilent(false)
        try await patient.put(ByteBuffer(string: "2"), for: "b")
        #expect(try await changes.next()?.key == "b")
        await connection.close()
    }

    @Test("what is removed before its turn is not waited for", arguments: NATSServerProcess.binaries)
    func removedMeanwhile(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let connection = try await server.connect()
        // A value that never comes is waited for as long as this.
        let jetStream = JetStream(connection, timeout: .seconds(10))
        let bucket = try KeyValueBucket("B", jetStream)
        try await bucket.create(storage: .memory)
        let publisher = JetStreamPublisher(jetStream, window: 500)
        for number in 0..<10_000 {
            try await publisher.publish(ByteBuffer(string: "x"), to: "$KV.B.k\(number)") { _ in }
        }
        try await publisher.drained()
        var changes = try bucket.watch().makeAsyncIterator()
        try await changes.open()
        #expect(changes.initiallyPending == 10_000)
        // More than what the first pulls bring goes without a trace.
        for _ in 0..<10 { #expect(try await changes.next() != nil) }
        try await jetStream.purgeStream(bucket.stream)
        var seen = 10
        while case .entry = try await changes.nextStored(isolation: nil) { seen += 1 }
        #expect((10..<10_000).contains(seen))
        try await bucket.put(ByteBuffer(string: "y"), for: "new")
        #expect(try await changes.next()?.key == "new")
        await connection.close()
        server.close()
    }

    @Test("a list that is cut short is no list")
    func cutShort() async throws {
        let peer = try Self.silent()
        let connection = try await peer.connect()
        let bucket = try KeyValueBucket("B", JetStream(connection, timeout: .seconds(120)))
        let listing = Task { try await bucket.keys() }
        listing.cancel()
        await #expect(throws: NATSError.cancelled) { try await listing.value }
        connection.closeNow()
    }
}
