import NATS
import NIOCore
import TestSupport
import Testing

@Suite("Faults of the server in memory", .realProcesses)
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

    // MARK: Connections

    @Test("Dials fail while they are to")
    func refusedDials() async throws {
        let server = MemoryServer()
        server.refuseDials(with: .connectionRefused("memory"))
        await #expect(throws: NATSError.connectionRefused("memory")) { try await server.connect() }
        server.refuseDials(with: nil)
        let connection = try await server.connect()
        #expect(server.dials == 2 && server.logins == 1 && server.connections == 1)
        await connection.close()
        try await eventually("the connection is gone") { server.connections == 0 }
    }

    @Test("Logins are refused, all of them or by what they present")
    func refusedLogins() async throws {
        let server = MemoryServer()
        server.refuseLogins(with: "Authorization Violation")
        await #expect(throws: NATSError.authorization(.violation)) { try await server.connect() }
        server.refuseLogins(with: "Authorization Violation") { $0.token == "old" }
        let old = ConnectOptions(authentication: .token("old"))
        await #expect(throws: NATSError.authorization(.violation)) { try await server.connect(Self.address, old) }
        let new = ConnectOptions(name: "n", authentication: .token("new"))
        let connection = try await server.connect(Self.address, new)
        #expect(server.logins == 3 && server.lastLogin?.token == "new" && server.lastLogin?.name == "n")
        server.refuseLogins(with: nil)
        let other = try await server.connect(Self.address, old)
        await other.close()
        await connection.close()
    }

    @Test("All connections are closed at once, and new ones can be made")
    func disconnected() async throws {
        let server = MemoryServer()
        let connections = [try await server.connect(), try await server.connect()]
        server.disconnectAll()
        for connection in connections { #expect(await connection.waitUntilClosed() == NATSError.closedByServer(nil)) }
        let connection = try await server.connect()
        try await connection.flush()
        await connection.close()
    }

    @Test("A server that is halted answers nothing, and goes on with what has come meanwhile")
    func silent() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        let connection = try await server.connect(Self.address, ConnectOptions(pingInterval: .zero))
        server.setSilent(true)
        try connection.publish(Array("1".utf8), to: "s.a")
        #expect(isTimeout(await failure { try await connection.flush(timeout: .milliseconds(100)) }))
        let hasty = ConnectOptions(connectTimeout: .milliseconds(100))
        #expect(isTimeout(await failure { _ = try await server.connect(Self.address, hasty) }))
        #expect(server.messages(in: "S").isEmpty)
        server.setSilent(false)
        try await connection.flush()
        #expect(server.messages(in: "S").map(\.text) == ["1"])
        // The time of each wait is kept, and a late answer is taken for that of its own ping.
        for _ in 1...2 {
            server.setSilent(true)
            #expect(isTimeout(await failure { try await connection.flush(timeout: .milliseconds(20)) }))
            server.setSilent(false)
            try await connection.flush()
        }
        await connection.close()
    }

    @Test("A client notices that the server is halted")
    func stale() async throws {
        let server = MemoryServer()
        let options = ConnectOptions(pingInterval: .milliseconds(50), pongTimeout: .milliseconds(500))
        let connection = try await server.connect(Self.address, options)
        server.setSilent(true)
        #expect(await connection.waitUntilClosed() == NATSError.staleConnection)
        server.setSilent(false)
        let next = try await server.connect()
        await next.close()
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

    // MARK: Answers

    @Test("An acknowledgement that is lost leaves its message stored once")
    func heldAcknowledgements() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        let connection = try await server.connect()
        let hasty = JetStream(connection, timeout: .milliseconds(100))
        server.holdAcknowledgements(true)
        let lost = await failure { _ = try await hasty.publish(ByteBuffer(string: "1"), to: "s.a", messageID: "id") }
        #expect(isTimeout(lost))
        try await eventually("it is stored") { server.messages(in: "S").map(\.text) == ["1"] }
        server.holdAcknowledgements(false)
        let again = try await JetStream(connection).publish(ByteBuffer(string: "1"), to: "s.a", messageID: "id")
        #expect(again == PublishAcknowledgement(stream: "S", sequence: 1, isDuplicate: true))
        await connection.close()
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

    @Test("Requests and publishes fail as the test asks")
    func failures() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        let connection = try await server.connect()
        let jetStream = JetStream(connection)
        let full = JetStreamFailure(code: 503, errorCode: 10_077, text: "maximum messages exceeded")
        server.fail(subjectPrefix: "s.", with: .refusal(full))
        await #expect(throws: NATSError.jetStream(full)) { try await jetStream.publish(ByteBuffer(), to: "s.a") }
        server.fail(subjectPrefix: "s.", with: .noResponders)
        await #expect(throws: NATSError.noResponders(subject: "s.a")) {
            try await jetStream.publish(ByteBuffer(), to: "s.a")
        }
        server.fail(subjectPrefix: "s.", with: nil)
        #expect(try await jetStream.publish(ByteBuffer(), to: "s.a").sequence == 1)
        let api = "$JS.API.STREAM.INFO."
        server.fail(subjectPrefix: api, with: .refusal(full))
        await #expect(throws: NATSError.jetStream(full)) { try await jetStream.streamInfo("S") }
        server.fail(subjectPrefix: api, with: .silence)
        let hasty = JetStream(connection, timeout: .milliseconds(100))
        #expect(isTimeout(await failure { _ = try await hasty.streamInfo("S") }))
        // The longest prefix that fits is the one that counts.
        server.fail(subjectPrefix: api + "S", with: .noResponders)
        await #expect(throws: NATSError.noResponders(subject: api + "S")) { try await jetStream.streamInfo("S") }
        server.fail(subjectPrefix: api + "S", with: nil)
        server.fail(subjectPrefix: api, with: nil)
        #expect(try await jetStream.streamInfo("S").state.messages == 1)
        await connection.close()
    }

    @Test("The server's own services answer, or leave a request without an answer")
    func services() async throws {
        let server = MemoryServer()
        server.service("accounts.*") { question in question.isEmpty ? nil : Array("answer to ".utf8) + question }
        let connection = try await server.connect()
        #expect(try await connection.request(ByteBuffer(string: "me"), to: "accounts.a").text == "answer to me")
        let unanswered = await failure {
            _ = try await connection.request(ByteBuffer(), to: "accounts.a", timeout: .milliseconds(100))
        }
        #expect(isTimeout(unanswered))
        server.service("accounts.*", handler: nil)
        await #expect(throws: NATSError.noResponders(subject: "accounts.a")) {
            try await connection.request(ByteBuffer(), to: "accounts.a")
        }
        #expect(server.received.filter { $0 == "accounts.a" }.count == 3)
        await connection.close()
    }

    // MARK: Streams

    @Test("Messages of others are delivered and stored")
    func others() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        try server.createStream("S", subjects: ["s.>"])
        #expect(throws: TestFailure.self) { try server.createStream("T", subjects: ["s.a"]) }
        #expect(throws: TestFailure.self) { try server.store("t", []) }
        let connection = try await server.connect()
        var all = try JetStream(connection).orderedMessages(in: "S").makeAsyncIterator()
        try await all.open()
        let plain = try connection.subscribe(to: "s.*")
        try await connection.flush()
        var messages = plain.makeAsyncIterator()
        #expect(try server.store("s.a", Array("1".utf8), headers: ["A": "1"]) == 1)
        server.publish("s.b", Array("2".utf8))
        for expected in ["1", "2"] { #expect(try await messages.next()?.text == expected) }
        let first = try #require(try await all.next())
        #expect(first.subject == "s.a" && first.sequence == 1 && first.headers["A"] == "1")
        #expect(try await all.next()?.subject == "s.b")
        let stored = server.messages(in: "S")
        #expect(stored.map(\.subject) == ["s.a", "s.b"] && stored.first?.headers == ["A": "1"])
        #expect(server.consumers(of: "S").count == 1)
        await connection.close()
    }

    @Test("A server that loses its newest messages gives their sequences out again")
    func lostMessages() async throws {
        let server = MemoryServer()
        try server.createStream("S", subjects: ["s.>"])
        let connection = try await server.connect()
        let jetStream = JetStream(connection)
        for number in 1...3 {
            _ = try await jetStream.publish(ByteBuffer(string: "\(number)"), to: "s.a", messageID: "\(number)")
        }
        server.dropNewest(2, in: "S")
        #expect(server.firstSequence(of: "S") == 1 && server.lastSequence(of: "S") == 1)
        let again = try await jetStream.publish(ByteBuffer(string: "3"), to: "s.a", messageID: "3")
        #expect(again == PublishAcknowledgement(stream: "S", sequence: 2))
        server.purge("S", before: 2)
        #expect(try await jetStream.streamInfo("S").state.firstSequence == 2)
        server.purge("S")
        #expect(server.messages(in: "S").isEmpty && server.firstSequence(of: "S") == 3)
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

    @Test("Buckets, deleted consumers and identifiers that are forgotten")
    func buckets() async throws {
        let server = MemoryServer()
        try server.createBucket("b")
        let connection = try await server.connect()
        let bucket = try KeyValueBucket("b", JetStream(connection))
        try server.store("$KV.b.key", Array("1".utf8))
        #expect(try await bucket.get("key")?.revision == 1)
        var changes = try bucket.watch().makeAsyncIterator()
        #expect(try await changes.next()?.revision == 1)
        server.deleteConsumers(of: "KV_b")
        try await bucket.put(ByteBuffer(string: "2"), for: "key")
        #expect(try await changes.next()?.revision == 2)
        try server.createStream("S", subjects: ["s.>"], duplicateWindow: .nanoseconds(1))
        let jetStream = JetStream(connection)
        for sequence in 1...2 {
            let stored = try await jetStream.publish(ByteBuffer(), to: "s.a", messageID: "id")
            #expect(stored == PublishAcknowledgement(stream: "S", sequence: UInt64(sequence)))
        }
        await connection.close()
    }
}
