import GRDB

// How far topics were received and read, and what is here of what their streams had.
extension LocalStore {
    /// How far a topic or pattern has been received; nil where nothing of it was.
    package func cursor(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try StoreReading($0).place(of: name, in: "cursors") }
    }

    /// How far a conversation has been read; nil where that is not known.
    package func readMark(of name: String) async throws(RelayError) -> KeptPlace? {
        try await reading { try StoreReading($0).place(of: name, in: "read_marks") }
    }

    /// The stream that a topic or pattern was received from last, or that anything was; nil where nothing was.
    func stream(of pattern: TopicPattern) async throws(RelayError) -> StreamIdentity? {
        try await reading { try StoreReading($0).stream(of: pattern.text) }
    }

    /// Which parts of a stream are here of a topic or pattern.
    func spans(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> KeptSpans {
        try await reading { try StoreReading($0).spans(of: pattern, in: stream) }
    }

    /// Where the stream no longer had what belongs to a topic or pattern, the first place first.
    func gaps(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> [KeptGap] {
        try await reading { try StoreReading($0).gaps(of: pattern, in: stream) }
    }

    /// Where messages have holes between them, the first one first: what the stream no longer had, and with 0 what was
    /// not asked for.
    ///
    /// - Parameter sequences: the messages' sequences, rising.
    package func holes(
        of pattern: TopicPattern, in stream: StreamIdentity, among sequences: [UInt64]
    ) async throws(RelayError) -> [KeptGap] {
        try await reading {
            try StoreReading($0).holes(of: pattern, in: stream, among: sequences, through: sequences.last ?? 0)
        }
    }
}

// The same, within a transaction of the caller's.
extension StoreReading {
    func place(of name: String, in table: String) throws -> KeptPlace? {
        let row = try Row.fetchOne(
            database, sql: "SELECT stream, incarnation, sequence FROM \(table) WHERE name = ?", arguments: [name])
        // What a damaged row says is in no stream.
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

    /// The stream that a row's first two columns name.
    static func identity(_ row: Row) throws -> StreamIdentity {
        let (name, incarnation): (String, Int64) = try (row[at: 0], row[at: 1])
        return StreamIdentity(name: name, incarnation: UInt64(bitPattern: incarnation))
    }

    /// Which parts of a stream are here of a pattern: what was received of another that has all of its topics counts
    /// too.
    func spans(
        of pattern: TopicPattern, in stream: StreamIdentity
    ) throws -> KeptSpans {
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

    /// The holes of what was received, the first one first.
    func gaps(
        of pattern: TopicPattern, in stream: StreamIdentity
    ) throws -> [KeptGap] {
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT sequence, lost FROM gaps WHERE name = ? AND stream = ? AND incarnation = ? ORDER BY sequence",
            arguments: [pattern.text] + stream.arguments)
        return try rows.compactMap { row in
            let (end, lost): (Int64, Int64) = try (row[at: 0], row[at: 1])
            // What a damaged row says is not counted with.
            guard end > 0, end < Int64(RowNumber.sequences), lost >= 0, lost <= end else { return nil }
            return KeptGap(end: UInt64(end), lost: UInt64(lost))
        }
    }

    /// Where messages have holes between them and behind them, up to a sequence.
    ///
    /// - Parameter end: before which sequence their page ends; nil for a page of the newest.
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
