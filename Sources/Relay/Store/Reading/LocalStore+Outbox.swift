import GRDB
import Platform

// What is on its way out, and what was not sent. It is written with `commit`.
extension LocalStore {
    /// What had not ended when it was written last, in the order in which it was sent. What was under way may be stored
    /// on the network already, as its message says.
    package func outbox() async throws(RelayError) -> [KeptPublish] {
        try await reading { try Self.publishes(in: $0) }
    }

    /// Begins a run of this program, which takes over what runs that have ended left in the outbox.
    ///
    /// A message is sent by one run alone: each row names the run whose it is, and it changes hands only here, in a
    /// transaction that no two processes are in at once, away from runs whose lock nobody holds. A run takes its lock
    /// before it names itself here, and names itself before its first row; the system lets the lock go with the
    /// process, and not sooner. So whoever finds the lock free finds a run that sends nothing any more.
    ///
    /// - Parameters:
    ///   - id: the run's name.
    ///   - choice: the identifiers to take over; the others stay for a later run. Nil for all.
    /// - Returns: that the run lives, and what it is to send, oldest first.
    func takeOver(
        as id: String, only choice: Set<String>? = nil
    ) async throws(RelayError) -> (run: StoreLock, kept: [KeptPublish]) {
        try await writing { [path] database in
            let run = try StoreFiles.run(id, of: path)
            let runs = try String.fetchAll(database, sql: "SELECT id FROM runs WHERE id <> ?", arguments: [id])
            for ended in runs where StoreFiles.hasEnded(run: ended, of: path) {
                try database.execute(sql: "DELETE FROM runs WHERE id = ?", arguments: [ended])
                // Should this not be committed, a run without a file has ended all the same.
                StoreFiles.remove(run: ended, of: path)
            }
            try database.execute(sql: "INSERT OR IGNORE INTO runs (id) VALUES (?)", arguments: [id])
            // What no run has was carried over from a damaged store.
            let ownerless = "state <> 2 AND (run IS NULL OR run NOT IN (SELECT id FROM runs))"
            let ids = try choice ?? Set(String.fetchAll(database, sql: "SELECT id FROM outbox WHERE \(ownerless)"))
            for message in ids {
                try database.execute(
                    sql: "UPDATE outbox SET run = ? WHERE id = ? AND \(ownerless)", arguments: [id, message])
            }
            return (run, try Self.publishes("WHERE run = ? AND state <> 2", [id], in: database))
        }
    }

    /// What a run is to send, and what was not sent, oldest first.
    func outbox(of run: String) async throws(RelayError) -> [KeptPublish] {
        try await reading { try Self.publishes("WHERE state = 2 OR run = ?", [run], in: $0) }
    }

    /// What was not sent, oldest first.
    func notSent() async throws(RelayError) -> [KeptPublish] {
        try await reading { try Self.publishes("WHERE state = 2", in: $0) }
    }

    /// Hands a message that was not sent to a run, which is to send it again: to one alone, whoever else asks.
    ///
    /// - Returns: the message as it was; nil when no message under this identifier waits for the person.
    func claim(notSent id: String, for run: String) async throws(RelayError) -> KeptPublish? {
        try await writing { database in
            let publish = try Self.publishes("WHERE id = ? AND state = 2", [id], in: database).first
            try database.execute(
                sql: "UPDATE outbox SET state = 0, run = ? WHERE id = ? AND state = 2", arguments: [run, id])
            return publish
        }
    }

    /// Forgets messages that were not sent.
    ///
    /// - Returns: those that there were.
    func drop(notSent ids: [String]) async throws(RelayError) -> [String] {
        try await writing { database in
            try ids.filter { id in
                try database.execute(sql: "DELETE FROM outbox WHERE id = ? AND state = 2", arguments: [id])
                return database.changesCount > 0
            }
        }
    }

    /// Forgets messages of the outbox, those that wait included: all but those of a run that lives, which sends them.
    ///
    /// - Parameter ids: which; nil for all.
    /// - Returns: those that were forgotten.
    package func dropFromOutbox(_ ids: Set<String>? = nil) async throws(RelayError) -> Set<String> {
        try await writing { [path] database in
            let living = try Self.livingRuns(path, database)
            let dropped = try Self.publishes(in: database).filter { publish in
                let isHeld = publish.state.reason == nil && publish.run.map(living.contains) ?? false
                return !isHeld && ids?.contains(publish.message.id) ?? true
            }.map(\.message.id)
            for id in dropped { try database.execute(sql: "DELETE FROM outbox WHERE id = ?", arguments: [id]) }
            return Set(dropped)
        }
    }

    /// The runs that live, which send what is theirs.
    package func livingRuns() async throws(RelayError) -> Set<String> {
        try await reading { [path] in try Self.livingRuns(path, $0) }
    }

    private static func livingRuns(_ path: String, _ database: Database) throws -> Set<String> {
        try String.fetchSet(database, sql: "SELECT id FROM runs").filter { !StoreFiles.hasEnded(run: $0, of: path) }
    }

    private static func publishes(
        _ condition: String = "", _ arguments: StatementArguments = [], in database: Database
    ) throws -> [KeptPublish] {
        let sql = """
            SELECT id, person, place, payload, may_be_stored, is_unsigned, state, reason, since, run FROM outbox
            \(condition) ORDER BY number
            """
        return try Row.fetchAll(database, sql: sql, arguments: arguments).map { try publish($0) }
    }

    private static func publish(_ row: Row) throws -> KeptPublish {
        let (id, place, since): (String, String, Int64) = try (row[at: 0], row[at: 2], row[at: 8])
        let (payload, mayBeStored, isUnsigned): (Data, Bool, Bool) = try (row[at: 3], row[at: 4], row[at: 5])
        let state = KeptPublish.State(code: try row[at: 6], reason: try row[at: 7])
        let time = Timestamp(milliseconds: since)
        let message = OutboxMessage(
            id: id, destination: Self.destination(try row[at: 1], place), payload: Array(payload),
            mayBeStored: mayBeStored || state == .sending,
            unsigned: isUnsigned ? MessageContent(envelope: payload) : nil)
        return KeptPublish(message: message, state: state, since: time, run: try row[at: 9])
    }

    /// What a row's columns name: a postbox has a person, and a key's place is told from a topic by its beginning.
    private static func destination(_ person: String?, _ place: String) -> Destination {
        if let person { return .postbox(user: person, postbox: place) }
        guard place.hasPrefix(Destination.keyPrefix) else { return .topic(place) }
        return .key(String(place.dropFirst(Destination.keyPrefix.count)))
    }
}
