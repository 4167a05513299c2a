import GRDB

/// Puts aside what is kept of a stream that lost its newest messages, within a transaction of the caller's.
///
/// The network has nothing of them any more and gives their sequences to others. They stay here, to be searched and
/// exported, as those of a stream of their own.
struct StoreRewinding {
    /// What the names of such streams end with; no stream of a network can be called so.
    static let mark = " (lost)"

    private let database: Database
    private let stream: StreamIdentity
    private let last: Int64

    init(_ database: Database, _ stream: StreamIdentity, through sequence: UInt64) {
        self.database = database
        self.stream = stream
        last = Int64(clamping: min(sequence, RowNumber.sequences - 1))
    }

    func carryOut() throws {
        let key: StatementArguments = [stream.name, Int64(bitPattern: stream.incarnation)]
        try cut(key)
        let number = try Int64.fetchOne(
            database, sql: "SELECT number FROM streams WHERE name = ? AND incarnation = ?", arguments: key)
        guard let number, let all = RowNumber.rows(ofStream: number), all.lowerBound + last < all.upperBound else {
            return
        }
        let lost = all.lowerBound + last + 1...all.upperBound
        let bounds: StatementArguments = [lost.lowerBound, lost.upperBound]
        let isAny = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE row BETWEEN ? AND ?)", arguments: bounds)
        guard isAny == true else { return }
        // It may happen to the same stream again.
        let name = stream.name + Self.mark
        let before = try Int64.fetchOne(
            database, sql: "SELECT max(incarnation) FROM streams WHERE name = ?", arguments: [name])
        try database.execute(
            sql: "INSERT INTO streams (name, incarnation) VALUES (?, ?)", arguments: [name, (before ?? 0) &+ 1])
        guard let aside = RowNumber.rows(ofStream: database.lastInsertedRowID) else { return }
        let distance = aside.lowerBound - all.lowerBound
        try database.execute(
            sql: "DELETE FROM words WHERE rowid IN (SELECT row FROM messages WHERE row BETWEEN ? AND ?)",
            arguments: bounds)
        try database.execute(
            sql: "UPDATE messages SET row = row + ? WHERE row BETWEEN ? AND ?", arguments: [distance] + bounds)
        try database.execute(
            sql: "INSERT INTO unsearched (first, last) VALUES (?, ?)",
            arguments: [lost.lowerBound + distance, lost.upperBound + distance])
    }

    /// What was received, read and missing ends where the stream does.
    private func cut(_ key: StatementArguments) throws {
        for table in ["cursors", "read_marks"] {
            try database.execute(
                sql: """
                    UPDATE \(table) SET sequence = min(sequence, ?) WHERE stream = ? AND incarnation = ?
                    """, arguments: [last] + key)
        }
        try database.execute(
            sql: "DELETE FROM gaps WHERE stream = ? AND incarnation = ? AND sequence > ?", arguments: key + [last])
        try database.execute(
            sql: "DELETE FROM spans WHERE stream = ? AND incarnation = ? AND first > ?", arguments: key + [last])
        try database.execute(
            sql: "UPDATE spans SET last = min(last, ?) WHERE stream = ? AND incarnation = ?", arguments: [last] + key)
    }
}
