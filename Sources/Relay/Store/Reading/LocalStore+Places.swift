import GRDB

// How far topics were received and read, and which parts of their streams are stored.
extension LocalStore {
    /// How far a topic or pattern was received; nil if not at all.
    package func cursor(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try StoreReading($0).place(of: name, in: "cursors") }
    }

    /// How far a conversation was read; nil if unknown.
    package func readMark(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try StoreReading($0).place(of: name, in: "read_marks") }
    }

    /// The stream from which a topic or pattern, or else anything, was last received; nil if there is none.
    func stream(of pattern: TopicPattern) async throws(RelayError) -> StreamIdentity? {
        try await reading { try StoreReading($0).stream(of: pattern.text) }
    }

    /// The stored parts of a stream for a topic or pattern.
    func spans(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> KeptSpans {
        try await reading { try StoreReading($0).spans(of: pattern, in: stream) }
    }

    /// The places where the stream had already lost messages of a topic or pattern, in order.
    func gaps(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> [KeptGap] {
        try await reading { try StoreReading($0).gaps(of: pattern, in: stream) }
    }

    /// The holes between messages, in order: messages that the stream had lost, and, with a count of 0, messages that
    /// were never requested.
    ///
    /// - Parameter sequences: The messages' sequences, ascending.
    package func holes(
        of pattern: TopicPattern, in stream: StreamIdentity, among sequences: [UInt64]
    ) async throws(RelayError) -> [KeptGap] {
        try await reading {
            try StoreReading($0).holes(of: pattern, in: stream, among: sequences, through: sequences.last ?? 0)
        }
    }
}

// The same within the caller's transaction.
extension StoreReading {
    func place(of name: String, in table: String) throws -> KeptPlace? {
        let row = try Row.fetchOne(
            database, sql: "SELECT stream, incarnation, sequence FROM \(table) WHERE name = ?", arguments: [name])
        // A damaged row may have an impossible sequence.
        guard let row, let sequence = UInt64(exactly: try row[at: 2] as Int64), sequence < RowNumber.sequences else {
            return nil
        }
        return KeptPlace(stream: try Self.identity(row), sequence: sequence)
    }

    func stream(of name: String) throws -> StreamIdentity? {
        if let cursor = try place(of: name, in: "cursors") { return cursor.stream }
        return try Row.fetchOne(
            database,
            sql: "SELECT name, incarnation FROM streams WHERE name NOT LIKE ? ORDER BY number DESC LIMIT 1",
            arguments: ["%\(StoreSchema.lostMark)"]
        ).map { try Self.identity($0) }
    }

    /// The stream named in a row's first two columns.
    static func identity(_ row: Row) throws -> StreamIdentity {
        let (name, incarnation): (String, Int64) = try (row[at: 0], row[at: 1])
        return StreamIdentity(name: name, incarnation: UInt64(bitPattern: incarnation))
    }

    /// The stored parts of a stream for a pattern, including those received for another pattern that covers it.
    func spans(of pattern: TopicPattern, in stream: StreamIdentity) throws -> KeptSpans {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT first, last FROM spans WHERE stream = ? AND incarnation = ? AND first BETWEEN 0 AND last
                    AND (name = ?3 OR name = '>' OR (NOT ?4 AND matches(name, ?3)))
                """, arguments: stream.arguments + [pattern.text, pattern.isWildcard])
        return KeptSpans(
            try rows.map { row in
                let (first, last): (Int64, Int64) = try (row[at: 0], row[at: 1])
                return UInt64(first)...UInt64(last)
            })
    }

    /// The gaps in what was received, in order.
    func gaps(of pattern: TopicPattern, in stream: StreamIdentity) throws -> [KeptGap] {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT sequence, lost FROM gaps WHERE name = ? AND stream = ? AND incarnation = ? ORDER BY sequence",
            arguments: [pattern.text] + stream.arguments)
        return try rows.compactMap { row in
            let (end, lost): (Int64, Int64) = try (row[at: 0], row[at: 1])
            // A damaged row may have impossible numbers.
            guard end > 0, end < Int64(RowNumber.sequences), lost >= 0, lost <= end else { return nil }
            return KeptGap(end: UInt64(end), lost: UInt64(lost))
        }
    }

    /// The holes between messages and after them, up to a sequence.
    ///
    /// - Parameter end: The sequence before which their page ends; nil for a page of the newest.
    func holes(
        of pattern: TopicPattern, in stream: StreamIdentity, among sequences: [UInt64], through last: UInt64,
        before end: UInt64? = nil
    ) throws -> [KeptGap] {
        guard let first = sequences.first else { return [] }
        let gaps = try gaps(of: pattern, in: stream).filter { $0.end > first && $0.end <= last }
        let known = Set(gaps.map(\.end))
        let unknown = try spans(of: pattern, in: stream).holes(among: sequences, before: end)
        return (gaps + unknown.filter { !known.contains($0) }.map { KeptGap(end: $0, lost: 0) })
            .sorted { $0.end < $1.end }
    }
}
