import GRDB

/// Deletes messages and letters in small steps, each within the caller's transaction, so that no one waits long for the
/// writer.
struct StoreDeletion {
    /// The rows of one step, which takes some ten milliseconds.
    static let rowsAtOnce = 500
    /// The pages of 4 KiB returned to the disk in one step.
    private static let pagesAtOnce = 500

    /// The data to delete in one step.
    struct Part {
        fileprivate(set) var messages: [Message] = []
        fileprivate(set) var letters: [Int64] = []

        var isEmpty: Bool { messages.isEmpty && letters.isEmpty }
    }

    struct Message {
        let row: Int64
        let topic: Int64
        let time: Int64
        let bytes: Int
    }

    private struct Topic {
        let number: Int64
        let name: String
        let bytes: Int
    }

    private let database: Database

    init(in database: Database) { self.database = database }

    // MARK: Selecting

    /// The next data that a policy does not keep, oldest first: data that is too old, then the excess of a topic, then
    /// the excess of the store. Empty if everything is within its limits.
    func next(_ policy: RetentionPolicy, now: Timestamp) throws -> Part {
        let topics = try topics()
        for topic in topics {
            guard let first = policy.firstKept(of: topic.name, now: now) else { continue }
            let old = try messages(of: topic.number) { $0.time < first.milliseconds }
            if !old.isEmpty { return Part(messages: old) }
        }
        if let first = policy.firstKept(now: now) {
            let letters = try Int64.fetchAll(
                database, sql: "SELECT number FROM letters WHERE time < ? LIMIT ?",
                arguments: [first.milliseconds, Self.rowsAtOnce])
            if !letters.isEmpty { return Part(letters: letters) }
        }
        for topic in topics {
            guard let bytes = policy.limit(of: topic.name).bytes else { continue }
            let part = try messages(of: topic.number, until: topic.bytes - bytes)
            if !part.isEmpty { return Part(messages: part) }
        }
        guard let bytes = policy.all.bytes else { return Part() }
        return Part(messages: try messages(of: nil, until: topics.reduce(0) { $0 + $1.bytes } - bytes))
    }

    /// Some messages of the topics that match a pattern; empty if there are none.
    func next(of pattern: TopicPattern) throws -> Part {
        for topic in try topics() where pattern.matches(topic.name) {
            let part = try messages(of: topic.number) { _ in true }
            if !part.isEmpty { return Part(messages: part) }
        }
        return Part()
    }

    private func topics() throws -> [Topic] {
        // Clamped, so that the sum cannot overflow even with damaged rows.
        let sql = "SELECT number, name, max(0, min(bytes, \(1 << 40))) FROM topics"
        return try Row.fetchAll(database, sql: sql).map { row in
            Topic(number: try row[at: 0], name: try row[at: 1], bytes: try row[at: 2])
        }
    }

    /// The first messages of a topic, or of all, that make up for excess bytes.
    private func messages(of topic: Int64?, until excess: Int) throws -> [Message] {
        var excess = excess
        guard excess > 0 else { return [] }
        return try messages(of: topic) { message in
            defer { excess -= message.bytes }
            return excess > 0
        }
    }

    /// The oldest messages of a topic, or of all, while a condition holds and within a step's limit. Messages that a
    /// stream has lost are stored after all its others, so the streams are merged by time.
    private func messages(of topic: Int64?, while isToGo: (Message) -> Bool) throws -> [Message] {
        var streams = try streams(with: topic)
        var found: [Message] = []
        while found.count < Self.rowsAtOnce,
            let oldest = streams.indices.min(by: { streams[$0].first.time < streams[$1].first.time }),
            isToGo(streams[oldest].first)
        {
            found.append(streams[oldest].first)
            if try !streams[oldest].advance() { streams.remove(at: oldest) }
        }
        return found
    }

