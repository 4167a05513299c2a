import GRDB

/// What of each stream's messages came back from a damaged store, as far as subscriptions count on it.
struct StoreCoverage: Sendable {
    /// A stream's part.
    struct Part: Hashable, Sendable {
        /// The newest rows between which nothing is missing; nil where there are none.
        var newest: ClosedRange<Int64>?
        /// Whether nothing is missing behind them.
        var isEndWhole: Bool
        /// Whether nothing is missing before them.
        var isStartWhole: Bool

        /// All between two rows came back beside this, which matters where nothing is missing behind the newest.
        mutating func add(_ rows: ClosedRange<Int64>) {
            guard isEndWhole else { return }
            newest = newest.map { $0.lowerBound...max($0.upperBound, rows.upperBound) } ?? rows
        }
    }

    /// The streams that came back, by their numbers.
    var streams: [Int64: Part] = [:]
    /// Whether what is there may have holes that nobody knows of.
    var isDoubtful = false

    /// Takes in what came back of bursts, whose messages were no rows yet.
    ///
    /// - Parameter isWhole: whether that is all there was.
    mutating func add(_ messages: [KeptMessage], isWhole: Bool, _ database: Database) throws {
        guard isWhole else {
            for number in streams.keys { streams[number]?.isEndWhole = false }
            return
        }
        for (stream, messages) in Dictionary(grouping: messages, by: \.place.stream) {
            let number = try Int64.fetchOne(
                database, sql: "SELECT number FROM streams WHERE name = ? AND incarnation = ?",
                arguments: [stream.name, Int64(bitPattern: stream.incarnation)])
            let rows = messages.compactMap { message in
                number.flatMap { RowNumber.row(stream: $0, sequence: message.place.sequence) }
            }
            guard let number, let first = rows.min(), let last = rows.max() else { continue }
            streams[number, default: Part(newest: nil, isEndWhole: true, isStartWhole: true)].add(first...last)
        }
    }

    /// Turns cursors back to what is there, and shortens what counts as whole to what is, within a transaction of the
    /// caller's: no subscription goes on behind a message that is lost. What the stream still has of the rest comes
    /// again.
    func turnBack(_ database: Database) throws {
        // From before what is whole was noted.
        try database.execute(sql: "DELETE FROM gaps WHERE lost = 0")
        try shortenSpans(database)
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT cursors.name, cursors.stream, cursors.incarnation, cursors.sequence, streams.number,
                    (SELECT read_marks.sequence FROM read_marks WHERE read_marks.name = cursors.name
                        AND read_marks.stream = cursors.stream AND read_marks.incarnation = cursors.incarnation),
                    EXISTS (SELECT 1 FROM spans WHERE spans.name = cursors.name)
                FROM cursors LEFT JOIN streams
                    ON streams.name = cursors.stream AND streams.incarnation = cursors.incarnation
                """)
        for row in rows {
            let name: String = try row[at: 0]
            let stream: String = try row[at: 1]
            let incarnation: Int64 = try row[at: 2]
            let number: Int64? = try row[at: 4]
            let hasSpans: Bool = try row[at: 6]
            let place = place(of: number.flatMap { streams[$0] }, cursor: try row[at: 3], mark: try row[at: 5])
            try database.execute(
                sql: "UPDATE cursors SET sequence = ? WHERE name = ?", arguments: [place.cursor, name])
            guard !hasSpans, let whole = place.whole else { continue }
            try database.execute(
                sql: "INSERT INTO spans (name, stream, incarnation, first, last) VALUES (?, ?, ?, ?, ?)",
                arguments: [name, stream, incarnation, whole.lowerBound, whole.upperBound])
        }
    }

    private func shortenSpans(_ database: Database) throws {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT DISTINCT spans.stream, spans.incarnation, streams.number FROM spans LEFT JOIN streams
                    ON streams.name = spans.stream AND streams.incarnation = spans.incarnation
                """)
        for row in rows {
            let (stream, incarnation, number): (String, Int64, Int64?) = try (row[at: 0], row[at: 1], row[at: 2])
            guard !isDoubtful, let part = number.flatMap({ streams[$0] }), let newest = part.newest else {
                try database.execute(
                    sql: "DELETE FROM spans WHERE stream = ? AND incarnation = ?", arguments: [stream, incarnation])
                continue
            }
            let first = part.isStartWhole ? 0 : Int64(RowNumber.sequence(of: newest.lowerBound))
            let last = part.isEndWhole ? .max : Int64(RowNumber.sequence(of: newest.upperBound))
            try database.execute(
                sql: "DELETE FROM spans WHERE stream = ? AND incarnation = ? AND (last < ? OR first > ?)",
                arguments: [stream, incarnation, first, last])
            try database.execute(
                sql: """
                    UPDATE spans SET first = max(first, ?), last = min(last, ?) WHERE stream = ? AND incarnation = ?
                    """, arguments: [first, last, stream, incarnation])
        }
    }

    /// How far a subscription counts as having received, and between which sequences nothing is missing then; nil where
    /// that is not known.
    ///
    /// - Parameters:
    ///   - part: what came back of its stream; nil for nothing.
    ///   - cursor: how far it had come.
    ///   - mark: how far its messages were read; nil where that is not known.
    func place(of part: Part?, cursor: Int64, mark: Int64?) -> (cursor: Int64, whole: ClosedRange<Int64>?) {
        guard let part, let newest = part.newest else {
            // What was not read comes again; all else is the network's to show.
            return (min(cursor, mark ?? cursor), nil)
        }
        let last = Int64(RowNumber.sequence(of: newest.upperBound))
        let first = Int64(RowNumber.sequence(of: newest.lowerBound))
        let known = part.isEndWhole ? cursor : min(cursor, last)
        return (known, !isDoubtful && first <= known ? first...known : nil)
    }
}
