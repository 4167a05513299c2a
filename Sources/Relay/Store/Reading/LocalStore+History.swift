import GRDB

// Messages of topics. None of these calls waits for the writer or for the network.
extension LocalStore {
    /// The newest messages that are kept before a place, oldest first.
    ///
    /// - Parameters:
    ///   - pattern: a topic, or a pattern of topics.
    ///   - place: the place, which need not be kept; nil for the end. Messages of a stream that was made anew come
    ///     behind those of the one before it.
    ///   - limit: most messages, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func messages(
        of pattern: TopicPattern, before place: KeptPlace? = nil, limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let reading = try StoreReading(database)
            let selection = try reading.selection(of: pattern)
            let end = place.flatMap { reading.row(of: $0) } ?? .max
            guard end > 0 else { return KeptPage(messages: [], isComplete: true) }
            var rows = try reading.rows(of: selection, in: 0...(end - 1), newestFirst: true, limit: limit + 1)
            let isComplete = rows.count <= limit
            if !isComplete { rows.removeLast() }
            return KeptPage(messages: try reading.messages(rows.reversed()), isComplete: isComplete)
        }
    }

    /// The first messages that are kept after a place, oldest first.
    ///
    /// - Parameters:
    ///   - pattern: a topic, or a pattern of topics.
    ///   - place: the place, which need not be kept; nil for the beginning. After a place in a stream that is not known
    ///     here nothing is kept.
    ///   - limit: most messages, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func messages(
        of pattern: TopicPattern, after place: KeptPlace?, limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        return try await reading { database in
            let reading = try StoreReading(database)
            let selection = try reading.selection(of: pattern)
            var start: Int64 = 0
            if let place {
                guard let row = reading.row(of: place) else { return KeptPage(messages: [], isComplete: true) }
                start = row + 1
            }
            var rows = try reading.rows(of: selection, in: start...Int64.max, newestFirst: false, limit: limit + 1)
            let isComplete = rows.count <= limit
            if !isComplete { rows.removeLast() }
            return KeptPage(messages: try reading.messages(rows), isComplete: isComplete)
        }
    }

    /// The first messages that are kept of a time, oldest first, by the server's clock.
    ///
    /// - Parameters:
    ///   - pattern: a topic, or a pattern of topics.
    ///   - start: the earliest time.
    ///   - end: the latest time, not before `start`; nil for no end.
    ///   - place: goes on after the last message of an earlier page. Many messages may have the same time, and none is
    ///     left out or comes twice.
    ///   - limit: most messages, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func messages(
        of pattern: TopicPattern, from start: Timestamp, through end: Timestamp? = nil, after place: KeptPlace? = nil,
        limit: Int
    ) async throws(RelayError) -> KeptPage {
        try Self.check(limit)
        if let end, end < start { throw .invalidArgument("The start lies after the end") }
        return try await reading { database in
            let reading = try StoreReading(database)
            let selection = try reading.selection(of: pattern)
            let first = Self.first(after: place, reading)
            var rows: [Int64] = []
            for range in try reading.rows(from: start, through: end) where range.upperBound >= first {
                let bounds = max(first, range.lowerBound)...range.upperBound
                let wanted = limit + 1 - rows.count
                rows += try reading.rows(of: selection, in: bounds, newestFirst: false, limit: wanted)
                if rows.count > limit { break }
            }
            let isComplete = rows.count <= limit
            if !isComplete { rows.removeLast() }
            return KeptPage(messages: try reading.messages(rows), isComplete: isComplete)
        }
    }

    private static func first(after place: KeptPlace?, _ reading: StoreReading) -> Int64 {
        guard let place else { return 0 }
        return reading.row(of: place).map { $0 + 1 } ?? .max
    }

    static func check(_ limit: Int) throws(RelayError) {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
    }
}
