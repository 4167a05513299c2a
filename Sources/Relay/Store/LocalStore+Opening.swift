import GRDB

extension LocalStore {
    /// Opens the store in a file, or creates it.
    ///
    /// A file that is no readable database, or has the tables of another version, is renamed to end in `.damaged-` and
    /// the day, together with its log, so that nothing is destroyed; a new store takes its place, with what a person
    /// typed and chose as far as it is readable. Several processes may have a store open; a lock on a separate file
    /// lets one at a time open it. Blocks for as long as the disk takes, and for some seconds while another process
    /// opens the same store. A file that cannot be opened within 20 seconds counts as damaged, and rescuing data from a
    /// damaged one also takes at most 20 seconds.
    ///
    /// A store that may not be written, or whose folder may not, is opened read-only.
    ///
    /// - Throws: ``RelayError/storage(_:)`` with the file's name and the cause.
    public static func open(_ path: String) throws(RelayError) -> LocalStore { try open(path, clock: SystemTime()) }

    /// As ``open(_:)`` for a client, which continues without a store: also returns the outcome.
    static func openIfPossible(_ path: String) -> (LocalStore?, Opening) {
        do throws(RelayError) {
            let store = try open(path)
            return (store, store.opening)
        } catch { return (nil, .failed(error)) }
    }

    /// As ``open(_:)``, with the clock, the rules of writing, and the time limit of each of the two steps.
    package static func open(
        _ path: String, clock: any Timekeeper, batching: StoreBatching = StoreBatching(),
        within time: Duration = StoreTimeLimit.usual
    ) throws(RelayError) -> LocalStore {
        let limit = StoreTimeLimit(time)
        if StoreFiles.isReadOnly(path) {
            do {
                let database = try readOnly(path, within: limit)
                limit.lift()
                return LocalStore(database, path: path, opening: .readOnly(path: path), writer: nil, clock: clock)
            } catch { throw StoreFailure.error(error, path) }
        }
        try StoreFiles.prepare(path)
        // Two processes that find a damaged store must not put aside each other's new one.
        let lock = try StoreFiles.lock(path)
        defer { lock.end() }
        let use = try StoreFiles.use(path)
        let hadContent = StoreFiles.bytes(path) > 0
        func opened(_ database: DatabasePool, _ opening: Opening) throws -> LocalStore {
            let writer = try StoreWriter(database, path: path, use: use, clock: clock, batching: batching)
            return LocalStore(database, path: path, opening: opening, writer: writer, clock: clock)
        }
        do {
            if StoreFiles.isSuspect(path) { throw DatabaseError.damage("damage was found in use") }
            let (database, isNew) = try prepared(path, within: limit)
            let store = try opened(database, isNew ? .made : .found)
            limit.lift()
            store.writer?.proceed()
            return store
        } catch {
            // A temporary failure is no damage, unless it took too long. Read-only files were handled above, so that
            // SQLite's error for them here means a damaged first page.
            let isForbidden = (error as? DatabaseError)?.extendedResultCode == .SQLITE_READONLY
            guard hadContent, !StoreFailure.mayPass(error) || limit.isOver || isForbidden else {
                throw StoreFailure.error(error, path)
            }
        }
        guard use.isAlone else {
            throw .storage("\(path): it is damaged, and another program has it open; end that one and start again")
        }
        let day = Timestamp(milliseconds: clock.secondsSince1970 * 1_000).iso8601.prefix(10)
        let aside = try StoreFiles.putAside(path, day: String(day))
        try StoreFiles.prepare(path)
        do {
            let (database, _) = try prepared(path, within: nil)
            let entries = StoreRescue.carry(from: aside, to: database, within: time)
            return try opened(database, .rescued(StoreRescue(path: aside, entries: entries)))
        } catch { throw StoreFailure.error(error, path) }
    }

    /// The database, and whether it was just created.
    private static func prepared(
        _ path: String, within limit: StoreTimeLimit?
    ) throws -> (database: DatabasePool, isNew: Bool) {
        let pool = try DatabasePool(path: path, configuration: configuration(within: limit))
        // Covers a process that ended between creating the file and its tables.
        let isNew = try pool.read { database in
            let hasTables = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master)")
            return try hasTables == false && Int.fetchOne(database, sql: "PRAGMA user_version") == 0
        }
        if isNew {
            // Lets the file shrink in small steps; this is stored in the file's first page.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
            try pool.write { try StoreSchema.make(in: $0) }
        }
        try pool.read { try StoreSchema.check($0) }
        // Damage to the first page may prevent writing. Another process that is writing now is no damage.
        do { try pool.write { _ in } } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
        return (pool, isNew)
    }

    /// The database, read-only.
    private static func readOnly(_ path: String, within limit: StoreTimeLimit) throws -> DatabasePool {
        var configuration = configuration(within: limit)
        configuration.readonly = true
        let pool = try DatabasePool(path: StoreFiles.nameForReading(path), configuration: configuration)
        try pool.read { try StoreSchema.check($0) }
        return pool
    }

    private static func configuration(within limit: StoreTimeLimit?) -> Configuration {
        var configuration = Configuration()
        // Another process writes for milliseconds at a time.
        configuration.busyMode = .timeout(2)
        configuration.maximumReaderCount = 3
        configuration.label = "parley.store"
        configuration.prepareDatabase { database in
            // The ends of many topics' indices are written in turn. Overwriting deleted data has no measurable cost
            // while nothing is deleted.
            try database.execute(sql: "PRAGMA cache_size = -8000; PRAGMA secure_delete = ON")
            database.add(function: StoreSchema.matches)
            limit?.watch(database)
        }
        return configuration
    }

    /// Checkpoints the log after the last write, so that the file alone is the entire store. If another process has the
    /// store open, it may do so instead.
    static func carryOverLog(of path: String) {
        var configuration = Configuration()
        // Shorter than other writers wait, which this would block while there are readers.
        configuration.busyMode = .timeout(0.5)
        guard let last = try? DatabaseQueue(path: path, configuration: configuration) else { return }
        try? last.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try? last.close()
    }
}
