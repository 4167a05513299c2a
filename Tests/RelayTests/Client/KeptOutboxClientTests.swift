import Dispatch
import GRDB
import NIOConcurrencyHelpers
import Platform
import TestSupport
import Testing

@testable import NATS
@testable import Relay

/// A network in memory, and a local store in a file. Time stands still unless a test moves it, so that nothing is
/// written but what a client writes at once.
private struct KeptOutbox {
    let network: MemoryNetwork
    let folder: TemporaryDirectory

    init() throws {
        network = try MemoryNetwork()
        folder = try TemporaryDirectory("outbox")
    }

    var path: String { folder.path("alice.sqlite") }

    func configuration(
        reconnect: ReconnectPolicy = .rongcloud, outbox: OutboxPolicy = .parley, user: String? = MemoryNetwork.user
    ) -> RelayConfiguration {
        var configuration = network.configuration(reconnect: reconnect, outbox: outbox, user: user)
        configuration.store = .file(path)
        return configuration
    }

    /// What the file holds.
    func rows() async throws -> [KeptPublish] {
        let store = try LocalStore.open(path)
        let rows = try await store.outbox()
        try await store.close()
        return rows
    }

    /// The identifiers that the server stored, in its order.
    var storedIDs: [String] {
        network.server.messages(in: "test_stream").compactMap { $0.headers["Nats-Msg-Id"] }
    }

    /// Has a client accept messages while it has no connection, and lets go of it, without a word or closed.
    func leave(
        _ texts: [String], _ configuration: RelayConfiguration? = nil, isClosed: Bool = false
    ) async throws -> [String] {
        let client = try await network.connected(configuration ?? self.configuration())
        await client.setReachable(false)
        let ids = try await enqueue(texts, client)
        if isClosed { await client.close() }
        return ids
    }

    /// Has a client accept messages.
    func enqueue(_ texts: [String], _ client: RelayClient) async throws -> [String] {
        var ids: [String] = []
        for text in texts { ids.append(try await client.enqueue(topic: "chat.room", message: .string(text)).id) }
        return ids
    }

    /// Returns when no client uses the store any more, as after the end of its process.
    func released() async throws {
        try await eventually("the end of all runs") {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return !names.contains { $0.contains(".run-") }
        }
    }
}

/// A disk that takes its time: a store whose one writer stands until it is told to go, or for ten seconds.
private final class StoppedDisk: Sendable {
    private let stop = DispatchSemaphore(value: 0)
    private let hasStopped = Completion<Bool>()
    private let standing = NIOLockedValueBox(true)

    init(_ store: LocalStore) {
        DispatchQueue.global().async { [stop, hasStopped, standing] in
            store.database.writeWithoutTransaction { _ in
                hasStopped.fulfil(true)
                _ = stop.wait(timeout: .now() + 10)
                standing.withLockedValue { $0 = false }
            }
        }
    }

    /// Returns when it stands.
    func stands() async { _ = await hasStopped.value() }
    var isStopped: Bool { standing.withLockedValue(\.self) }
    func go() { stop.signal() }
}

@Suite("Client: an outbox that outlives it, over a network in memory", .realProcesses)
struct KeptOutboxClientTests {
    @Test(
        "B30 B32 lines that wait outlive the client, killed or closed, and leave at the next start once each and in order",
        arguments: [true, false])
    func comesBack(isClosed: Bool) async throws {
        let kept = try KeptOutbox()
        let configuration = kept.configuration(outbox: OutboxPolicy(discardsOnClose: false))
        let ids = try await kept.leave(["1", "2", "3", "4", "5"], configuration, isClosed: isClosed)
        try await kept.released()
        let rows = try await kept.rows()
        #expect(rows.map(\.message.id) == ids && kept.storedIDs.isEmpty)
        #expect(rows.allSatisfy { $0.state == .queued && !$0.message.mayBeStored })

        let client = kept.network.client(configuration)
        let listener = ResentListener()
        try await client.on(topic: SystemEvent.messageResend.rawValue, listener: listener)
        await client.beginConnecting()
        // What is submitted while the store is being opened goes behind what it holds.
        let new = try await client.enqueue(topic: "chat.room", message: "new")
        _ = try await new.receipt(within: .seconds(60))
        #expect(kept.network.stored() == ["1", "2", "3", "4", "5", "new"])
        #expect(kept.storedIDs == ids + [new.id])
        let resent = ids.map { ResentMessage(id: $0, topic: "chat.room", wasStored: true) }
        try await eventually("MESSAGE_RESEND") { listener.heard.first?.prefix(ids.count) == resent[...] }
        #expect(try await client.notSent().isEmpty)
        await client.close()
        #expect(try await kept.rows().isEmpty)
        #expect(kept.network.server.received.count { $0 == "h4sh.chat.room" } == 6)
    }

