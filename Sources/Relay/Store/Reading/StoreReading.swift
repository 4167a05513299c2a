import GRDB
import Platform

/// Reads messages of topics, within the caller's transaction.
struct StoreReading {
    let database: Database
    /// The streams by their numbers; each incarnation of the network's stream has one.
    private let streams: [Int64: StreamIdentity]

    init(_ database: Database) throws {
        self.database = database
        var streams: [Int64: StreamIdentity] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT name, incarnation, number FROM streams") {
            streams[try row[at: 2]] = try Self.identity(row)
        }
        self.streams = streams
    }

    /// The numbers of streams with messages that another one lost.
    var lostStreams: Set<Int64> {
        Set(streams.lazy.filter { $0.value.name.hasSuffix(StoreSchema.lostMark) }.map(\.key))
    }

    // MARK: Rows

    /// The topics that match any of some patterns; nil for all. Indices do not support wildcards: names are few
    /// compared with messages, and each matching one is queried by its number.
    func topics(of patterns: [TopicPattern]) throws -> [Int64]? {
        if patterns.isEmpty || patterns.contains(where: { $0.text == ">" }) { return nil }
        var numbers: Set<Int64> = []
        for pattern in patterns {
            let sql = "SELECT number FROM topics WHERE " + (pattern.isWildcard ? "matches(?, name)" : "name = ?")
            numbers.formUnion(try Int64.fetchAll(database, sql: sql, arguments: [pattern.text]))
        }
        let all = try Int64.fetchSet(database, sql: "SELECT number FROM topics")
        return numbers.isEmpty || numbers != all ? numbers.sorted() : nil
    }

    /// The row of a place; nil if its stream is unknown here, or the sequence exceeds a store's limit.
    func row(of place: KeptPlace) -> Int64? {
        guard let stream = streams.first(where: { $0.value == place.stream })?.key else { return nil }
        return RowNumber.row(stream: stream, sequence: place.sequence)
    }

    /// The rows of each stream stored between two moments, in order.
    func rows(from start: Timestamp?, through end: Timestamp?) throws -> [ClosedRange<Int64>] {
        try streams.keys.sorted().compactMap { RowNumber.rows(ofStream: $0) }
            .map { try part(of: $0, from: start, through: end) }.filter { !$0.isEmpty }.map { ClosedRange($0) }
    }

    /// The part of a stream's rows stored between two moments, both included. A server stores in the order of its
    /// clock, so that a binary search finds each end: some forty lookups, a millisecond among a million messages.
    func part(of rows: ClosedRange<Int64>, from start: Timestamp?, through end: Timestamp?) throws -> Range<Int64> {
        let first = try start.map { try firstRow(notBefore: $0, in: rows) } ?? rows.lowerBound
        guard let end, end.milliseconds < .max else { return first..<rows.upperBound + 1 }
        return first..<max(first, try firstRow(notBefore: Timestamp(milliseconds: end.milliseconds + 1), in: rows))
    }

    /// The first of some rows that was not stored before a moment; one more than the last if there is none.
    func firstRow(notBefore moment: Timestamp, in rows: ClosedRange<Int64>) throws -> Int64 {
        let statement = try database.cachedStatement(
            sql: "SELECT row, time FROM messages WHERE row BETWEEN ? AND ? ORDER BY row LIMIT 1")
        let newest = try Int64.fetchOne(
            database, sql: "SELECT max(row) FROM messages WHERE row BETWEEN ? AND ?",
            arguments: [rows.lowerBound, rows.upperBound])
        guard let newest else { return rows.lowerBound }
        var (low, high) = (rows.lowerBound, newest + 1)
        while low < high {
            let middle = low + (high - low) / 2
            guard let row = try Row.fetchOne(statement, arguments: [middle, high]) else {
                high = middle
                continue
            }
            let (found, time): (Int64, Int64) = try (row[at: 0], row[at: 1])
            guard found >= middle else { throw DatabaseError.damage("messages are out of order") }
            if found >= high || time >= moment.milliseconds { high = middle } else { low = found + 1 }
        }
        return low
    }

    // MARK: Messages

    /// The first or the last messages of a pattern within bounds, oldest first.
    ///
    /// - Parameters:
    ///   - bounds: The rows; nil for none.
    ///   - bytes: The most bytes of their payloads together; a single one may have more.
    func page(
        of pattern: TopicPattern, in bounds: ClosedRange<Int64>?, newestFirst: Bool, _ limit: Int, bytes: Int = .max
    ) throws -> KeptPage {
        guard let bounds else { return .nothing }
        let keys = try rows(of: topics(of: [pattern]), in: bounds, newestFirst: newestFirst, limit: limit + 1)
        let found = try messages(keys.prefix(limit), bytes: bytes)
        return KeptPage(messages: newestFirst ? found.reversed() : found, isComplete: found.count == keys.count)
    }

    /// The first or the last rows of some topics, or of all, within bounds, in that direction.
    ///
    /// Each topic is asked only for rows that can still be among the result, so that thousands of topics cost one
    /// lookup each.
    func rows(of topics: [Int64]?, in bounds: ClosedRange<Int64>, newestFirst: Bool, limit: Int) throws -> [Int64] {
        let order = newestFirst ? "DESC" : "ASC"
        guard let topics else {
            return try Int64.fetchAll(
                database,
                sql: "SELECT row FROM messages WHERE row BETWEEN ? AND ? ORDER BY row \(order) LIMIT ?",
                arguments: [bounds.lowerBound, bounds.upperBound, limit])
        }
        let statement = try database.cachedStatement(
            sql: """
                SELECT row FROM messages WHERE topic = ? AND row BETWEEN ? AND ?
                ORDER BY row \(order) LIMIT ?
                """)
        var found: [Int64] = []
        var (low, high) = (bounds.lowerBound, bounds.upperBound)
        for topic in topics {
            found += try Int64.fetchAll(statement, arguments: [topic, low, high, limit])
            guard topics.count > 1, found.count >= limit else { continue }
            found.sort { newestFirst ? $0 > $1 : $0 < $1 }
            found.removeLast(found.count - limit)
            guard let last = found.last else { continue }
            if newestFirst { low = last } else { high = last }
        }
        return found.sorted { newestFirst ? $0 > $1 : $0 < $1 }
    }

    /// A message; nil if there is none with this key.
    func message(_ key: Int64) throws -> KeptMessage? {
        let statement = try database.cachedStatement(
            sql: """
                SELECT topics.name, messages.time, messages.id, messages.sender, messages.payload, messages.own
                FROM messages JOIN topics ON topics.number = messages.topic WHERE messages.row = ?
                """)
        guard let stream = streams[RowNumber.stream(of: key)],
            let row = try Row.fetchOne(statement, arguments: [key])
        else { return nil }
        let payload: Data = try row[at: 4]
        return KeptMessage(
            place: KeptPlace(stream: stream, sequence: RowNumber.sequence(of: key)), topic: try row[at: 0],
            id: try row[at: 2], from: try row[at: 3], time: Timestamp(milliseconds: try row[at: 1]),
            payload: Array(payload), isOwn: try row[at: 5])
    }

    /// The rows of a part of a stream; nil if the stream is unknown here, or the part exceeds a store's limit.
    func rows(_ part: ClosedRange<UInt64>, of stream: StreamIdentity) -> ClosedRange<Int64>? {
        let last = min(part.upperBound, RowNumber.sequences - 1)
        guard part.lowerBound <= last, let low = row(of: KeptPlace(stream: stream, sequence: part.lowerBound)),
            let high = row(of: KeptPlace(stream: stream, sequence: last))
        else { return nil }
        return low...high
    }

    /// Whether there are messages, of any topic, within bounds.
    func hasRows(in bounds: ClosedRange<Int64>) throws -> Bool {
        try Bool.fetchOne(
            database.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE row BETWEEN ? AND ?)"),
            arguments: [bounds.lowerBound, bounds.upperBound]) ?? false
    }

    /// The messages of some rows, in order, up to a number of bytes, but at least one.
    func messages(_ keys: some Sequence<Int64>, bytes: Int = .max) throws -> [KeptMessage] {
        var found: [KeptMessage] = []
        var total = 0
        for key in keys {
            guard let message = try message(key) else { continue }
            total += message.payload.count
            guard found.isEmpty || total <= bytes else { break }
            found.append(message)
        }
        return found
    }
}
