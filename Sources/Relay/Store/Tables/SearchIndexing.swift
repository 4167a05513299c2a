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
        let number: Int64 = try next[at: 0]
        let first: Int64 = try next[at: 1]
        let last: Int64 = try next[at: 2]
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
        return try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM unsearched)") ?? false
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
            let number: Int64 = try row[at: 0]
            let topic: Int64 = try row[at: 1]
            let sender: String = try row[at: 2]
            let payload: Data = try row[at: 3]
            entries.append(Entry(row: number, topic: topic, text: text(of: payload), sender: sender))
        }
        return entries
    }

    /// What a payload says; nothing where it cannot be read.
    private static func text(of payload: Data) -> String {
        let none = Timestamp(milliseconds: 0)
        let envelope = try? Envelope(
            decoding: Array(payload), fallbackID: "", fallbackRoom: "", fallbackStart: none)
        return envelope.map { TopicMessage.text(of: $0.message) } ?? ""
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
