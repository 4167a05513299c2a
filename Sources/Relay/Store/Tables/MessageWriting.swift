import GRDB
import GRDBSQLite

/// Writes messages of topics, within the caller's transaction.
///
/// Many messages a second pass here, so this calls SQLite directly: through the library's rows a message takes twice as
/// long.
struct MessageWriting {
    private let database: Database
    private var streams: [StreamIdentity: Int64] = [:]
    private var topics: [String: Topic] = [:]
    /// The row numbers of new messages.
    private var written: [Int64] = []
    /// How many messages do not fit into a store.
    private var refused = 0

    private struct Topic {
        let number: Int64
        var messages = 0
        var bytes = 0
    }

    private init(to database: Database) { self.database = database }

    /// Writes messages, in parts as they arrived. Existing ones stay as they are.
    ///
    /// - Returns: How many do not fit into a store.
    static func write(_ parts: [[KeptMessage]], to database: Database) throws -> Int {
        var writing = MessageWriting(to: database)
        for messages in parts { try writing.write(messages) }
        try writing.finish()
        return writing.refused
    }

    private mutating func write(_ messages: [KeptMessage]) throws {
        // An empty payload is bound as NULL.
        let sql = """
            INSERT OR IGNORE INTO messages (row, topic, time, own, id, sender, payload)
            VALUES (?, ?, ?, ?, nullif(?, ''), nullif(?, ''), coalesce(?, x''))
            """
        let statement = try database.cachedStatement(sql: sql).sqliteStatement
        // `SQLITE_TRANSIENT`: SQLite copies what is bound.
        let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)
        defer { sqlite3_reset(statement) }
        for message in messages {
            let stream = try number(of: message.place.stream)
            guard let row = RowNumber.row(stream: stream, sequence: message.place.sequence) else {
                refused += 1
                continue
            }
            // A statement must be reset before anything can be bound to it again.
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
            sqlite3_bind_int64(statement, 1, row)
            sqlite3_bind_int64(statement, 2, try number(of: message.topic))
            sqlite3_bind_int64(statement, 3, message.time.milliseconds)
            sqlite3_bind_int64(statement, 4, message.isOwn ? 1 : 0)
            if let id = message.id { sqlite3_bind_text(statement, 5, id, Int32(clamping: id.utf8.count), copied) }
            if let from = message.from {
                sqlite3_bind_text(statement, 6, from, Int32(clamping: from.utf8.count), copied)
            }
            _ = message.payload.withUnsafeBytes {
                sqlite3_bind_blob(statement, 7, $0.baseAddress, Int32(clamping: $0.count), copied)
            }
            let code = sqlite3_step(statement)
            guard code == SQLITE_DONE else {
                throw DatabaseError(resultCode: ResultCode(rawValue: code), message: database.lastErrorMessage)
            }
            guard database.changesCount > 0 else { continue }
            topics[message.topic]?.messages += 1
            topics[message.topic]?.bytes += message.payload.count
            written.append(row)
        }
    }

    /// Updates the topics' figures, and records the messages to index.
    private func finish() throws {
        for topic in topics.values where topic.messages > 0 {
            try database.cachedStatement(
                sql: "UPDATE topics SET messages = messages + ?, bytes = bytes + ? WHERE number = ?"
            ).execute(arguments: [topic.messages, topic.bytes, topic.number])
        }
        // Indexing examines entire ranges, so rows that are far apart get ranges of their own.
        var parts: [ClosedRange<Int64>] = []
        for row in written.sorted() {
            if let last = parts.last, row - last.upperBound <= 1_000 {
                parts[parts.count - 1] = last.lowerBound...row
            } else {
                parts.append(row...row)
            }
        }
        for rows in parts {
            try database.cachedStatement(sql: "INSERT INTO unsearched (first, last) VALUES (?, ?)")
                .execute(arguments: [rows.lowerBound, rows.upperBound])
        }
    }

    // MARK: Numbers

    private mutating func number(of stream: StreamIdentity) throws -> Int64 {
        if let number = streams[stream] { return number }
        let number = try Self.number(
            database, "SELECT number FROM streams WHERE name = ? AND incarnation = ?",
            orNew: "INSERT INTO streams (name, incarnation) VALUES (?, ?)", stream.arguments)
        streams[stream] = number
        return number
    }

    /// The topic's number. It is looked up in each transaction, as another process may have deleted the topic.
    private mutating func number(of topic: String) throws -> Int64 {
        if let known = topics[topic] { return known.number }
        let number = try Self.number(
            database, "SELECT number FROM topics WHERE name = ?", orNew: "INSERT INTO topics (name) VALUES (?)",
            [topic])
        topics[topic] = Topic(number: number)
        return number
    }

    /// Looks up a row's number, or inserts the row. An `INSERT OR IGNORE` that finds the row would use up a number each
    /// time.
    private static func number(
        _ database: Database, _ query: String, orNew insertion: String, _ arguments: StatementArguments
    ) throws -> Int64 {
        let found = try Int64.fetchOne(database.cachedStatement(sql: query), arguments: arguments)
        if let found { return found }
        try database.execute(sql: insertion, arguments: arguments)
        return database.lastInsertedRowID
    }
}

extension StreamIdentity {
    var arguments: StatementArguments { [name, Int64(bitPattern: incarnation)] }
}
