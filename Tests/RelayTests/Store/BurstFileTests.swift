import GRDB
import NIOCore
import Platform
import TestSupport
import Testing

@testable import Relay

@Suite("Local store: the file of bursts")
struct BurstFileTests {
    private func size(_ fixture: StoreFixture) -> Int {
        (try? Data(contentsOf: URL(fileURLWithPath: fixture.path + BurstFile.ending)).count) ?? 0
    }

    private func lines(_ range: ClosedRange<UInt64>) -> [KeptMessage] { range.map { StoreFixture.line($0) } }

    private func part(_ place: Int, _ bytes: Int) -> BurstFile.Part {
        BurstFile.Part(place: place, bytes: bytes, checksum: 0)
    }

    // MARK: Places

    /// What the parts leave, the oldest first.
    private func room(_ parts: [BurstFile.Part]) -> BurstRoom {
        guard let newest = parts.last else { return BurstRoom() }
        return BurstRoom(
            newestEnd: newest.end, lowest: parts.map(\.place).min() ?? 0, highest: parts.map(\.end).max() ?? 0,
            above: parts.map(\.place).filter { $0 >= newest.end }.min())
    }

    private func place(for bytes: Int, among parts: [BurstFile.Part]) -> Int {
        var room = room(parts)
        let place = room.place(for: bytes)
        let after = self.room(parts + [part(place, bytes)])
        #expect(room == after, "what it takes is taken")
        return place
    }

    @Test("Parts follow each other, and begin again where the oldest are done with")
    func places() {
        let turn = BurstRoom.turningPoint
        #expect(place(for: 10, among: []) == 0)
        #expect(place(for: 10, among: [part(0, 5), part(5, 7)]) == 12)
        #expect(place(for: 10, among: [part(100, 5)]) == 105)
        #expect(place(for: 10, among: [part(10, turn)]) == 0)
        #expect(place(for: 11, among: [part(10, turn)]) == turn + 10)
        // Behind the beginning, as far as there is room before what is older.
        #expect(place(for: 10, among: [part(30, turn), part(0, 10)]) == 10)
        #expect(place(for: 21, among: [part(30, turn), part(0, 10)]) == turn + 30)
    }

    @Test("No part that counts is written over, and the file stays within bounds, whatever comes and goes")
    func random() {
        var generator = SystemRandomNumberGenerator()
        var parts: [BurstFile.Part] = []
        var (waiting, highest) = (0, 0)
        for _ in 0..<10_000 {
            // As the rules have it: beyond 64 MiB some of it is taken out first.
            while waiting > 64 << 20 || (!parts.isEmpty && Bool.random(using: &generator)) {
                waiting -= parts.removeFirst().bytes
            }
            let bytes = Int.random(in: 1...8 << 20, using: &generator)
            let place = place(for: bytes, among: parts)
            for other in parts where place < other.end && other.place < place + bytes {
                Issue.record("\(place) + \(bytes) is written over \(other)")
            }
            parts.append(part(place, bytes))
            waiting += bytes
            highest = max(highest, place + bytes)
        }
        #expect(highest <= BurstRoom.turningPoint + 128 << 20)
    }

    // MARK: Bytes

