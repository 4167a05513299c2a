import GRDB
import NIOConcurrencyHelpers
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Opening the local store on the way to a server", .realProcesses)
struct StoreOpeningTests {
    @Test("B9 a store that fails does not prevent a connection, and says so")
    func failing() async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory()
        var configuration = network.configuration()
        configuration.store = .file(folder.url.path)
        let client = try await network.connected(configuration)
        var openings = client.storeOpenings.makeAsyncIterator()
        let opening = try #require(await openings.next())
        let error = try #require(opening.error)
        #expect(RongCloudCode(error).rawValue == 33_002)
        #expect(error.words.contains(folder.url.path))
        await client.close()
    }

    /// What keeps an open store from being written: SQLite itself refuses, with the codes of the real thing.
    enum Trouble: String, CaseIterable, CustomTestStringConvertible {
        case full = "the disk is full; make room, and what waits is kept then"
        case readOnly = "it may not be written; allow writing to the file and its folder"

        var testDescription: String { rawValue }

        func begin(in store: LocalStore) async throws {
            try await store.database.writeWithoutTransaction { database in
                switch self {
                case .full:
                    let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                    try database.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
                case .readOnly: try database.execute(sql: "PRAGMA query_only = ON")
                }
            }
        }

        func end(in store: LocalStore) async throws {
            try await store.database.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA max_page_count = 1000000")
                try database.execute(sql: "PRAGMA query_only = OFF")
            }
        }
    }

    @Test(
        "B9 a store that takes nothing any more is told of once, the client stays connected, and what waits is kept later",
        arguments: Trouble.allCases)
    func trouble(_ trouble: Trouble) async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory()
        let path = folder.path("alice.sqlite")
        var configuration = network.configuration()
        configuration.store = .file(path)
        let client = try await network.connected(configuration)
        let store = try #require(await client.keptStore())
        let news = Gathered(try #require(await client.storeNews()))
        let received = try await client.gathered("chat.room")
        try await store.flush()

        try await trouble.begin(in: store)
        let text = String(repeating: "x", count: 4_000)
        for part in 1...3 {
            for number in 1...20 { try network.store("\(part)-\(number) \(text)") }
            try await received.wait(forText: "\(part)-20 \(text)")
            await #expect(throws: RelayError.self) { try await store.flush() }
        }
        try await news.wait(for: "the trouble") { !$0.isEmpty }
        #expect(news.all == [.failing(.storage("\(path): \(trouble.rawValue)"))])
        #expect(client.status.state == .connected)

        try await trouble.end(in: store)
        try await store.flush()
        try await news.wait(for: "the end of it") { $0.count == 2 }
        #expect(news.all.last == .recovered(notKept: 0) && client.status.state == .connected)
        #expect(try await client.keptMessages(topic: "chat.room", limit: 100).messages.count == 60)
        await client.close()
    }

    @Test("B9 the store opens strictly before the network is touched, and reports how")
    func order() async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory()
        let path = folder.url.path + "/alice.sqlite"
        try Data("not a database, whatever its name says, and longer than a header".utf8)
            .write(to: URL(fileURLWithPath: path))
        let asked = NIOLockedValueBox<[String]>([])
        var configuration = network.configuration()
        let servers = configuration.servers
        configuration.store = .file(path)
        // The servers are asked for right before the dial.
        configuration.servers = .discovered { () throws(RelayError) in
            asked.withLockedValue {
                let names = try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)
                $0.append(names?.contains { $0.contains(".damaged-") } == true ? "open" : "not")
            }
            guard case .fixed(let addresses) = servers else { return [] }
            return addresses
        }
        let client = try await network.connected(configuration)
        let answers = asked.withLockedValue(\.self)
        #expect(!answers.isEmpty && answers.allSatisfy { $0 == "open" }, "\(answers)")
        var openings = client.storeOpenings.makeAsyncIterator()
        let opening = try #require(await openings.next())
        #expect(opening.isRecreated && opening.error == nil)
        #expect(opening.rescue?.path.contains(".damaged-") == true)
        await client.close()
    }
}
