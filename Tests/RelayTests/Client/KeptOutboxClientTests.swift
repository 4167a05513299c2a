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

    func configuration(outbox: OutboxPolicy = .parley) -> RelayConfiguration {
        var configuration = network.configuration(outbox: outbox)
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
}
