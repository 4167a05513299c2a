import GRDB
import Platform

/// Updates the search index in small steps between two batches: indexing a message costs as much as storing it, and the
/// newest messages are seldom searched for.
enum SearchIndexing {
    /// The messages of one step, which takes some ten milliseconds.
    static let rowsAtOnce = 500

    /// Indexes some messages, within the caller's transaction.
    ///
    /// - Returns: Whether there are more.
    static func step(in database: Database) throws -> Bool {
        let next = try Row.fetchOne(database, sql: "SELECT number, first, last FROM unsearched ORDER BY number LIMIT 1")
        guard let next else { return false }
        let (number, first, last): (Int64, Int64, Int64) = try (next[at: 0], next[at: 1], next[at: 2])
        let messages = try missing(from: first, through: last, newestFirst: false, limit: rowsAtOnce, in: database)
        try add(messages, to: database)
        let end = messages.last?.row
        if let end, end < first { throw DatabaseError.damage("messages are out of order") }
        if let end, messages.count == rowsAtOnce, end < last {
            try database.execute(sql: "UPDATE unsearched SET first = ? WHERE number = ?", arguments: [end + 1, number])
        } else {
            try database.execute(sql: "DELETE FROM unsearched WHERE number = ?", arguments: [number])
        }
        // The same part would be returned forever.
        if database.changesCount == 0 { throw DatabaseError.damage("a part without words stays") }
        return try !isComplete(in: database)
    }

    static func isComplete(in database: Database) throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT NOT EXISTS (SELECT 1 FROM unsearched)") ?? true
    }

    struct Entry: Sendable {
        var row: Int64
        var topic: Int64
        var text: String
        var sender: String
    }

    /// Messages of a part of the store that are not indexed.
    static func missing(
        from first: Int64, through last: Int64, newestFirst: Bool, limit: Int, in database: Database
    ) throws -> [Entry] {
        let sql = """
            SELECT row, topic, coalesce(sender, ''), payload FROM messages
            WHERE row BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM words_content WHERE words_content.id = row)
            ORDER BY row \(newestFirst ? "DESC" : "ASC") LIMIT ?
            """
        var entries: [Entry] = []
        let rows = try Row.fetchCursor(database, sql: sql, arguments: [first, last, limit])
        while let row = try rows.next() {
            let payload: Data = try row[at: 3]
            // A message that cannot be decoded has no words.
            let text = MessageContent(envelope: payload)?.text ?? ""
            entries.append(Entry(row: try row[at: 0], topic: try row[at: 1], text: text, sender: try row[at: 2]))
        }
        return entries
    }

    static func add(_ entries: [Entry], to database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT INTO words (rowid, text, sender, topic) VALUES (?, ?, ?, ?)")
        for entry in entries {
            let text = SearchText.split(entry.text)
            let sender = SearchText.split(entry.sender)
            try statement.execute(arguments: [entry.row, text, sender, SearchQuery.token(ofTopic: entry.topic)])
        }
    }
}

/// A search index in memory, queried like the store's.
struct TemporaryWords {
    private let memory: DatabaseQueue

    init() throws {
        memory = try DatabaseQueue()
        try memory.write { try $0.execute(sql: StoreSchema.words) }
    }

    /// Adds messages that are not in it yet.
    ///
    /// - Returns: The matching ones, newest first.
    func rows(of entries: [SearchIndexing.Entry], matching expression: String) throws -> [Int64] {
        // SQLite starts a new segment with each message out of order, which takes ten times as long.
        let entries = entries.sorted { $0.row < $1.row }
        guard let low = entries.first?.row, let high = entries.last?.row else { return [] }
        try memory.write { try SearchIndexing.add(entries, to: $0) }
        return try rows(matching: expression, in: low...high)
    }

    /// The matching messages, newest first.
    func rows(matching expression: String, in range: ClosedRange<Int64> = RowNumber.all) throws -> [Int64] {
        try memory.read { database in
            try Int64.fetchAll(
                database,
                sql: "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC",
                arguments: [expression, range.lowerBound, range.upperBound])
        }
    }
}
