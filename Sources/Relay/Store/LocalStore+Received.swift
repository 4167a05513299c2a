import GRDB

// What a subscription received, and how far.
extension LocalStore {
    /// The newest messages that a subscription received before a place in its stream, oldest first. Those of the stream's
    /// earlier lives do not come, nor what lies before the place where the subscription began last.
    ///
    /// - Parameters:
    ///   - pattern: the topic or pattern that was subscribed to.
    ///   - sequence: the place; nil for the end.
    ///   - limit: most messages, 1 to 10,000.
    /// - Returns: the messages, with the holes between them.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    func received(
        of pattern: TopicPattern, before sequence: UInt64? = nil, limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let reading = try StoreReading(database)
            let nothing = KeptPage(messages: [], isComplete: true)
            guard let stream = try Self.stream(of: pattern.text, database) else { return nothing }
            let holes = try Self.gaps(of: pattern.text, in: stream, database)
            let first = holes.last(where: { $0.lost == 0 })?.end ?? 0
            let beyond = min(sequence ?? RowNumber.sequences, RowNumber.sequences)
            guard first < beyond, let low = reading.row(of: KeptPlace(stream: stream, sequence: first)),
                let high = reading.row(of: KeptPlace(stream: stream, sequence: beyond - 1))
            else { return nothing }
            let selection = try reading.selection(of: pattern)
            var rows = try reading.rows(of: selection, in: low...high, newestFirst: true, limit: limit + 1)
            let isComplete = rows.count <= limit
            if !isComplete { rows.removeLast() }
            var page = KeptPage(messages: try reading.messages(rows.reversed()), isComplete: isComplete)
            guard let oldest = page.messages.first?.place.sequence else { return page }
            page.gaps = holes.filter { $0.lost > 0 && $0.end > oldest && $0.end <= beyond }
            return page
        }
    }

    /// How far a topic or pattern has been received; nil where nothing of it was.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func cursor(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try Self.place(of: name, in: "cursors", $0) }
    }

    /// How far a conversation has been read; nil where that is not known.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func readMark(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try Self.place(of: name, in: "read_marks", $0) }
    }

    /// The stream that messages came from last; nil where none came.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func newestStream() async throws(RelayError) -> StreamIdentity? {
        try await reading { try Self.newestStream($0) }
    }

    private static func stream(of name: String, _ database: Database) throws -> StreamIdentity? {
        if let cursor = try place(of: name, in: "cursors", database) { return cursor.stream }
        return try newestStream(database)
    }

    private static func place(of name: String, in table: String, _ database: Database) throws -> KeptPlace? {
        let row = try Row.fetchOne(
            database, sql: "SELECT stream, incarnation, sequence FROM \(table) WHERE name = ?", arguments: [name])
        guard let row else { return nil }
        let stream: String = row[0]
        let incarnation: Int64 = row[1]
        let sequence: Int64 = row[2]
        return KeptPlace(
            stream: StreamIdentity(name: stream, incarnation: UInt64(bitPattern: incarnation)),
            sequence: UInt64(bitPattern: sequence))
    }

    private static func newestStream(_ database: Database) throws -> StreamIdentity? {
        let row = try Row.fetchOne(
            database, sql: "SELECT name, incarnation FROM streams ORDER BY number DESC LIMIT 1")
        guard let row else { return nil }
        let name: String = row[0]
        let incarnation: Int64 = row[1]
        return StreamIdentity(name: name, incarnation: UInt64(bitPattern: incarnation))
    }

    /// The holes of what was received, the first one first.
    private static func gaps(
        of name: String, in stream: StreamIdentity, _ database: Database
    ) throws -> [KeptGap] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT sequence, lost FROM gaps WHERE name = ? AND stream = ? AND incarnation = ?
                ORDER BY sequence
                """,
            arguments: [name, stream.name, Int64(bitPattern: stream.incarnation)])
        return rows.map { row in
            let end: Int64 = row[0]
            let lost: Int64 = row[1]
            return KeptGap(end: UInt64(bitPattern: end), lost: UInt64(bitPattern: lost))
        }
    }
}
