import GRDB

// Messages of topics. None of these calls waits for the writer or for the network.
extension LocalStore {
    /// The newest stored messages before a place, oldest first.
    ///
    /// - Parameters:
    ///   - pattern: A topic, or a pattern of topics.
    ///   - place: The place, where no message need be stored; nil for the end. Messages of a recreated stream come
    /// after
    ///     those of the previous one.
    ///   - limit: The most messages, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func messages(
        of pattern: TopicPattern, before place: KeptPlace? = nil, limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let reading = try StoreReading(database)
            let end = place.flatMap { reading.row(of: $0) } ?? .max
            guard end > 0 else { return .nothing }
            return try reading.page(of: pattern, in: 0...end - 1, newestFirst: true, limit)
        }
    }

    /// The first stored messages after a place, oldest first.
    ///
    /// - Parameters:
    ///   - pattern: A topic, or a pattern of topics.
    ///   - place: The place, where no message need be stored; nil for the beginning. A place in an unknown stream has
    ///     nothing after it.
    ///   - limit: The most messages, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func messages(
        of pattern: TopicPattern, after place: KeptPlace?, limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let reading = try StoreReading(database)
            guard let first = place.map({ reading.row(of: $0) }) ?? -1 else { return .nothing }
            return try reading.page(of: pattern, in: first + 1...Int64.max, newestFirst: false, limit)
        }
    }

    /// The newest messages before a place in the stream from which a topic or pattern was last received, oldest first.
    /// Earlier incarnations of the stream are left out.
    ///
    /// - Parameters:
    ///   - pattern: The topic or pattern.
    ///   - sequence: The place; nil for the end.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - bytes: The most bytes of their payloads together; a single one may have more.
    ///   - acrossHoles: Whether the page continues across messages that were never requested from the network,
    ///     reporting that hole, rather than end there.
    /// - Returns: The messages, with the holes between them.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    func received(
        of pattern: TopicPattern, before sequence: UInt64? = nil, limit: Int, bytes: Int = .max,
        acrossHoles: Bool = false
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let end = min(sequence ?? .max, RowNumber.sequences)
            let reading = try StoreReading(database)
            guard end > 0, let stream = try reading.stream(of: pattern.text) else { return .nothing }
            let spans = try reading.spans(of: pattern, in: stream)
            // Without a place the newest part is used, wherever it ends.
            let span = sequence == nil ? spans.all.last : spans.span(holding: end - 1)
            guard acrossHoles || span != nil else { return .nothing }
            let first = acrossHoles ? 0 : span?.lowerBound ?? 0
            let last = acrossHoles || sequence != nil ? end - 1 : span?.upperBound ?? end - 1
            var page = try reading.page(
                of: pattern, in: reading.rows(first...last, of: stream), newestFirst: true, limit, bytes: bytes)
            page.gaps = try reading.holes(
                of: pattern, in: stream, among: page.messages.map(\.place.sequence), through: sequence ?? .max,
                before: sequence.map { _ in end })
            return page
        }
    }

    /// The newest messages of a part of a stream, oldest first.
    func newest(
        _ limit: Int, of pattern: TopicPattern, in stream: StreamIdentity, _ part: ClosedRange<UInt64>, bytes: Int
    ) async throws(RelayError) -> KeptPage {
        try await reading { database in
            let reading = try StoreReading(database)
            return try reading.page(
                of: pattern, in: reading.rows(part, of: stream), newestFirst: true, limit, bytes: bytes)
        }
    }

    /// The oldest messages of a part of a stream, oldest first.
    ///
    /// - Parameters:
    ///   - start: The earliest time; nil for any.
    ///   - end: The latest time; nil for any.
    /// - Returns: The messages, and whether the part has others after `end`.
    func oldest(
        _ limit: Int, of pattern: TopicPattern, in stream: StreamIdentity, _ part: ClosedRange<UInt64>,
        from start: Timestamp? = nil, through end: Timestamp?, bytes: Int
    ) async throws(RelayError) -> (page: KeptPage, endsInTime: Bool) {
        try await reading { database in
            let reading = try StoreReading(database)
            guard let rows = reading.rows(part, of: stream) else { return (.nothing, false) }
            let part = try reading.part(of: rows, from: start, through: end)
            let endsInTime =
                try part.upperBound <= rows.upperBound && reading.hasRows(in: part.upperBound...rows.upperBound)
            guard !part.isEmpty else { return (.nothing, endsInTime) }
            let page = try reading.page(of: pattern, in: ClosedRange(part), newestFirst: false, limit, bytes: bytes)
            return (page, endsInTime)
        }
    }

    /// The first sequence in a part of a stream that was not stored before a moment.
    ///
    /// - Parameter isFirst: Whether there is nothing before the part.
    /// - Returns: Nil if the part does not show it, since all of it is later or all earlier.
    func beginning(
        notBefore moment: Timestamp, in stream: StreamIdentity, _ part: ClosedRange<UInt64>, isFirst: Bool
    ) async throws(RelayError) -> UInt64? {
        try await reading { database in
            let reading = try StoreReading(database)
            guard let rows = reading.rows(part, of: stream) else { return nil }
            let first = try reading.firstRow(notBefore: moment, in: rows)
            guard first <= rows.upperBound, try reading.hasRows(in: first...rows.upperBound) else { return nil }
            let isLater = try first == rows.lowerBound || !reading.hasRows(in: rows.lowerBound...first - 1)
            return isFirst || !isLater ? RowNumber.sequence(of: first) : nil
        }
    }

    /// When the newest stored message of a topic or pattern was stored by the server; nil without any.
    func newestTime(of pattern: TopicPattern) async throws(RelayError) -> Timestamp? {
        try await received(of: pattern, limit: 1, bytes: 1, acrossHoles: true).messages.last?.time
    }

    static func check(_ limit: Int) throws(RelayError) {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
    }
}
