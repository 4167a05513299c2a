import GRDB

// What the person was at: topics, drafts, lines and letters. It is written with `commit`.
extension LocalStore {
    /// The topics that are joined, in their order on the screen.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func joinedTopics() async throws(RelayError) -> [String] {
        try await reading { try String.fetchAll($0, sql: "SELECT name FROM joined ORDER BY number") }
    }

    /// Whether a topic is joined, or something of it is kept, as far as that can be read. It is for a look from
    /// outside: it makes and mends no store, and one that cannot be read has no topic.
    package static func hasTopic(_ name: String, inFile path: String) -> Bool {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(2)
        guard let database = try? DatabaseQueue(path: path, configuration: configuration) else { return false }
        defer { try? database.close() }
        let sql = "SELECT EXISTS (SELECT 1 FROM joined WHERE name = ?) OR EXISTS (SELECT 1 FROM topics WHERE name = ?)"
        return (try? database.read { try Bool.fetchOne($0, sql: sql, arguments: [name, name]) ?? false }) ?? false
    }

    /// What was typed and not sent, by conversation.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func drafts() async throws(RelayError) -> [String: String] {
        try await reading { try Self.values("SELECT conversation, text FROM drafts", $0) }
    }

    /// The names that the person ignores.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func ignored() async throws(RelayError) -> Set<String> {
        try await reading { try String.fetchSet($0, sql: "SELECT name FROM ignored") }
    }

    /// The topics and patterns that the person has muted, in the order in which that was done.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func muted() async throws(RelayError) -> [String] {
        try await reading { try String.fetchAll($0, sql: "SELECT name FROM muted ORDER BY number") }
    }

    /// What the person has chosen about the screen, by the names under which it was kept.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func choices() async throws(RelayError) -> [String: Bool] {
        try await reading { try Self.values("SELECT name, value FROM choices", $0) }
    }

    private static func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String, _ database: Database
    ) throws -> [String: Value] {
        try Row.fetchAll(database, sql: sql).reduce(into: [:]) { $0[try $1[at: 0]] = try $1[at: 1] as Value }
    }

    /// What the person looked at last, in the words in which it was kept; nil where that is not known.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func place() async throws(RelayError) -> String? {
        try await reading { try StoreFacts.value(of: StoreFacts.place, in: $0) }
    }

    /// The lines that the person typed, oldest first.
    ///
    /// - Parameter limit: most lines, the newest.
    /// - Throws: ``RelayError/storage(_:)``.
    package func lines(limit: Int = StoreBounds.lines) async throws(RelayError) -> [KeptLine] {
        try await reading { database in
            let sql = "SELECT text, conversation FROM lines ORDER BY number DESC LIMIT ?"
            let rows = try Row.fetchAll(database, sql: sql, arguments: [max(0, limit)])
            return try rows.reversed().map { KeptLine(try $0[at: 0], in: try $0[at: 1]) }
        }
    }
}
