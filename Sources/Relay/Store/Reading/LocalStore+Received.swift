import GRDB

// What is here of what a topic's stream had, and how far it was received.
extension LocalStore {
    /// The newest messages before a place in the stream as a topic or pattern was received from it last, oldest first.
    /// Those of the stream's earlier lives do not come.
    ///
    /// - Parameters:
    ///   - pattern: the topic or pattern.
    ///   - sequence: the place; nil for the end.
    ///   - limit: most messages, 1 to 10,000.
    ///   - bytes: most bytes of their payloads together, but for a single one that has more.
    ///   - acrossHoles: whether what lies beyond messages that the network was never asked for comes too, with that
    ///     hole; the page ends there otherwise.
    /// - Returns: the messages, with the holes between them.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    func received(
        of pattern: TopicPattern, before sequence: UInt64? = nil, limit: Int, bytes: Int = .max,
        acrossHoles: Bool = false
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let nothing = KeptPage(messages: [], isComplete: true)
            guard let stream = try Self.stream(of: pattern.text, database) else { return nothing }
            let spans = try Self.spans(of: pattern, in: stream, database)
            let end = sequence.map { min($0, RowNumber.sequences) }
            let bounds: ClosedRange<UInt64>
            if acrossHoles {
                guard end != 0 else { return nothing }
                bounds = 0...(end ?? RowNumber.sequences) - 1
            } else if let end {
                guard end > 0, let span = spans.span(holding: end - 1) else { return nothing }
                bounds = span.lowerBound...end - 1
            } else {
                guard let span = spans.all.last else { return nothing }
                bounds = span
            }
            var page = try Self.newest(limit, of: pattern, in: stream, bounds, bytes: bytes, database)
            guard let oldest = page.messages.first?.place.sequence else { return page }
            page.gaps = try Self.gaps(of: pattern.text, in: stream, database).filter {
                $0.end > oldest && $0.end <= end ?? .max
            }
            if acrossHoles {
                let holes = spans.holes(among: page.messages.map(\.place.sequence), before: end)
                page.gaps = Self.merge(page.gaps, holes)
            }
            return page
        }
    }

    /// Where messages have holes between them, the first one first: what the stream no longer had, and with 0 what was
    /// not asked for.
    ///
    /// - Parameter sequences: the messages' sequences, rising.
    /// - Throws: ``RelayError/storage(_:)``.
    package func holes(
        of pattern: TopicPattern, in stream: StreamIdentity, among sequences: [UInt64]
    ) async throws(RelayError) -> [KeptGap] {
        guard let first = sequences.first, let last = sequences.last else { return [] }
        return try await reading { database in
            let gaps = try Self.gaps(of: pattern.text, in: stream, database).filter {
                $0.end > first && $0.end <= last
            }
            let spans = try Self.spans(of: pattern, in: stream, database)
            return Self.merge(gaps, spans.holes(among: sequences, before: nil))
        }
    }

    /// Adds places where something may be missing to those where it is.
    private static func merge(_ gaps: [KeptGap], _ holes: [UInt64]) -> [KeptGap] {
        let known = Set(gaps.map(\.end))
        let others = holes.filter { !known.contains($0) }.map { KeptGap(end: $0, lost: 0) }
        return (gaps + others).sorted { $0.end < $1.end }
    }

    /// Which parts of a stream are here of a topic or pattern.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func spans(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> KeptSpans {
        try await reading { try Self.spans(of: pattern, in: stream, $0) }
    }

    /// Where the stream no longer had what belongs to a topic or pattern, the first place first.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func gaps(of pattern: TopicPattern, in stream: StreamIdentity) async throws(RelayError) -> [KeptGap] {
        try await reading { try Self.gaps(of: pattern.text, in: stream, $0) }
    }

    /// The newest messages of a part of a stream, oldest first.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func newest(
        _ limit: Int, of pattern: TopicPattern, in stream: StreamIdentity, _ part: ClosedRange<UInt64>, bytes: Int
    ) async throws(RelayError) -> KeptPage {
        try await reading { try Self.newest(limit, of: pattern, in: stream, part, bytes: bytes, $0) }
    }

    /// The oldest messages of a part of a stream, oldest first.
    ///
    /// - Parameters:
    ///   - start: the earliest time; nil for any.
    ///   - end: the latest time; nil for no end.
    /// - Returns: the messages, and whether the part has others behind `end`.
    /// - Throws: ``RelayError/storage(_:)``.
    func oldest(
        _ limit: Int, of pattern: TopicPattern, in stream: StreamIdentity, _ part: ClosedRange<UInt64>,
        from start: Timestamp? = nil, through end: Timestamp?, bytes: Int
    ) async throws(RelayError) -> (page: KeptPage, endsInTime: Bool) {
        try await reading { database in
            let reading = try StoreReading(database)
            let nothing = (page: KeptPage(messages: [], isComplete: true), endsInTime: false)
            guard var rows = reading.rows(part, of: stream) else { return nothing }
            var endsInTime = false
            if let start {
                let first = try reading.firstRow(notBefore: start, in: rows)
                guard first <= rows.upperBound else { return nothing }
                rows = first...rows.upperBound
            }
            if let end, end.milliseconds < .max {
                let beyond = try reading.firstRow(
                    notBefore: Timestamp(milliseconds: end.milliseconds + 1), in: rows)
                endsInTime = try beyond <= rows.upperBound && reading.hasRows(in: beyond...rows.upperBound)
                guard beyond > rows.lowerBound else { return (nothing.page, endsInTime) }
                rows = rows.lowerBound...min(rows.upperBound, beyond - 1)
            }
            let selection = try reading.selection(of: pattern)
            let keys = try reading.rows(of: selection, in: rows, newestFirst: false, limit: limit + 1)
            let messages = try reading.messages(keys.prefix(limit), bytes: bytes)
            return (KeptPage(messages: messages, isComplete: messages.count == keys.count), endsInTime)
        }
    }

    /// The sequence in a part of a stream before which all was stored earlier than a moment, and nothing behind it was.
    ///
    /// - Parameter isFirst: whether there is nothing before the part.
    /// - Returns: it; nil where the part does not say, since all of it is later, or all earlier.
    /// - Throws: ``RelayError/storage(_:)``.
    func beginning(
        notBefore moment: Timestamp, in stream: StreamIdentity, _ part: ClosedRange<UInt64>, isFirst: Bool
    ) async throws(RelayError) -> UInt64? {
        try await reading { database in
            let reading = try StoreReading(database)
            guard let rows = reading.rows(part, of: stream) else { return nil }
            let first = try reading.firstRow(notBefore: moment, in: rows)
            guard first <= rows.upperBound, try reading.hasRows(in: first...rows.upperBound) else { return nil }
            let isLater = try first == rows.lowerBound || !reading.hasRows(in: rows.lowerBound...first - 1)
            guard isFirst || !isLater else { return nil }
            return RowNumber.sequence(of: first)
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

    /// The stream that a topic or pattern was received from last, or that anything was; nil where nothing was.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func stream(of pattern: TopicPattern) async throws(RelayError) -> StreamIdentity? {
        try await reading { try Self.stream(of: pattern.text, $0) }
    }

    /// When the newest message was stored that is here of a topic or pattern; nil where none is.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    func newestTime(of pattern: TopicPattern) async throws(RelayError) -> Timestamp? {
        try await reading { database in
            guard let stream = try Self.stream(of: pattern.text, database) else { return nil }
            let part = 0...RowNumber.sequences - 1
            return try Self.newest(1, of: pattern, in: stream, part, bytes: 1, database).messages.last?.time
        }
    }

    /// Which parts of a stream are here of a pattern: what was received of another that has all of its topics counts
    /// too.
    private static func spans(
        of pattern: TopicPattern, in stream: StreamIdentity, _ database: Database
    ) throws -> KeptSpans {
        let rows = try Row.fetchAll(
            database, sql: "SELECT name, first, last FROM spans WHERE stream = ? AND incarnation = ?",
            arguments: [stream.name, Int64(bitPattern: stream.incarnation)])
        var others: [String: Bool] = [:]
        var spans: [ClosedRange<UInt64>] = []
        for row in rows {
            let (name, first, last): (String, Int64, Int64) = try (row[at: 0], row[at: 1], row[at: 2])
            guard first >= 0, first <= last else { continue }
            let isWhole = others[name] ?? has(name, allOf: pattern)
            others[name] = isWhole
            if isWhole { spans.append(UInt64(first)...UInt64(last)) }
        }
        return KeptSpans(spans)
    }

    private static func has(_ name: String, allOf pattern: TopicPattern) -> Bool {
        if name == pattern.text || name == ">" { return true }
        return !pattern.isWildcard && (try? TopicPattern(name))?.matches(pattern.text) == true
    }

    private static func newest(
        _ limit: Int, of pattern: TopicPattern, in stream: StreamIdentity, _ part: ClosedRange<UInt64>, bytes: Int,
        _ database: Database
    ) throws -> KeptPage {
        let reading = try StoreReading(database)
        guard let rows = reading.rows(part, of: stream) else { return KeptPage(messages: [], isComplete: true) }
        let selection = try reading.selection(of: pattern)
        let keys = try reading.rows(of: selection, in: rows, newestFirst: true, limit: limit + 1)
        let messages = try reading.messages(keys.prefix(limit), bytes: bytes)
        return KeptPage(messages: messages.reversed(), isComplete: messages.count == keys.count)
    }

    private static func stream(of name: String, _ database: Database) throws -> StreamIdentity? {
        if let cursor = try place(of: name, in: "cursors", database) { return cursor.stream }
        return try newestStream(database)
    }

    private static func place(of name: String, in table: String, _ database: Database) throws -> KeptPlace? {
        let row = try Row.fetchOne(
            database, sql: "SELECT stream, incarnation, sequence FROM \(table) WHERE name = ?", arguments: [name])
        guard let row else { return nil }
        let stream: String = try row[at: 0]
        let incarnation: Int64 = try row[at: 1]
        let sequence: Int64 = try row[at: 2]
        return KeptPlace(stream, incarnation, sequence)
    }

    private static func newestStream(_ database: Database) throws -> StreamIdentity? {
        let row = try Row.fetchOne(
            database,
            sql: "SELECT name, incarnation FROM streams WHERE name NOT LIKE ? ORDER BY number DESC LIMIT 1",
            arguments: ["%\(StoreRewinding.mark)"])
        guard let row else { return nil }
        let name: String = try row[at: 0]
        let incarnation: Int64 = try row[at: 1]
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
        return try rows.compactMap { row in
            let end: Int64 = try row[at: 0]
            let lost: Int64 = try row[at: 1]
            // What a damaged row says is not counted with.
            guard end > 0, end < Int64(RowNumber.sequences), lost >= 0, lost <= end else { return nil }
            return KeptGap(end: UInt64(bitPattern: end), lost: UInt64(bitPattern: lost))
        }
    }
}

extension KeptPlace {
    /// A place as a row has it; nil where a damaged row has none that a stream could have.
    init?(_ stream: String, _ incarnation: Int64, _ sequence: Int64) {
        guard (0..<Int64(RowNumber.sequences)).contains(sequence) else { return nil }
        self.init(
            stream: StreamIdentity(name: stream, incarnation: UInt64(bitPattern: incarnation)),
            sequence: UInt64(sequence))
    }
}
