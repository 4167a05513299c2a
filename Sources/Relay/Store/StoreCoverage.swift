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
    }

    /// The streams that came back, by their numbers.
    var streams: [Int64: Part] = [:]
    /// Whether what is there may have holes that nobody knows of.
    var isDoubtful = false

    /// Turns cursors back to what is there, within a transaction of the caller's: no subscription goes on behind a message
    /// that is lost, unless a hole is noted. What the stream still has of the rest comes again.
    func turnBack(_ database: Database) throws {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT cursors.name, cursors.stream, cursors.incarnation, cursors.sequence, streams.number,
                    (SELECT read_marks.sequence FROM read_marks WHERE read_marks.name = cursors.name
                        AND read_marks.stream = cursors.stream AND read_marks.incarnation = cursors.incarnation)
                FROM cursors LEFT JOIN streams
                    ON streams.name = cursors.stream AND streams.incarnation = cursors.incarnation
                """)
        for row in rows {
            let name: String = row[0]
            let stream: String = row[1]
            let incarnation: Int64 = row[2]
            let sequence: Int64 = row[3]
            let number: Int64? = row[4]
            let mark: Int64? = row[5]
            let place = place(of: number.flatMap { streams[$0] }, cursor: sequence, mark: mark)
            try database.execute(
                sql: "UPDATE cursors SET sequence = ? WHERE name = ?", arguments: [place.cursor, name])
            guard let hole = place.hole else { continue }
            try database.execute(
                sql: "INSERT OR REPLACE INTO gaps (name, stream, incarnation, sequence, lost) VALUES (?, ?, ?, ?, 0)",
                arguments: [name, stream, incarnation, hole])
        }
    }

    /// How far a subscription counts as having received, and the first sequence behind which nothing is missing until
    /// there; nil where nothing is missing at all.
    ///
    /// - Parameters:
    ///   - part: what came back of its stream; nil for nothing.
    ///   - cursor: how far it had come.
    ///   - mark: how far its messages were read; nil where that is not known.
    func place(of part: Part?, cursor: Int64, mark: Int64?) -> (cursor: Int64, hole: Int64?) {
        guard let part, let newest = part.newest else {
            // What was not read comes again; all else is the network's to show.
            let known = min(cursor, mark ?? cursor)
            return (known, known + 1)
        }
        let last = Int64(RowNumber.sequence(of: newest.upperBound))
        let first = Int64(RowNumber.sequence(of: newest.lowerBound))
        let known = part.isEndWhole ? cursor : min(cursor, last)
        if isDoubtful { return (known, known + 1) }
        // A cursor that lies before them all has nothing behind which something could be missing.
        return (known, part.isStartWhole ? nil : min(first, known + 1))
    }
}