    @Test("B30 B32 a message that was stored, and whose end was not written, is found and not sent twice")
    func storedBefore() async throws {
        let kept = try KeptOutbox()
        func send() async throws {
            let client = try await kept.network.connected(kept.configuration())
            _ = try await client.send(topic: "chat.room", message: "once", timeout: .seconds(60))
        }
        try await send()
        try await kept.released()
        let rows = try await kept.rows()
        #expect(rows.map(\.state) == [.sending] && rows.allSatisfy(\.message.mayBeStored))

        let client = try await kept.network.connected(kept.configuration())
        #expect(client.queuedCount == 0)
        #expect(kept.network.stored() == ["once"])
        #expect(kept.network.server.received.count { $0 == "h4sh.chat.room" } == 1)
        await client.close()
        #expect(try await kept.rows().isEmpty)
    }

    @Test("B32 what is refused for its size is kept with the latest reason, and is sent where more is taken")
    func tooLong() async throws {
        let kept = try KeptOutbox()
        let text = String(repeating: "x", count: 4_097)
        var configuration = kept.configuration()
        configuration.maximumMessageBytes = 2_048
        let first = try await kept.network.connected(configuration)
        let earlier = RelayError.tooLarge(bytes: text.utf8.count, limit: 2_048)
        await #expect(throws: earlier) {
            try await first.enqueueLine(topic: "chat.room", text: text, id: "line", keepsRefused: true)
        }
        await #expect(throws: earlier) {
            try await first.enqueueLetter(to: "bob", postbox: "personal", text: text, id: "letter", keepsRefused: true)
        }
        let listed = try await first.notSent()
        #expect(listed.map(\.destination) == [.topic("chat.room"), .postbox(user: "bob", postbox: "personal")])
        #expect(listed.allSatisfy { $0.text == text && $0.reason == earlier.words && !$0.mayBeStored })
        await first.close()
        configuration.maximumMessageBytes = 4_096
        let second = try await kept.network.connected(configuration)
        let latest = RelayError.tooLarge(bytes: text.utf8.count, limit: 4_096)
        await #expect(throws: latest) { try await second.sendAgain(id: "line") }
        let again = try #require(try await second.notSent().first { $0.id == "line" })
        #expect(again.reason == latest.words && !again.mayBeStored)
        await second.close()
        let third = try await kept.network.connected(kept.configuration())
        try await third.sendAgain(id: "line")
        try await eventually("the line") { kept.storedIDs == ["line"] }
        await third.close()
        #expect(try await kept.rows().map(\.message.id) == ["letter"])
    }

    @Test("B32 while the disk takes its time, all else goes on; lines leave, and are told of, when it has them")
    func slowDisk() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        let disk = StoppedDisk(try #require(await client.openingStore().value))
        let news = Gathered(client.publishes)
        await disk.stands()
        // More than there are threads for tasks, of which a line that blocks would take one.
        let writers = (1...8).map { writer in
            Task {
                for number in 1...3 {
                    try await client.enqueue(topic: "chat.room", message: .string("\(writer)-\(number)"))
                }
            }
        }
        try await eventually("each writer's first line") { client.queuedCount == writers.count }
        #expect(disk.isStopped, "The lines left the test no thread to run on.")
        #expect(news.all.isEmpty && !kept.network.server.received.contains("h4sh.chat.room"))
        disk.go()
        for writer in writers { try await writer.value }
        try await eventually("all lines") { kept.network.stored().count == 24 }
        for writer in 1...8 {
            #expect(kept.network.stored().filter { $0.hasPrefix("\(writer)-") } == (1...3).map { "\(writer)-\($0)" })
        }
        await client.close()
        #expect(try await kept.rows().isEmpty)
    }

    @Test("B32 the chat goes on while the disk takes its time, until a quarter of the outbox is taken")
    func submittedAhead() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration(outbox: OutboxPolicy(maximumMessages: 8)))
        await client.setReachable(false)
        let disk = StoppedDisk(try #require(await client.openingStore().value))
        let news = Gathered(client.publishes)
        await disk.stands()
        @Sendable func submit(_ id: String) async throws {
            try await client.submitLine(
                topic: "chat.room", text: id, from: "alice", writtenAt: .now, id: id, mayBeStored: false)
        }
        for id in ["1", "2"] { try await submit(id) }
        #expect(disk.isStopped && client.queuedCount == 2 && news.all.isEmpty)
        let third = Task {
            try await submit("3")
            return disk.isStopped
        }
        try await eventually("the third line") { client.queuedCount == 3 }
        disk.go()
        #expect(try await !third.value)
        for id in 4...8 { try await submit("\(id)") }
        await #expect(throws: RelayError.outboxFull) { try await submit("9") }
        await client.outboxKept()
        #expect(try await kept.rows().map(\.message.id) == (1...9).map(String.init))
        #expect(try await client.notSent().map(\.id) == ["9"])
        await client.close()
    }

    @Test("B32 a line that is still on its way to the disk when the client is closed is kept, and said not to be sent")
    func closedWhileWriting() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        await client.setReachable(false)
        let disk = StoppedDisk(try #require(await client.openingStore().value))
        let news = Gathered(client.publishes)
        await disk.stands()
        let line = Task { try await client.enqueue(topic: "chat.room", message: "late").id }
        try await eventually("the line") { client.queuedCount == 1 }
        let closing = Task { await client.close() }
        try await eventually("the end of the session") { client.queuedCount == 0 }
        disk.go()
        let id = try await line.value
        await closing.value
        try await news.wait(for: "its end") { $0 == [PublishNews(id: id, state: .discarded(.closedByUser))] }
        #expect(try await kept.rows().map(\.state) == [.notSent(ConnectionReason.closedByUser.words)])
    }

    @Test("B7 B29 B32 another user's sign-in sends nothing of what waited, and leaves it as not sent")
    func otherUser() async throws {
        let kept = try KeptOutbox()
        var configuration = kept.configuration(outbox: OutboxPolicy(discardsOnClose: false))
        configuration.credentials = try UserToken.credentials()
        let client = try await kept.network.connected(configuration)
        await client.setReachable(false)
        let id = try await client.enqueue(topic: "chat.room", message: "from alice").id
        await client.disconnect()
        try await client.use(UserToken.credentials())
        #expect(client.queuedCount == 1)
        try await client.use(UserToken.credentials(for: "bob"))
        #expect(client.queuedCount == 0)
        let listed = try await client.notSent()
        #expect(listed.map(\.id) == [id] && listed.map(\.reason) == ["Another user signed in."])
        await client.close()
        #expect(kept.network.stored().isEmpty)
        #expect(try await kept.rows().map(\.message.id) == [id])
    }

    @Test("B32 a client that is to send some of what an earlier run left sends these, and leaves the others there")
    func choice() async throws {
        let kept = try KeptOutbox()
        let ids = try await kept.leave(["1", "2", "3"])
        try await kept.released()
        var configuration = kept.configuration(outbox: OutboxPolicy(discardsOnClose: false))
        configuration.keptChoice = [ids[1]]
        let client = try await kept.network.connected(configuration)
        try await eventually("the line") { client.queuedCount == 0 }
        #expect(kept.storedIDs == [ids[1]])
        await client.close()
        #expect(try await kept.rows().map(\.message.id) == [ids[0], ids[2]])
    }

    @Test("Without a store in a file, nothing of the outbox is written")
    func memory() async throws {
        let client = try await MemoryNetwork().connected()
        await client.setReachable(false)
        let id = try await client.enqueue(topic: "chat.room", message: "waits").id
        #expect(await client.openingStore().value == nil)
        await client.close()
        #expect(try await client.notSent().isEmpty)
        let missing = RelayError.notFound("The unsent message \(id)")
        await #expect(throws: missing) { try await client.sendAgain(id: id) }
        #expect(try await client.drop(ids: [id]).isEmpty)
    }

    @Test("B32 what is discarded waits for the person: it is listed, sent again or dropped")
    func notSent() async throws {
        let kept = try KeptOutbox()
        let first = try await kept.network.connected(kept.configuration())
        await first.setReachable(false)
        let ids = try await kept.enqueue(["1", "2", "3"], first)
        await first.close()

        let second = kept.network.client(kept.configuration())
        let listed = try await second.notSent()
        #expect(listed.map(\.id) == ids && listed.map(\.text) == ["1", "2", "3"])
        #expect(listed.allSatisfy { $0.reason == ConnectionReason.closedByUser.words && !$0.mayBeStored })
        #expect(listed.allSatisfy { $0.destination == .topic("chat.room") })
        // What cannot be sent goes on waiting.
        await #expect(throws: RelayError.notConnected) { try await second.sendAgain(id: ids[1]) }
        #expect(try await second.notSent() == listed)

        try await second.connect()
        #expect(kept.network.stored().isEmpty)
        try await second.sendAgain(id: ids[2])
        try await second.sendAgain(id: ids[0])
        try await eventually("both") { kept.network.stored() == ["3", "1"] }
        #expect(kept.storedIDs == [ids[2], ids[0]])
        #expect(try await second.drop(ids: [ids[1]]) == [ids[1]])
        let missing = RelayError.notFound("The unsent message \(ids[1])")
        #expect(try await second.drop(ids: [ids[1]]).isEmpty)
        await #expect(throws: missing) { try await second.sendAgain(id: ids[1]) }
        #expect(try await second.notSent().isEmpty)
        try await eventually("their ends") { second.queuedCount == 0 }
        await second.close()
        #expect(try await kept.rows().isEmpty)
    }

    @Test("B32 what RelayX's window discards is kept as not sent, with the reason")
    func relayxWindow() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration(reconnect: .relayx, outbox: .relayx))
        let outcomes = Gathered(client.publishes)
        kept.network.server.setSilent(true)
        let id = try await client.enqueue(topic: "chat.room", message: "unsent").id
        kept.network.server.refuseDials(with: .connectionLost("no server"))
        kept.network.server.disconnectAll()
        try await kept.network.letTimePass("the end of the window") { client.status.state == .disconnected }
        try await outcomes.wait(for: "the discarded line") {
            $0.contains(PublishNews(id: id, state: .discarded(.windowExpired), mayBeStored: true))
        }
        let listed = try await client.notSent()
        #expect(listed.map(\.id) == [id] && listed.map(\.reason) == [ConnectionReason.windowExpired.words])
        // It was sent once, and never answered.
        #expect(listed.allSatisfy { $0.mayBeStored })
        await client.close()
        #expect(try await kept.rows().map(\.message.id) == [id])
    }

    @Test(
        "B32 what the network refuses for good is kept as not sent, and nothing says that it may have been",
        arguments: [false, true])
    func refused(hasStream: Bool) async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        let outcomes = Gathered(client.publishes)
        kept.network.server.deleteStream("test_stream")
        // It holds other topics alone.
        if hasStream { try kept.network.server.createStream("test_stream", subjects: ["h4sh.ops.>"]) }
        let id = try await client.enqueue(topic: "chat.room", message: "for nobody").id
        try await kept.network.letAttemptsPass(on: "chat.room", "the refusal") { _ in
            outcomes.all.contains { $0.state.isFinal }
        }
        let listed = try await client.notSent()
        #expect(listed.map(\.id) == [id] && listed.allSatisfy { !$0.mayBeStored && $0.reason.contains("no stream") })
        await client.close()
        #expect(try await kept.rows().map(\.message.mayBeStored) == [false])
    }

    @Test("B32 a line that waits for its writer's name outlives the client, and is signed by the next one")
    func unsigned() async throws {
        let kept = try KeptOutbox()
        kept.network.server.refuseDials(with: .connectionLost("no server"))
        func leave() async throws -> String {
            let client = kept.network.client(kept.configuration(user: nil))
            await client.beginConnecting()
            _ = await client.openingStore().value
            return try await client.enqueueLine(topic: "chat.room", text: "hello").id
        }
        let id = try await leave()
        try await kept.released()
        let rows = try await kept.rows()
        #expect(rows.map(\.message.id) == [id] && rows.allSatisfy { $0.message.unsigned?.text == "hello" })

        kept.network.server.refuseDials(with: nil)
        let client = try await kept.network.connected(kept.configuration())
        let stored = kept.network.server.messages(in: "test_stream")
        try #require(stored.count == 1)
        let envelope = try Envelope(
            decoding: stored[0].payload, fallbackID: "", fallbackRoom: "", fallbackStart: .now)
        let words = ChatLine(envelope.message)
        #expect(envelope.id == id && words?.username == MemoryNetwork.user && words?.text == "hello")
        await client.close()
    }

    @Test("B32 what is submitted while the store is being opened is kept as soon as it is open")
    func submittedEarly() async throws {
        let kept = try KeptOutbox()
        kept.network.server.refuseDials(with: .connectionLost("no server"))
        let client = kept.network.client(kept.configuration(outbox: OutboxPolicy(discardsOnClose: false)))
        await client.beginConnecting()
        let ids = try await kept.enqueue(["1", "2"], client)
        _ = await client.openingStore().value
        try await eventually("both rows") { try await kept.rows().map(\.message.id) == ids }
        #expect(try await client.keptOutbox().map(\.text) == ["1", "2"])
        await client.close()
    }

    @Test("B32 what waits for a connection leaves when the disk has it that it may have been sent")
    func slowDiskAtOpening() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        let store = try #require(await client.openingStore().value)
        await client.setReachable(false)
        let id = try await client.enqueue(topic: "chat.room", message: "waits").id
        #expect(try await kept.rows().map(\.state) == [.queued])
        let disk = StoppedDisk(store)
        await disk.stands()
        await client.setReachable(true)
        try await eventually("the opening of the outbox") { client.publisher.isFlushAwaited }
        #expect(client.status.state == .reconnecting && !kept.network.server.received.contains("h4sh.chat.room"))
        disk.go()
        try await client.state(is: .connected)
        #expect(kept.storedIDs == [id])
        await client.close()
    }

    @Test("B32 a message that is taken back leaves nothing in the store")
    func takenBack() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        await client.setReachable(false)
        let id = try await client.enqueue(topic: "chat.room", message: "oh no").id
        #expect(try await kept.rows().map(\.message.id) == [id])
        #expect(client.cancelPublish(id: id))
        try await eventually("an empty store") { try await kept.rows().isEmpty }
        await client.close()
    }

    @Test("B30 B32 of two clients with one store each sends its own lines, once")
    func shared() async throws {
        let kept = try KeptOutbox()
        let first = try await kept.network.connected(kept.configuration())
        await first.setReachable(false)
        try await first.enqueue(topic: "chat.room", message: "first")
        let second = try await kept.network.connected(kept.configuration())
        _ = try await second.send(topic: "chat.room", message: "second", timeout: .seconds(60))
        #expect(kept.network.stored() == ["second"])
        await first.setReachable(true)
        try await first.state(is: .connected)
        #expect(kept.network.stored() == ["second", "first"])
        #expect(kept.network.server.received.count { $0 == "h4sh.chat.room" } == 2)
        await first.close()
        await second.close()
        #expect(try await kept.rows().isEmpty)
    }

    @Test("B9 without a store that opens, lines wait in memory and leave")
    func missingStore() async throws {
        let kept = try KeptOutbox()
        var configuration = kept.configuration()
        configuration.store = .file(kept.folder.path)
        let client = try await kept.network.connected(configuration)
        await client.setReachable(false)
        try await client.enqueue(topic: "chat.room", message: "waits")
        #expect(client.queuedCount == 1)
        await client.setReachable(true)
        try await eventually("the line") { kept.network.stored() == ["waits"] }
        #expect(try await client.notSent().isEmpty)
        await client.close()
    }

    @Test("While the disk is full, lines wait in memory, which is told once; they are kept when there is room again")
    func fullDisk() async throws {
        let kept = try KeptOutbox()
        let client = try await kept.network.connected(kept.configuration())
        let store = try #require(await client.openingStore().value)
        let news = Gathered(store.news)
        await client.setReachable(false)
        // SQLite itself refuses further pages, with the code of a full disk.
        try await store.database.writeWithoutTransaction { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
        let text = String(repeating: "x", count: 50_000)
        let ids = try await kept.enqueue(Array(repeating: text, count: 3), client)
        #expect(client.queuedCount == 3)
        try await news.wait(for: "the trouble") { !$0.isEmpty }
        guard case .failing(let error)? = news.all.first else {
            Issue.record("\(news.all)")
            return
        }
        #expect(error.words.contains("the disk is full"))
        #expect(try await kept.rows().isEmpty)

        try await store.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
        try await kept.network.letTimePass("the next try") { news.all.count > 1 }
        #expect(news.all.dropFirst() == [.recovered(notKept: 0)])
        #expect(try await kept.rows().map(\.message.id) == ids)
        await client.close()
    }
}
