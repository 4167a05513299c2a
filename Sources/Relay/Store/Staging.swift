import GRDB
import NIOCore
import Platform

/// The messages of a burst on their way to become rows, each step within a transaction of the caller's.
///
/// Whoever reads messages, or changes what is kept of them, makes rows of all of them first. So nobody else has to know
/// of them.
struct Staging {
    private let database: Database
    private let held: HeldBurstFile?

    /// - Parameter held: the file of bursts, for a store that holds it open.
    init(in database: Database, _ held: HeldBurstFile? = nil) {
        self.database = database
        self.held = held
    }

    /// Whether all messages are rows.
    func isEmpty() throws -> Bool {
        try Bool.fetchOne(database.cachedStatement(sql: "SELECT NOT EXISTS (SELECT 1 FROM staged)")) ?? true
    }

    /// How many bytes the values have, of which SQLite looks at the lengths alone.
    func bytes() throws -> Int {
        let sql = "SELECT coalesce(sum(coalesce(bytes, length(messages))), 0) FROM staged"
        return min(max(0, try Int.fetchOne(database.cachedStatement(sql: sql)) ?? 0), 1 << 50)
    }

    /// Keeps messages as the values that they came in: in the file beside the database where there is one.
    ///
    /// - Parameter names: whose cursors are about to pass the messages.
    /// - Returns: how many messages have no place in a store, and are not kept.
    func add(_ values: [EncodedMessages], passedBy names: some Sequence<String>) throws -> Int {
        let kept = values.filter { $0.count > 0 }
        let file = held.map { BurstFile(of: database, held: $0) } ?? BurstFile(of: database)
        var room = file == nil ? BurstRoom() : try room()
        for values in Self.portions(kept) {
            let place = room.place(for: Self.length(values))
            if let part = try file?.write(values, at: place) {
                let sql = "INSERT INTO staged (messages, place, bytes, checksum) VALUES (x'', ?, ?, ?)"
                try database.cachedStatement(sql: sql).execute(arguments: [part.place, part.bytes, part.checksum])
                try noteCursors(names, for: database.lastInsertedRowID)
            } else {
                let statement = try database.cachedStatement(sql: "INSERT INTO staged (messages) VALUES (?)")
                for value in values { try statement.execute(arguments: [Data(value.bytes.readableBytesView)]) }
            }
        }
        return values.reduce(0) { $0 + $1.refused }
    }

    /// Notes where cursors are before they pass what a row names, as the file may lose that.
    private func noteCursors(_ names: some Sequence<String>, for number: Int64) throws {
        for name in names {
            let sql = """
                INSERT INTO staged_cursors (number, name, stream, incarnation, sequence)
                    SELECT ?, ?, cursors.stream, cursors.incarnation, cursors.sequence
                    FROM (SELECT 1) LEFT JOIN cursors ON cursors.name = ?
                """
            try database.cachedStatement(sql: sql).execute(arguments: [number, name, name])
        }
    }

