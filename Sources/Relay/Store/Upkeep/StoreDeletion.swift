import GRDB

/// Deletes messages in small steps, each within a transaction of the caller's, so that nobody waits long for the
/// writer.
struct StoreDeletion {
    /// So many rows go in one step: some ten milliseconds.
    static let rowsAtOnce = 500
    /// So many pages of 4 KiB are given back to the disk in one step.
    static let pagesAtOnce = 500

    /// What is kept under names, besides messages, and where the names are.
    private static let named = [
        ("cursors", "name"), ("spans", "name"), ("gaps", "name"), ("read_marks", "name"), ("drafts", "conversation"),
    ]

    /// A topic's bytes, within bounds in which those of all topics can be added up, whatever a damaged row has.
    private static let bytes = "max(0, min(bytes, \(1 << 40)))"

    private let database: Database

    init(in database: Database) { self.database = database }

    /// What a policy asks for next; nil when nothing is to be deleted.
    func nextStep(_ policy: RetentionPolicy, now: Timestamp) throws -> RetentionPolicy.Step? {
        let letter = try Int64.fetchOne(database, sql: "SELECT min(time) FROM letters")
        return policy.nextStep(
            try topics(), oldestLetter: letter.map { Timestamp(milliseconds: $0) }, now: now)
    }

    /// Carries out as much of a step as is done at once.
    ///
    /// - Returns: false when nothing was to be deleted.
    func carryOut(_ step: RetentionPolicy.Step) throws -> Bool {
        switch step {
        case .expired(let topic, let moment):
            return try delete(rows(of: topic) { $0.time < moment.milliseconds })
        case .shrunk(let topic, var excess):
            return try delete(rows(of: topic) { Self.take($0, &excess) })
        case .allShrunk(var excess):
            return try delete(rows(of: nil) { Self.take($0, &excess) })
        case .lettersExpired(let moment):
            let numbers = try Int64.fetchAll(
                database, sql: "SELECT number FROM letters WHERE time < ? LIMIT ?",
                arguments: [moment.milliseconds, Self.rowsAtOnce])
            try LetterRows.delete(numbers, in: database)
            return !numbers.isEmpty
        }
    }

    /// Deletes some messages of the topics that match a pattern.
    ///
    /// - Returns: how many; 0 when there were none.
    func messages(of pattern: TopicPattern) throws -> Int {
        for topic in try topics() where topic.oldest != nil && pattern.matches(topic.name) {
            let rows = try rows(of: topic.number) { _ in true }
            _ = try delete(rows)
            return rows.count
        }
        return 0
    }

    /// Deletes what else is kept under the names that match a pattern, once their messages are gone.
    func names(of pattern: TopicPattern) throws {
        for topic in try topics() where topic.oldest == nil && pattern.matches(topic.name) {
            try database.execute(sql: "DELETE FROM topics WHERE number = ?", arguments: [topic.number])
        }
        for (table, column) in Self.named {
            let names = try String.fetchAll(database, sql: "SELECT DISTINCT \(column) FROM \(table)")
            // What is kept of a pattern goes with the pattern itself.
            for name in names where name == pattern.text || pattern.matches(name) {
                try database.execute(sql: "DELETE FROM \(table) WHERE \(column) = ?", arguments: [name])
            }
        }
    }

    /// Whether there is free room to give back.
    func hasFree() throws -> Bool { try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0 > 0 }

    /// Gives some free room back to the disk.
    ///
    /// - Returns: whether there is more.
    func free() throws -> Bool {
        guard try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 2 else { return false }
        let before = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        guard before > 0 else { return false }
        try database.execute(sql: "PRAGMA incremental_vacuum(\(Self.pagesAtOnce))")
        let after = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
        return after > 0 && after < before
    }

    // MARK: Rows

    private struct Found {
        let row: Int64
        let topic: Int64
        let time: Int64
        let bytes: Int
    }

    private func topics() throws -> [TopicUse] {
        let sql = """
            SELECT number, name, \(Self.bytes),
                (SELECT time FROM messages WHERE topic = topics.number ORDER BY row LIMIT 1)
            FROM topics
            """
        return try Row.fetchAll(database, sql: sql).map { row in
            let number: Int64 = try row[at: 0]
            let name: String = try row[at: 1]
            let bytes: Int = try row[at: 2]
            let oldest: Int64? = try row[at: 3]
            return TopicUse(
                number: number, name: name, bytes: bytes, oldest: oldest.map { Timestamp(milliseconds: $0) })
        }
    }

