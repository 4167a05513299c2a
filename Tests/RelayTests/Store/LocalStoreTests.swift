import GRDB
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Local store")
struct LocalStoreTests {
    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    /// The files that were put aside.
    private func asideNames(_ folder: TemporaryDirectory) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".damaged") }.sorted()
    }

    @Test("B9 a new store is made in folders that are the owner's alone, and opens again as it is")
    func made() throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.path + "/a/b/alice.sqlite"
        #expect(try LocalStore.open(path).opening.isRecreated)
        #expect(try mode(path) == 0o600)
        #expect(try mode(folder.url.path + "/a") == 0o700 && mode(folder.url.path + "/a/b") == 0o700)
        #expect(try LocalStore.open(path).opening.isRecreated == false)
    }

    @Test("B9 a store that is damaged again leaves what was put aside before")
    func damagedAgain() async throws {
        let fixture = try StoreFixture()
        let day = Timestamp(milliseconds: fixture.time.secondsSince1970 * 1_000).iso8601.prefix(10)
        let aside = fixture.path + ".damaged-" + String(day)
        // What SQLite takes for the log of a store counts as part of it.
        try Data("log".utf8).write(to: URL(fileURLWithPath: aside + "-2-wal"))
        let contents = (1...3).map { Data(("damage \($0) " + String(repeating: "x", count: 4_096)).utf8) }
        for content in contents {
            try content.write(to: URL(fileURLWithPath: fixture.path))
            let store = try fixture.open()
            #expect(store.opening.rescue?.entries == 0)
            try await store.close()
        }
        for (name, content) in zip(["", "-3", "-4"], contents) {
            #expect(try Data(contentsOf: URL(fileURLWithPath: aside + name)) == content)
        }
        let store = try LocalStore.open(fixture.path, clock: fixture.time)
        #expect(store.opening == .found)
        try await store.close()
    }

    @Test("B9 The file alone is the whole store once it is closed, whoever was reading")
    func closedWhileRead() async throws {
        for round in 1...3 {
            let (fixture, store) = try StoreFixture.opened()
            try await store.keep((1...20).map { StoreFixture.line($0) })
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Until it is closed.
                for _ in 1...2 {
                    group.addTask {
                        while (try? await store.reading { try Int.fetchOne($0, sql: "SELECT count(*) FROM messages") })
                            != nil
                        {}
                    }
                }
                try await store.close()
                try await group.waitForAll()
            }
            let log = try? FileManager.default.attributesOfItem(atPath: fixture.path + "-wal")[.size] as? Int
            #expect((log ?? 0) == 0, "round \(round)")
        }
    }

    @Test("B9 of many that find a store damaged, one puts it aside and all use the new one")
    func damagedForMany() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.url.path + "/alice.sqlite"
        let content = Data(String(repeating: "damage", count: 1_000).utf8)
        for _ in 1...5 {
            try content.write(to: URL(fileURLWithPath: path))
            let recreations = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let store = try LocalStore.open(path)
                        try await store.close()
                        return store.opening.isRecreated
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(recreations == 1)
            let names = try asideNames(folder)
            #expect(names.count == 1)
            #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path(names[0]))) == content)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
                try FileManager.default.removeItem(atPath: folder.url.path + "/" + name)
            }
        }
    }

    @Test("B9 a store with another version's tables is put aside, and what a person wrote is carried over")
    func otherVersion() async throws {
        let fixture = try StoreFixture()
        let old = try fixture.open()
        try await old.commit([.outbox(StoreFixture.publish("1")), .join("b"), .join("a"), .line(KeptLine("said"))])
        try await old.keep([StoreFixture.line(1)])
        try await old.close()
        let database = try DatabaseQueue(path: fixture.path)
        try await database.write { database in
            try database.execute(
                sql: "PRAGMA user_version = 99; ALTER TABLE lines ADD COLUMN colour TEXT; DROP TABLE muted")
        }
        try database.close()
        let store = try LocalStore.open(fixture.path, clock: fixture.time)
        #expect(store.opening.rescue?.entries == 4)
        #expect(try await store.outbox() == [StoreFixture.publish("1")])
        #expect(try await store.desk().joined == ["b", "a"])
        #expect(try await store.desk().lines == [KeptLine("said")])
        #expect(try await store.sequences() == [])
        #expect(try asideNames(fixture.folder).count >= 1)
        try await store.close()
        #expect(try LocalStore.open(fixture.path).opening.isRecreated == false)
    }

    @Test("B9 a store that cannot be made says where and why")
    func impossible() throws {
        let folder = try TemporaryDirectory()
        let file = folder.url.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(throws: RelayError.storage("\(file)/alice.sqlite: Not a directory")) {
            try LocalStore.open(file + "/alice.sqlite")
        }
        #expect(throws: RelayError.self) { try LocalStore.open(folder.url.path) }
    }
}