    /// What a row names is lost: nobody knows any more what is whole, no subscription goes on behind it, and the
    /// network is asked again.
    private func giveUp(_ number: Int64) throws {
        try database.execute(sql: "DELETE FROM spans")
        let sql = "SELECT name, stream, incarnation, sequence FROM staged_cursors WHERE number = ?"
        for row in try Row.fetchAll(database, sql: sql, arguments: [number]) {
            let (name, stream, incarnation, sequence): (String, String?, Int64?, Int64?) = try (
                row[at: 0], row[at: 1], row[at: 2], row[at: 3]
            )
            if let stream, let incarnation, let sequence {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO cursors (name, stream, incarnation, sequence) VALUES (?, ?, ?, ?)",
                    arguments: [name, stream, incarnation, sequence])
            } else {
                try database.execute(sql: "DELETE FROM cursors WHERE name = ?", arguments: [name])
            }
        }
    }

    /// Where in the file there is room.
    private func room() throws -> BurstRoom {
        let sql = """
            SELECT CAST(newest AS INTEGER), (SELECT CAST(min(place) AS INTEGER) FROM staged),
                (SELECT CAST(max(place + bytes) AS INTEGER) FROM staged),
                (SELECT CAST(min(place) AS INTEGER) FROM staged WHERE place >= newest)
            FROM (SELECT place + bytes AS newest FROM staged WHERE place IS NOT NULL ORDER BY number DESC LIMIT 1)
            """
        guard let row = try Row.fetchOne(database.cachedStatement(sql: sql)) else { return BurstRoom() }
        let places: [Int?] = try (0...3).map { try row[at: $0] }
        // Whatever a damaged row says, one is added to another.
        guard places.allSatisfy({ (0...1 << 50).contains($0 ?? 0) }), let lowest = places[1], let highest = places[2]
        else {
            throw DatabaseError.damage("a burst lies beyond any file")
        }
        return BurstRoom(newestEnd: places[0], lowest: lowest, highest: highest, above: places[3])
    }

    /// The parts of the file that count, the oldest first.
    private func fileParts() throws -> [BurstFile.Part] {
        let sql = "SELECT place, bytes, checksum FROM staged WHERE place IS NOT NULL ORDER BY number"
        return try Row.fetchAll(database.cachedStatement(sql: sql)).compactMap { Self.part(of: $0) }
    }

    /// The part that a row of `staged` names; nil where it names none. What a damaged row says is in no file.
    private static func part(of row: Row) -> BurstFile.Part? {
        let (place, bytes, checksum): (DatabaseValue, DatabaseValue, DatabaseValue) = (
            row["place"] ?? .null, row["bytes"] ?? .null, row["checksum"] ?? .null
        )
        guard !place.isNull else { return nil }
        return BurstFile.Part(
            place: Int.fromDatabaseValue(place) ?? -1, bytes: Int.fromDatabaseValue(bytes) ?? -1,
            checksum: Int64.fromDatabaseValue(checksum) ?? 0)
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
        values.reduce(0) { $0 + $1.framed.readableBytes }
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
            let number: Int64 = try row.decode(forColumn: "number")
            let values = try Self.values(of: row, in: file)
            bytes += values?.reduce(0) { $0 + $1.readableBytes } ?? 0
            let messages = values?.map { EncodedMessages.messages(in: $0) } ?? [nil]
            for messages in messages.compactMap(\.self) { try writing.write(messages) }
            // The disk has changed what was written, or has not written it.
            if messages.contains(where: { $0 == nil }) { try giveUp(number) }
            for table in ["staged", "staged_cursors"] {
                let sql = "DELETE FROM \(table) WHERE number = ?"
                try database.cachedStatement(sql: sql).execute(arguments: [number])
                // It would come again for ever.
                if table == "staged", database.changesCount == 0 { throw DatabaseError.damage("a burst stays") }
            }
            count += 1
        }
        return count
    }

    /// The messages that a row of `staged` names; nil where they are damaged.
    ///
    /// - Throws: SQLite's error where the file cannot be read now.
    static func messages(of row: Row, in file: BurstFile?) throws -> [KeptMessage]? {
        guard let values = try values(of: row, in: file) else { return nil }
        var all: [KeptMessage] = []
        for value in values {
            guard let messages = EncodedMessages.messages(in: value) else { return nil }
            all += messages
        }
        return all
    }

    /// The values in a row of `staged`, or in the part of the file that it names. An earlier version had no file.
    private static func values(of row: Row, in file: BurstFile?) throws -> [ByteBuffer]? {
        if let part = part(of: row) { return try file?.read(part) }
        let value: Data? = try row.decode(forColumn: "messages")
        return value.map { [ByteBuffer(bytes: $0)] }
    }

    /// Gives up what the file has lost, before anybody counts on it: without power it may not have what the database
    /// tells of.
    func giveUpLost() throws {
        let file = BurstFile(of: database)
        if try fileParts().contains(where: { try file?.read($0) == nil }) { try unpackAll() }
    }

    /// Gives back what the file beside the database has, where all messages are rows. To be done in a transaction of
    /// its own: only rows that are committed take the place of what the file has.
    func emptyFile() throws { if try isEmpty() { BurstFile(of: database)?.empty() } }

    /// Makes rows of all.
    func unpackAll() throws { while try unpack() > 0 {} }
}
