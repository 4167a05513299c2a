import GRDB

/// What the person was at, as it was kept by ``LocalStore/commit(_:)`` and ``LocalStore/append(_:_:)``.
package struct StoreDesk: Hashable, Sendable {
    /// The topics that are joined, in their order on the screen.
    package fileprivate(set) var joined: [String] = []
    /// What was typed and not sent, by conversation.
    package fileprivate(set) var drafts: [String: String] = [:]
    /// The lines that the person typed, oldest first.
    package fileprivate(set) var lines: [KeptLine] = []
    /// The names that the person ignores.
    package fileprivate(set) var ignored: Set<String> = []
    /// The topics and patterns that the person has muted, in the order in which that was done.
    package fileprivate(set) var muted: [String] = []
    /// What the person has chosen about the screen, by the names under which it was kept.
    package fileprivate(set) var choices: [String: Bool] = [:]
    /// What the person looked at last, in the words in which it was kept; nil where that is not known.
    package fileprivate(set) var place: String?
}

extension LocalStore {
    /// What the person was at.
    package func desk() async throws(RelayError) -> StoreDesk {
        try await reading { database in
            var desk = StoreDesk()
            desk.joined = try String.fetchAll(database, sql: "SELECT name FROM joined ORDER BY number")
            desk.ignored = try String.fetchSet(database, sql: "SELECT name FROM ignored")
            desk.muted = try String.fetchAll(database, sql: "SELECT name FROM muted ORDER BY number")
            desk.place = try StoreFacts.value(of: StoreFacts.place, in: database)
            for row in try Row.fetchAll(database, sql: "SELECT conversation, text FROM drafts") {
                desk.drafts[try row[at: 0]] = try row[at: 1] as String
            }
            for row in try Row.fetchAll(database, sql: "SELECT name, value FROM choices") {
                desk.choices[try row[at: 0]] = try row[at: 1] as Bool
            }
            let lines = try Row.fetchAll(database, sql: "SELECT text, conversation FROM lines ORDER BY number")
            desk.lines = try lines.map { KeptLine(try $0[at: 0], in: try $0[at: 1]) }
            return desk
        }
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
}