    /// The streams that have messages of a topic, or any.
    private func streams(with topic: Int64?) throws -> [Stream] {
        let sql = """
            SELECT row, topic, time, length(payload) FROM messages
            WHERE row >= ? \(topic == nil ? "" : "AND topic = ?") ORDER BY row LIMIT \(Self.rowsAtOnce)
            """
        var streams: [Stream] = []
        var start: Int64? = Int64.min
        while let first = start {
            let bounds: StatementArguments = [first]
            let rows = try Row.fetchCursor(database, sql: sql, arguments: topic.map { bounds + [$0] } ?? bounds)
            guard let stream = try Stream(rows) else { break }
            guard stream.first.row >= first else { throw DatabaseError.damage("messages are out of order") }
            streams.append(stream)
            start = stream.end < .max ? stream.end + 1 : nil
        }
        return streams
    }

    /// The messages of one stream, in order.
    private struct Stream {
        private let rows: RowCursor
        /// The last key that the stream can have.
        let end: Int64
        private(set) var first: Message

        /// Starts at the first of some rows; nil if there is none.
        init?(_ rows: RowCursor) throws {
            guard let first = try Self.next(of: rows) else { return nil }
            (self.rows, self.first) = (rows, first)
            end = first.row | Int64(RowNumber.sequences - 1)
        }

        mutating func advance() throws -> Bool {
            guard let next = try Self.next(of: rows), next.row <= end else { return false }
            first = next
            return true
        }

        private static func next(of rows: RowCursor) throws -> Message? {
            guard let row = try rows.next() else { return nil }
            return Message(row: try row[at: 0], topic: try row[at: 1], time: try row[at: 2], bytes: try row[at: 3])
        }
    }

    // MARK: Deleting

    func delete(_ part: Part) throws {
        try LetterRows.delete(part.letters, in: database)
        let words = try database.cachedStatement(sql: "DELETE FROM words WHERE rowid = ?")
        let messages = try database.cachedStatement(sql: "DELETE FROM messages WHERE row = ?")
        for message in part.messages {
            try words.execute(arguments: [message.row])
            try messages.execute(arguments: [message.row])
            // The same message would be returned forever.
            if database.changesCount == 0 { throw DatabaseError.damage("a message stays") }
        }
        for (topic, gone) in Dictionary(grouping: part.messages, by: \.topic) {
            try database.execute(
                sql: "UPDATE topics SET messages = messages - ?, bytes = bytes - ? WHERE number = ?",
                arguments: [gone.count, gone.reduce(0) { $0 + $1.bytes }, topic])
            for (stream, gone) in Dictionary(grouping: gone, by: { RowNumber.stream(of: $0.row) }) {
                try cutSpans(topic, stream, through: gone.map { RowNumber.sequence(of: $0.row) }.max() ?? 0)
            }
        }
    }

    /// Shortens the spans that are recorded as complete, so that none covers a deleted message.
    private func cutSpans(_ topic: Int64, _ stream: Int64, through sequence: UInt64) throws {
        try database.execute(
            sql: """
                DELETE FROM spans WHERE last <= :last
                    AND (stream, incarnation) = (SELECT name, incarnation FROM streams WHERE number = :stream)
                    AND matches(name, (SELECT name FROM topics WHERE number = :topic));
                UPDATE spans SET first = :last + 1 WHERE first <= :last
                    AND (stream, incarnation) = (SELECT name, incarnation FROM streams WHERE number = :stream)
                    AND matches(name, (SELECT name FROM topics WHERE number = :topic));
                """, arguments: ["last": Int64(clamping: sequence), "stream": stream, "topic": topic])
    }

    /// Deletes the other data of names that match a pattern, and of the pattern itself, after their messages.
    func names(of pattern: TopicPattern) throws {
        try database.execute(
            sql: """
                DELETE FROM topics WHERE matches(?1, name) AND NOT EXISTS (SELECT 1 FROM messages WHERE topic = number)
                """, arguments: [pattern.text])
        for (table, column) in [
            ("cursors", "name"), ("spans", "name"), ("gaps", "name"), ("read_marks", "name"),
            ("drafts", "conversation"),
        ] {
            try database.execute(sql: "DELETE FROM \(table) WHERE matches(?, \(column))", arguments: [pattern.text])
        }
    }

    /// Whether there is free room to return.
    func hasFree() throws -> Bool { try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0 > 0 }

    /// Returns some free room to the disk.
    ///
    /// - Returns: Whether there is more.
    func free() throws -> Bool {
        guard try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 2 else { return false }
        let before = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        guard before > 0 else { return false }
        try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
        let after = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        return after > 0 && after < before
    }
}
