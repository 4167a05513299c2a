import NATS
import NIOCore
import TestSupport
import Testing

@Suite("What a client makes of a server's faults", .realProcesses)
struct MemoryServerFaultTests {
    private static let address = ServerAddress(host: "memory")

    private func isTimeout(_ error: (any Error)?) -> Bool {
        if case .timeout = error as? NATSError { true } else { false }
    }

    /// The error of a call that is to fail.
    private func failure(_ call: () async throws -> Void) async -> (any Error)? {
        do {
            try await call()
            return nil
        } catch {
            return error
        }
    }

    @Test("B61 Who waits for an answer hears within little more than two seconds that nothing comes, and when it does")
    func silence() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        // No ping is due by itself, and none that is asked for is given up.
        let options = ConnectOptions(pingInterval: .zero, pongTimeout: .seconds(600))
        let connection = try await server.connect(Self.address, options)
        var events = connection.events.makeAsyncIterator()
        server.setSilent(true)
        let start = ContinuousClock.now
        async let publish = JetStream(connection, timeout: .seconds(600)).publish(ByteBuffer(), to: "s.a")
        guard case .silent(let duration) = await events.next() else { throw TestFailure("the silence was not told") }
        #expect(duration >= .seconds(2) && start.duration(to: .now) >= duration)
        server.setSilent(false)
        #expect(await events.next() == NATSConnectionEvent.heardAgain)
        #expect(try await publish.sequence == 1)
        await connection.close()
    }

    @Test("B61 A server that leaves one question without an answer, and answers otherwise, is not silent")
    func slowService() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        server.holdAcknowledgements(true)
        let options = ConnectOptions(pingInterval: .zero, pongTimeout: .seconds(600))
        let connection = try await server.connect(Self.address, options)
        var events = connection.events.makeAsyncIterator()
        let hasty = JetStream(connection, timeout: .seconds(3))
        #expect(isTimeout(await failure { _ = try await hasty.publish(ByteBuffer(), to: "s.a") }))
        await connection.close()
        while let event = await events.next() {
            if case .silent = event { Issue.record("the server was called silent") }
        }
    }

    @Test("INFO, lame duck and errors reach those who are connected")
    func announcements() async throws {
        let server = MemoryServer()
        server.info.serverName = "first"
        let connection = try await server.connect()
        #expect(connection.info.serverName == "first")
        var events = connection.events.makeAsyncIterator()
        var info = server.info
        info.connectURLs = ["10.0.0.2:4222"]
        server.send(info)
        guard case .infoChanged(let changed) = await events.next() else { throw TestFailure("no INFO came") }
        #expect(changed.connectURLs == ["10.0.0.2:4222"] && changed.isLameDuck != true)
        server.sendLameDuck()
        guard case .infoChanged(let last) = await events.next() else { throw TestFailure("no INFO came") }
        #expect(last.isLameDuck == true)
        #expect(await events.next() == NATSConnectionEvent.lameDuck)
        server.sendError("Permissions Violation for Publish to \"a\"")
        #expect(await events.next() == NATSConnectionEvent.notice(.publishNotPermitted(subject: "a")))
        server.sendError("User Authentication Expired", closes: true)
        #expect(await events.next() == NATSConnectionEvent.closed(.authorization(.userExpired)))
    }

    @Test("A page whose consumer the server does not know of yet is asked for again")
    func unheardPull() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        try server.store("s.a", Array("one".utf8))
        try server.store("s.a", Array("two".utf8))
        let connection = try await server.connect()
        let pulls = "$JS.API.CONSUMER.MSG.NEXT."
        server.fail(subjectPrefix: pulls, with: .noResponders)
        async let page = JetStream(connection, timeout: .seconds(60)).page(of: "S", from: .all, limit: 10)
        try await eventually("a second pull") { server.received.count { $0.contains(pulls) } > 1 }
        server.fail(subjectPrefix: pulls, with: nil)
        #expect(try await page.messages.map(\.sequence) == [1, 2])
        // Where it stays unknown, that is said when the time is up. A busy machine may need all of it to make the
        // consumer.
        server.fail(subjectPrefix: pulls, with: .noResponders)
        var (limit, error): (Duration, (any Error)?) = (.milliseconds(100), nil)
        repeat {
            let hasty = JetStream(connection, timeout: limit)
            error = await failure { _ = try await hasty.page(of: "S", from: .all, limit: 10) }
            limit *= 2
        } while isTimeout(error) && limit < .seconds(60)
        guard case .noResponders = error as? NATSError else { throw TestFailure("\(String(describing: error))") }
        await connection.close()
    }

    @Test("A stream that is made anew is another one, and its readers learn that the old one has gone")
    func replacedStream() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        let connection = try await server.connect()
        let jetStream = JetStream(connection)
        let before = try await jetStream.streamInfo("S").created
        var reader = try jetStream.orderedMessages(in: "S").makeAsyncIterator()
        try await reader.open()
        server.deleteStream("S")
        let gone = await failure { _ = try await reader.next() }
        #expect(gone as? NATSError == NATSError.jetStream(Self.streamNotFound))
        try server.createStream("S", subjects: ["s.>"])
        #expect(try await jetStream.streamInfo("S").created > before && server.streamNames == ["S"])
        await connection.close()
    }

    @Test(
        "A reader learns that its stream ends before what it has read: made anew, or without its newest messages",
        arguments: [true, false])
    func shorterStream(isAnew: Bool) async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        for number in 1...3 { try server.store("s.a", Array("\(number)".utf8)) }
        let connection = try await server.connect()
        var reader = try JetStream(connection).orderedMessages(in: "S").makeAsyncIterator()
        for number in 1...3 { #expect(try await reader.next()?.sequence == UInt64(number)) }
        if isAnew {
            server.deleteStream("S")
            try server.createStream("S", subjects: ["s.>"])
        } else {
            server.dropNewest(2, in: "S")
            server.deleteConsumers(of: "S")
        }
        try server.store("s.a", Array("new".utf8))
        let error = await failure {
            _ = try await reader.nextBatch(
                LiveConsumer.BatchLimits(count: 1), until: .now() + .seconds(10), isolation: nil)
        }
        guard case .jetStream(let refusal) = error as? NATSError else {
            throw TestFailure("\(String(describing: error))")
        }
        #expect(refusal.code == 410 && !refusal.isRetryable)
        await connection.close()
    }

    @Test("A reader whose consumer is lost goes on where the stream ends with what it has read")
    func equalStream() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        try server.store("s.a", Array("1".utf8))
        let connection = try await server.connect()
        var reader = try JetStream(connection).orderedMessages(in: "S", filter: "s.a").makeAsyncIterator()
        #expect(try await reader.next()?.sequence == 1)
        server.deleteConsumers(of: "S")
        try server.store("s.b", [])
        let nothing = await failure {
            _ = try await reader.nextBatch(
                LiveConsumer.BatchLimits(count: 1), until: .now() + .milliseconds(500), isolation: nil)
        }
        #expect(isTimeout(nothing))
        try server.store("s.a", Array("3".utf8))
        #expect(try await reader.next()?.sequence == 3)
        await connection.close()
    }

    private static let streamNotFound = JetStreamFailure(
        code: 404, errorCode: JetStreamFailure.streamNotFound, text: "stream not found")

    @Test("A list of keys has what they have by now, though its consumer is lost midway and the bucket keeps a history")
    func interruptedList() async throws {
        let server = MemoryServer()
        try server.createBucket("b", history: 5)
        // More than one pull brings, so that the loss of the consumer is noticed.
        for number in 1...1_200 { try server.store("$KV.b.\(number)", Array("\(number)".utf8)) }
        try server.store("$KV.b.1199", [], headers: ["KV-Operation": "DEL"])
        try server.store("$KV.b.1200", Array("new".utf8))
        let connection = try await server.connect()
        let bucket = try KeyValueBucket("b", JetStream(connection))
        var found: [KeyValueEntry] = []
        try await bucket.forEachEntry { entry in
            if found.isEmpty { server.deleteConsumers(of: "KV_b") }
            found.append(entry)
        }
        #expect(found.map(\.key) == (1...1_198).map(String.init) + ["1200"])
        #expect(found.last.map { String(buffer: $0.value) } == "new")
        await connection.close()
    }
}
