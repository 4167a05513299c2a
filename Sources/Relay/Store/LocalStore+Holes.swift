import GRDB

extension LocalStore {
    /// Holes that are told at once.
    private static let holesAtOnce = 1_000

    /// Where a part of what a subscription received of a stream has holes, the first one first; at most 1,000.
    ///
    /// - Parameters:
    ///   - name: the topic or pattern that was subscribed to.
    ///   - place: holes that end at this place or before it are left out.
    ///   - sequence: holes that end behind this are left out.
    /// - Throws: ``RelayError/storage(_:)``.
    package func holes(
        of name: String, after place: KeptPlace, through sequence: UInt64
    ) async throws(RelayError) -> [KeptGap] {
        try await reading { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT sequence, lost FROM gaps WHERE name = ? AND stream = ? AND incarnation = ?
                    AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?
                    """,
                arguments: [
                    name, place.stream.name, Int64(bitPattern: place.stream.incarnation),
                    Int64(clamping: place.sequence),
                    Int64(clamping: sequence), Self.holesAtOnce,
                ])
            return rows.map { row in
                let end: Int64 = row[0]
                let lost: Int64 = row[1]
                return KeptGap(end: UInt64(bitPattern: end), lost: UInt64(bitPattern: lost))
            }
        }
    }
}
