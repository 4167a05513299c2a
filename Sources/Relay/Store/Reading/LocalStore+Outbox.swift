import GRDB
import Platform

// The outbox and the unsent messages, which are written with `commit`.
extension LocalStore {
    /// All messages that had not ended when last written, in order. Those in flight may be stored on the network
    /// already, as the message says.
    package func outbox() async throws(RelayError) -> [KeptPublish] { try await reading { try Self.publishes(in: $0) } }

    /// Starts a run of this program, which takes over the outbox of runs that have ended.
    ///
    /// Only one run sends a message: each row names its run, and changes it only here, in a transaction that only one
    /// process can be in, and only from a run whose lock is free. A run takes its lock before it is named here, and is
    /// named before its first row; the system releases the lock with the process and not sooner. So a free lock means
    /// that the run no longer sends anything.
    ///
    /// - Parameters:
    ///   - id: The run's name.
    ///   - choice: The identifiers to take over, leaving the others to a later run; nil for all.
    /// - Returns: The run's lock, and the messages to send, oldest first.
    func takeOver(
        as id: String, only choice: Set<String>? = nil
    ) async throws(RelayError) -> (run: StoreLock, kept: [KeptPublish]) {
        try await writing { [path] database in
            let run = try StoreFiles.run(id, of: path)
            let runs = try String.fetchAll(database, sql: "SELECT id FROM runs WHERE id <> ?", arguments: [id])
            for ended in runs where StoreFiles.hasEnded(run: ended, of: path) {
                try database.execute(sql: "DELETE FROM runs WHERE id = ?", arguments: [ended])
                // Even if this is not committed, a run without a file counts as ended.
                StoreFiles.remove(run: ended, of: path)
            }
            try database.execute(sql: "INSERT OR IGNORE INTO runs (id) VALUES (?)", arguments: [id])
            // Rows without a run were rescued from a damaged store.
            let ownerless = "state <> 2 AND (run IS NULL OR run NOT IN (SELECT id FROM runs))"
            let ids = try choice ?? Set(String.fetchAll(database, sql: "SELECT id FROM outbox WHERE \(ownerless)"))
            for message in ids {
                try database.execute(
                    sql: "UPDATE outbox SET run = ? WHERE id = ? AND \(ownerless)", arguments: [id, message])
            }
            return (run, try Self.publishes("WHERE run = ? AND state <> 2", [id], in: database))
        }
    }

    /// The messages that a run is going to send, and the unsent ones, oldest first.
    func outbox(of run: String) async throws(RelayError) -> [KeptPublish] {
        try await reading { try Self.publishes("WHERE state = 2 OR run = ?", [run], in: $0) }
    }

    /// The unsent messages, oldest first.
    func notSent() async throws(RelayError) -> [KeptPublish] {
        try await reading { try Self.publishes("WHERE state = 2", in: $0) }
    }

    /// Assigns an unsent message to a run, which will send it again; only one run gets it.
    ///
    /// - Returns: The message as it was; nil if there is no unsent message with this identifier.
    func claim(notSent id: String, for run: String) async throws(RelayError) -> KeptPublish? {
        try await writing { database in
            let publish = try Self.publishes("WHERE id = ? AND state = 2", [id], in: database).first
            try database.execute(
                sql: "UPDATE outbox SET state = 0, run = ? WHERE id = ? AND state = 2", arguments: [run, id])
            return publish
        }
    }

    /// Deletes unsent messages.
    ///
    /// - Returns: Those that existed.
    func drop(notSent ids: [String]) async throws(RelayError) -> [String] {
        try await writing { database in
            try ids.filter { id in
                try database.execute(sql: "DELETE FROM outbox WHERE id = ? AND state = 2", arguments: [id])
                return database.changesCount > 0
            }
        }
    }

    /// Deletes messages of the outbox, including queued ones, except those of a living run, which sends them.
    ///
    /// - Parameter ids: The messages; nil for all.
    /// - Returns: The deleted ones.
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

    /// The living runs, which send their messages.
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

    /// The destination in a row's columns: a postbox has a person, and the prefix of a key distinguishes it from a
    /// topic.
    private static func destination(_ person: String?, _ place: String) -> Destination {
        if let person { return .postbox(user: person, postbox: place) }
        guard place.hasPrefix(Destination.keyPrefix) else { return .topic(place) }
        return .key(String(place.dropFirst(Destination.keyPrefix.count)))
    }
}