    /// The first messages of a topic, or of all, as long as they are to go and a step holds them.
    private func rows(of topic: Int64?, while isToGo: (Found) -> Bool) throws -> [Found] {
        let sql = """
            SELECT row, topic, time, length(payload) FROM messages \(topic == nil ? "" : "WHERE topic = ?")
            ORDER BY row LIMIT \(Self.rowsAtOnce)
            """
        var arguments = StatementArguments()
        if let topic { arguments = [topic] }
        let cursor = try Row.fetchCursor(database, sql: sql, arguments: arguments)
        var found: [Found] = []
        while let row = try cursor.next() {
            let number: Int64 = try row[at: 0]
            let topic: Int64 = try row[at: 1]
            let time: Int64 = try row[at: 2]
            let bytes: Int = try row[at: 3]
            let one = Found(row: number, topic: topic, time: time, bytes: bytes)
            guard isToGo(one) else { break }
            found.append(one)
        }
        return found
    }

    /// Whether a message is among those that make up for an excess.
    private static func take(_ found: Found, _ excess: inout Int) -> Bool {
        guard excess > 0 else { return false }
        excess -= found.bytes
        return true
    }

    /// Deletes messages, and says whether there were any.
    private func delete(_ rows: [Found]) throws -> Bool {
        let words = try database.cachedStatement(sql: "DELETE FROM words WHERE rowid = ?")
        let messages = try database.cachedStatement(sql: "DELETE FROM messages WHERE row = ?")
        var gone: [Int64: (messages: Int, bytes: Int)] = [:]
        for found in rows {
            try words.execute(arguments: [found.row])
            try messages.execute(arguments: [found.row])
            // The same message would come again for ever.
            if database.changesCount == 0 { throw DatabaseError.damage("a message stays") }
            let before = gone[found.topic] ?? (messages: 0, bytes: 0)
            gone[found.topic] = (messages: before.messages + 1, bytes: before.bytes + found.bytes)
        }
        for (topic, figures) in gone {
            try database.execute(
                sql: "UPDATE topics SET messages = messages - ?, bytes = bytes - ? WHERE number = ?",
                arguments: [figures.messages, figures.bytes, topic])
        }
        try cutSpans(rows)
        return !rows.isEmpty
    }

    /// Shortens the spans that are recorded as complete, so that none covers a deleted message.
    private func cutSpans(_ rows: [Found]) throws {
        var last: [Deleted: UInt64] = [:]
        for found in rows {
            let place = Deleted(topic: found.topic, stream: RowNumber.stream(of: found.row))
            last[place] = max(last[place] ?? 0, RowNumber.sequence(of: found.row))
        }
        guard !last.isEmpty else { return }
        let names = try String.fetchAll(database, sql: "SELECT DISTINCT name FROM spans")
        for (place, sequence) in last {
            let topic = try String.fetchOne(
                database.cachedStatement(sql: "SELECT name FROM topics WHERE number = ?"), arguments: [place.topic])
            let stream = try Row.fetchOne(
                database.cachedStatement(sql: "SELECT name, incarnation FROM streams WHERE number = ?"),
                arguments: [place.stream])
            guard let topic, let stream else { continue }
            let (streamName, incarnation): (String, Int64) = try (stream[at: 0], stream[at: 1])
            let end = Int64(clamping: sequence)
            for name in names where name == topic || (try? TopicPattern(name))?.matches(topic) == true {
                let key: StatementArguments = [name, streamName, incarnation, end]
                try database.cachedStatement(
                    sql: "DELETE FROM spans WHERE name = ? AND stream = ? AND incarnation = ? AND last <= ?"
                ).execute(arguments: key)
                try database.cachedStatement(
                    sql: """
                        UPDATE spans SET first = ? WHERE name = ? AND stream = ? AND incarnation = ? AND first <= ?
                        """
                ).execute(arguments: [end + 1] + key)
            }
        }
    }

    /// Of what deleted messages were.
    private struct Deleted: Hashable {
        let topic: Int64
        let stream: Int64
    }
}
