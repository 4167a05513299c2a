import GRDB

/// The state of the person's screen, as stored by ``LocalStore/commit(_:)`` and ``LocalStore/append(_:_:)``.
package struct StoreDesk: Hashable, Sendable {
    /// The joined topics, in their order on the screen.
    package fileprivate(set) var joined: [String] = []
    /// Unsent text by conversation.
    package fileprivate(set) var drafts: [String: String] = [:]
    /// The lines that the person typed, oldest first.
    package fileprivate(set) var lines: [KeptLine] = []
    package fileprivate(set) var ignored: Set<String> = []
    /// The muted topics and patterns, in the order of muting.
    package fileprivate(set) var muted: [String] = []
    /// The person's choices about the screen, by name.
    package fileprivate(set) var choices: [String: Bool] = [:]
    /// The last place on the screen, in its stored form; nil if unknown.
    package fileprivate(set) var place: String?
}

extension LocalStore {
    /// The state of the person's screen.
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

    /// Whether a topic is joined or has stored data, as far as that can be read. For a look from outside: it neither
    /// creates nor repairs a store, and an unreadable one has no topics.
    package static func hasTopic(_ name: String, inFile path: String) -> Bool {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(2)
        let file = StoreFiles.nameForReading(path)
        guard let database = try? DatabaseQueue(path: file, configuration: configuration) else { return false }
        defer { try? database.close() }
        let sql = "SELECT EXISTS (SELECT 1 FROM joined WHERE name = ?) OR EXISTS (SELECT 1 FROM topics WHERE name = ?)"
        return (try? database.read { try Bool.fetchOne($0, sql: sql, arguments: [name, name]) ?? false }) ?? false
    }
}