    @Test("What was written is read, and nothing else is")
    func bytes() throws {
        let folder = try TemporaryDirectory("burst")
        let file = BurstFile(path: folder.path("a-burst"))
        let values = [lines(1...3), lines(4...50)].flatMap { EncodedMessages.encoding($0) }
        let first = try #require(try file.write(values, at: 0))
        let second = try #require(try file.write(Array(values.reversed()), at: first.bytes))
        #expect(second.place == first.bytes && second.bytes == first.bytes && second.checksum != first.checksum)
        #expect(try file.read(first) == values.map(\.bytes))
        #expect(try file.read(second) == values.reversed().map(\.bytes))
        for wrong in [
            part(0, first.bytes), BurstFile.Part(place: 1, bytes: first.bytes, checksum: first.checksum),
            BurstFile.Part(place: 0, bytes: first.bytes - 1, checksum: first.checksum),
            BurstFile.Part(place: first.bytes, bytes: second.bytes + 1, checksum: second.checksum),
            BurstFile.Part(place: -1, bytes: .max, checksum: 0), BurstFile.Part(place: 0, bytes: .max, checksum: 0),
            BurstFile.Part(place: .max, bytes: 1, checksum: 0),
        ] {
            #expect(try file.read(wrong) == nil, "\(wrong)")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        file.empty()
        #expect(try file.read(first) == nil)
        #expect(try BurstFile(path: folder.path("none/at/all")).read(first) == nil)
        #expect(try BurstFile(path: folder.path("none/at/all")).write(values, at: 0) == nil)
    }

    @Test("What an earlier version wrote has the checksum that it gave it")
    func sameChecksum() {
        var checksum = BurstChecksum()
        for bytes in [Array(0..<100), [1, 2, 3]] as [[UInt8]] { bytes.withUnsafeBytes { checksum.add($0) } }
        #expect(checksum.value == 4_827_407_387_758_963_385)
    }

    @Test("Each change of a byte changes the checksum, and so does each length")
    func checksum() {
        func value(_ bytes: [UInt8]) -> Int64 {
            var checksum = BurstChecksum()
            bytes.withUnsafeBytes { checksum.add($0) }
            return checksum.value
        }
        let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var seen: Set<Int64> = [value(bytes)]
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << bit
                #expect(seen.insert(value(changed)).inserted, "bit \(bit) of byte \(place)")
            }
        }
        for length in 0..<200 {
            #expect(seen.insert(value(Array(repeating: 0, count: length))).inserted, "\(length) zeros")
        }
    }

    // MARK: In the store

    @Test("A burst takes no room once it is over")
    func room() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(lines(1...2_000))
        #expect(size(fixture) > 100_000)
        #expect(try await store.status().bytes > 100_000)
        try await eventually("the wait") { fixture.time.waits.contains(.milliseconds(250)) }
        fixture.time.advance(by: .milliseconds(250))
        try await eventually("the file is empty") { size(fixture) == 0 }
        #expect(try await store.sequences().count == 2_000)

        // What is forgotten is not left here either.
        try await store.keep(lines(3_001...5_000))
        #expect(size(fixture) > 100_000)
        #expect(try await store.forget(TopicPattern("chat.lobby")) == 4_000)
        #expect(size(fixture) == 0)
        try await store.close()
    }

    @Test("What the file lost with the power is asked for again from before it, and nobody counts on it")
    func lostPower() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        func keep(_ range: ClosedRange<UInt64>, for names: [String]) async throws {
            let last = StoreFixture.place(range.upperBound)
            let changes = names.flatMap {
                [StoreChange.received($0, StoreFixture.stream, range), .cursor($0, last)]
            }
            try await store.keep(lines(range), changes)
        }
        try await keep(1...500, for: ["chat.lobby"])
        try await keep(501...2_000, for: ["chat.lobby", "chat.>"])
        try await keep(2_001...4_000, for: ["chat.lobby"])
        #expect(try await store.cursors().count == 2)
        // The database's log came to the disk, and the first of what its rows name did not.
        let file = URL(fileURLWithPath: fixture.path + BurstFile.ending)
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<1_000, with: Data(count: 1_000))
        try bytes.write(to: file)

        let second = try fixture.open()
        #expect(try await second.cursors() == ["chat.lobby": StoreFixture.place(500)])
        #expect(try await second.spans(of: TopicPattern("chat.lobby"), in: StoreFixture.stream).all == [])
        #expect(try await second.sequences() == Array(1...500) + Array(2_001...4_000))
        try await second.keep(lines(501...2_000))
        #expect(try await second.sequences().count == 4_000)
        try await second.close()
        try await store.close()
    }

    @Test("What cannot be read at the moment is no loss")
    func unreadable() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(lines(1...1_500), [.cursor("chat.lobby", StoreFixture.place(1_500))])
        // A folder can be opened and not be read, by root too.
        let (file, aside) = (fixture.path + BurstFile.ending, fixture.folder.path("aside"))
        try FileManager.default.moveItem(atPath: file, toPath: aside)
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        let second = try fixture.open()
        #expect(try await second.cursor(of: "chat.lobby") == StoreFixture.place(1_500))
        #expect(try await second.sequences() == [], "what are rows can be read meanwhile")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: aside, toPath: file)
        #expect(try await second.sequences().count == 1_500)
        try await second.close()
        try await store.close()
    }

    @Test("Somebody who writes for long keeps nobody from opening the store behind a burst")
    func busy() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(lines(1...1_500))
        let second = try await store.database.writeWithoutTransaction { database in
            try database.beginTransaction(.immediate)
            defer { try? database.rollback() }
            return try fixture.open()
        }
        #expect(try await second.sequences().count == 1_500)
        try await second.close()
        #expect(try await store.sequences().count == 1_500)
        try await store.close()
        // Either may have made the last rows, and been closed before it gave the file back; whoever opens it does.
        let third = try fixture.open()
        try await eventually("the file is empty") { size(fixture) == 0 }
        try await third.close()
    }

    @Test("A burst is kept without the file, too")
    func noFile() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        // Where the file cannot be made the database has the messages itself.
        try FileManager.default.createDirectory(
            atPath: fixture.path + BurstFile.ending, withIntermediateDirectories: false)
        try await store.keep(lines(1...1_500))
        #expect(try await store.sequences().count == 1_500)
        // Nor does a value that says nothing keep anybody up.
        try await store.keep(lines(2_001...3_500), [.cursor("chat.lobby", StoreFixture.place(3_500))])
        try await store.database.write { try $0.execute(sql: "UPDATE staged SET messages = x'0100'") }
        #expect(try await store.sequences().count == 1_500)
        try await store.close()
    }

    @Test("A store whose file was deleted leaves the bursts of the one that has its name now alone")
    func moved() async throws {
        let fixture = try StoreFixture()
        let former = try fixture.open()
        try await former.keep(lines(1...1_500))
        for ending in ["", "-wal", "-shm", BurstFile.ending] {
            try? FileManager.default.removeItem(atPath: fixture.path + ending)
        }
        let store = try fixture.open()
        try await store.keep(lines(3_001...4_500), [.cursor("chat.lobby", StoreFixture.place(4_500))])
        #expect(size(fixture) > 100_000)
        try await former.keep(lines(5_001...6_500))
        try await former.keep(lines(1...1))
        _ = try await former.sequences()
        try await former.close()
        #expect(try await store.sequences() == Array(3_001...4_500))
        #expect(try await store.cursor(of: "chat.lobby") == StoreFixture.place(4_500))
        try await store.close()
    }

    @Test("A damaged store is put aside with its bursts, and what they have is carried over")
    func salvage() async throws {
        let fixture = try StoreFixture()
        let store = try fixture.open()
        try await store.keep(lines(1...1_500))
        #expect(size(fixture) > 100_000)
        // As after a kill, of a store of which an index is damaged.
        let copy = fixture.folder.path("copy.sqlite")
        for ending in ["", "-wal", BurstFile.ending] { try copyFile(fixture.path + ending, copy + ending) }
        try await store.close()
        let queue = try DatabaseQueue(path: copy)
        let (page, size) = try await queue.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            let sql = "SELECT rootpage FROM sqlite_master WHERE name = 'messages_of_topic'"
            return (try Int.fetchOne(database, sql: sql), try Int.fetchOne(database, sql: "PRAGMA page_size"))
        }
        try queue.close()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
        let (number, length) = (try #require(page), try #require(size))
        bytes.replaceSubrange((number - 1) * length..<number * length, with: Data(repeating: 0xFF, count: length))
        try bytes.write(to: URL(fileURLWithPath: copy))
        StoreFiles.suspect(copy)

        let (other, isRecreated) = try LocalStore.open(.file(copy))
        let rescue = try #require(other.rescue)
        #expect(isRecreated && rescue.messages == 1_500)
        #expect(FileManager.default.fileExists(atPath: rescue.path + BurstFile.ending))
        #expect(!FileManager.default.fileExists(atPath: copy + BurstFile.ending))
        #expect(try await other.sequences() == Array(1...1_500))
        try await other.close()
    }
}
