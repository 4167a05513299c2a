import GRDB
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The messages of a burst on their way to become rows, each step within a transaction of the caller's.
///
/// Whoever reads messages, or changes what is kept of them, makes rows of all of them first. So nobody else has to know
/// of them.
struct Staging {
    private let database: Database

    init(in database: Database) { self.database = database }

    /// Whether all messages are rows.
    func isEmpty() throws -> Bool {
        try Bool.fetchOne(database.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM staged)")) ?? true
    }

    /// How many bytes the values have, of which SQLite looks at the lengths alone.
    func bytes() throws -> Int {
        let sql = "SELECT coalesce(sum(coalesce(bytes, length(messages))), 0) FROM staged"
        return try Int.fetchOne(database.cachedStatement(sql: sql)) ?? 0
    }

    /// Keeps messages as the values that they came in: in the file beside the database where there is one.
    ///
    /// - Returns: how many messages have no place in a store, and are not kept.
    func add(_ values: [EncodedMessages]) throws -> Int {
        let kept = values.filter { $0.count > 0 }
        let file = BurstFile(of: database)
        var room = file == nil ? BurstRoom() : try room()
        for values in Self.portions(kept) {
            let place = room.place(for: Self.length(values))
            if let part = try file?.write(values, at: place) {
                let sql = "INSERT INTO staged (messages, place, bytes, checksum) VALUES (x'', ?, ?, ?)"
                try database.cachedStatement(sql: sql).execute(arguments: [part.place, part.bytes, part.checksum])
            } else {
                let statement = try database.cachedStatement(sql: "INSERT INTO staged (messages) VALUES (?)")
                for value in values { try statement.execute(arguments: [Data(value.bytes.readableBytesView)]) }
            }
        }
        return values.reduce(0) { $0 + $1.refused }
    }

    /// Where in the file there is room.
    private func room() throws -> BurstRoom {
        let sql = """
            SELECT newest, (SELECT min(place) FROM staged), (SELECT max(place + bytes) FROM staged),
                (SELECT min(place) FROM staged WHERE place >= newest)
            FROM (SELECT place + bytes AS newest FROM staged WHERE place IS NOT NULL ORDER BY number DESC LIMIT 1)
            """
        guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else { return BurstRoom() }
        return BurstRoom(newestEnd: row[0], lowest: row[1], highest: row[2], above: row[3])
    }

    /// The parts of the file that count, the oldest first.
    private func fileParts() throws -> [BurstFile.Part] {
        let sql = "SELECT place, bytes, checksum FROM staged WHERE place IS NOT NULL ORDER BY number"
        return try Row.fetchAll(database.cachedStatement(sql: sql)).map {
            BurstFile.Part(place: $0[0], bytes: $0[1], checksum: $0[2])
        }
    }

    /// Values in as few portions as have at most the bytes of which rows are made at once.
    private static func portions(_ values: [EncodedMessages]) -> [[EncodedMessages]] {
        var portions: [[EncodedMessages]] = []
        var bytes = 0
        for value in values {
            bytes += value.bytes.readableBytes
            if portions.isEmpty || bytes > EncodedMessages.usualBytes {
                portions.append([])
                bytes = value.bytes.readableBytes
            }
            portions[portions.count - 1].append(value)
        }
        return portions
    }

    private static func length(_ values: [EncodedMessages]) -> Int {
        values.reduce(0) { $0 + MemoryLayout<UInt32>.size + $1.bytes.readableBytes }
    }

    /// Makes rows of the oldest values' messages: of as many as take some ten milliseconds.
    ///
    /// - Parameter limit: most rows of values.
    /// - Returns: how many there were.
    func unpack(_ limit: Int = .max) throws -> Int {
        let file = BurstFile(of: database)
        var (count, bytes) = (0, 0)
        var writing = MessageWriting(to: database)
        while count < limit, bytes < EncodedMessages.usualBytes {
            let sql = "SELECT number, messages, place, bytes, checksum FROM staged ORDER BY number LIMIT 1"
            guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else { break }
            let number: Int64 = row["number"]
            let values = Self.values(of: row, in: file)
            bytes += values?.reduce(0) { $0 + $1.readableBytes } ?? 0
            let messages = values?.map { EncodedMessages.messages(in: $0) } ?? [nil]
            for messages in messages.compactMap(\.self) { try writing.write(messages) }
            // The disk has changed what was written, or has not written it. Nobody knows any more what is whole, and the
            // network is asked again.
            if messages.contains(where: { $0 == nil }) { try StoreCoverage().turnBack(database) }
            try database.execute(sql: "DELETE FROM staged WHERE number = ?", arguments: [number])
            count += 1
        }
        return count
    }

    /// The messages that a row of `staged` names; nil where they are damaged.
    static func messages(of row: Row, in file: BurstFile?) -> [KeptMessage]? {
        guard let values = values(of: row, in: file) else { return nil }
        var all: [KeptMessage] = []
        for value in values {
            guard let messages = EncodedMessages.messages(in: value) else { return nil }
            all += messages
        }
        return all
    }

    /// The values in a row of `staged`, or in the part of the file that it names. An earlier version had no file.
    private static func values(of row: Row, in file: BurstFile?) -> [ByteBuffer]? {
        if let place = row["place"] as Int?, let bytes = row["bytes"] as Int?, let checksum = row["checksum"] as Int64?
        {
            return file?.read(BurstFile.Part(place: place, bytes: bytes, checksum: checksum))
        }
        let value: Data? = row["messages"]
        return value.map { [ByteBuffer(bytes: $0)] }
    }

    /// Looks after what an earlier run of the program left, before anybody counts on it: without power the file may have lost
    /// what the database tells of. What it lost is given up at once, and where nothing is left the file is emptied.
    func begin() throws {
        let file = BurstFile(of: database)
        if try fileParts().contains(where: { file?.read($0) == nil }) { try unpackAll() } else { try emptyFile() }
    }

    /// Gives back what the file beside the database has, where all messages are rows. To be done in a transaction of its own:
    /// only rows that are committed take the place of what the file has.
    func emptyFile() throws { if try isEmpty() { BurstFile(of: database)?.empty() } }

    /// Makes rows of all.
    func unpackAll() throws { while try unpack() > 0 {} }
}
