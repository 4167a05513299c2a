import GRDB
import Platform

/// Brings the search's words up to date, in small steps between two batches: to split a message into words costs as
/// much as to keep it, and nobody searches what has just come.
enum SearchIndexing {
    /// So many messages at a time: some ten milliseconds.
    static let rowsAtOnce = 500

    /// Adds some messages to the words, within a transaction of the caller's.
    ///
    /// - Returns: whether there are more.
    static func step(in database: Database) throws -> Bool {
        let next = try Row.fetchOne(
            database, sql: "SELECT number, first, last FROM unsearched ORDER BY number LIMIT 1")
        guard let next else { return false }
        let (number, first, last): (Int64, Int64, Int64) = try (next[at: 0], next[at: 1], next[at: 2])
        let messages = try missing(from: first, through: last, newestFirst: false, limit: rowsAtOnce, in: database)
        try add(messages, to: database)
        let end = messages.last?.row
        if let end, end < first { throw DatabaseError.damage("messages are out of order") }
        if let end, messages.count == rowsAtOnce, end < last {
            try database.execute(
                sql: "UPDATE unsearched SET first = ? WHERE number = ?", arguments: [end + 1, number])
        } else {
            try database.execute(sql: "DELETE FROM unsearched WHERE number = ?", arguments: [number])
        }
        // The same part would come again for ever.
        if database.changesCount == 0 { throw DatabaseError.damage("a part without words stays") }
        return try !isComplete(in: database)
    }

    /// Whether the words have all messages.
    static func isComplete(in database: Database) throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT NOT EXISTS (SELECT 1 FROM unsearched)") ?? true
    }

    /// A message as the words have it.
    struct Entry: Sendable {
        var row: Int64
        var topic: Int64
        var text: String
        var sender: String
    }

    /// Messages of a part of the store that the words lack.
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
            // What cannot be read has no words.
            let text = MessageContent(envelope: payload)?.text ?? ""
            entries.append(Entry(row: try row[at: 0], topic: try row[at: 1], text: text, sender: try row[at: 2]))
        }
        return entries
    }

    /// Writes entries into the words of a database.
    static func add(_ entries: [Entry], to database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "INSERT INTO words (rowid, text, sender, topic) VALUES (?, ?, ?, ?)")
        for entry in entries {
            let text = SearchText.split(entry.text)
            let sender = SearchText.split(entry.sender)
            try statement.execute(
                arguments: [entry.row, text, sender, SearchQuery.token(ofTopic: entry.topic)])
        }
    }
}

/// Words in memory, to be asked as those of the store are.
struct TemporaryWords {
    private let memory: DatabaseQueue

    init() throws {
        memory = try DatabaseQueue()
        try memory.write { try $0.execute(sql: StoreSchema.words) }
    }

    /// Adds messages that are not there yet.
    ///
    /// - Returns: which of them are meant, the newest first.
    func rows(of entries: [SearchIndexing.Entry], matching expression: String) throws -> [Int64] {
        // SQLite begins a new part of its index with each message that comes before the last one: ten times the time.
        let entries = entries.sorted { $0.row < $1.row }
        guard let low = entries.first?.row, let high = entries.last?.row else { return [] }
        try memory.write { try SearchIndexing.add(entries, to: $0) }
        return try rows(matching: expression, in: low...high)
    }

    /// Which messages are meant, the newest first.
    func rows(matching expression: String, in range: ClosedRange<Int64> = RowNumber.all) throws -> [Int64] {
        try memory.read { database in
            try Int64.fetchAll(
                database,
                sql: "SELECT rowid FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC",
                arguments: [expression, range.lowerBound, range.upperBound])
        }
    }
}
