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
        try await reading { database in
            var drafts: [String: String] = [:]
            for row in try Row.fetchAll(database, sql: "SELECT conversation, text FROM drafts") {
                drafts[try row[at: 0]] = try row[at: 1] as String
            }
            return drafts
        }
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
        try await reading { database in
            var choices: [String: Bool] = [:]
            for row in try Row.fetchAll(database, sql: "SELECT name, value FROM choices") {
                choices[try row[at: 0]] = try row[at: 1] as Bool
            }
            return choices
        }
    }

    /// What the person looked at last, in the words in which it was kept; nil where that is not known.
    ///
    /// - Throws: ``RelayError/storage(_:)``.
    package func place() async throws(RelayError) -> String? {
        try await reading { try StoreFacts.value(of: StoreChange.placeFact, in: $0) }
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

    /// The newest letters before a moment, the newest first.
    ///
    /// - Parameters:
    ///   - direction: those received or those sent; nil for both.
    ///   - moment: the moment; nil for now.
    ///   - limit: most letters, 1 to 10,000.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func letters(
        _ direction: KeptLetter.Direction? = nil, before moment: Timestamp? = nil, limit: Int
    ) async throws(RelayError) -> [KeptLetter] {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
        let end: Int64 = moment?.milliseconds ?? .max
        let code = direction?.rawValue
        return try await reading { database in
            try KeptLetter.fetch(
                database, "FROM letters WHERE time < ? AND (? IS NULL OR direction = ?) ORDER BY time DESC LIMIT ?",
                [end, code, code, limit])
        }
    }
}

extension KeptLetter {
    /// Letters by the rest of a statement, from its `FROM` on.
    static func fetch(_ database: Database, _ rest: String, _ arguments: StatementArguments) throws -> [KeptLetter] {
        let columns = ["direction", "id", "person", "postbox", "time", "text", "sudo", "subject"]
            .map { "letters." + $0 }
        let sql = "SELECT \(columns.joined(separator: ", ")) \(rest)"
        return try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
            KeptLetter(
                direction: Direction(rawValue: try row[at: 0]) ?? .received, id: try row[at: 1], person: try row[at: 2],
                postbox: try row[at: 3], time: Timestamp(milliseconds: try row[at: 4]), text: try row[at: 5],
                sudoId: try row[at: 6], subject: try row[at: 7])
        }
    }
}
