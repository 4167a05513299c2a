import GRDB

extension LocalStore {
    /// Opens the store in a file, and makes it when there is none.
    ///
    /// A file that is no readable database, or has the tables of another version, is renamed to end in `.damaged-` and
    /// the day, with its log, so that nothing is destroyed; a new store takes its place, with what a person typed and
    /// chose as far as it can be read. Several processes may have a store open; one at a time opens it, by a lock on a
    /// file beside it. Blocks for as long as the disk takes, and some seconds when another process is opening the same
    /// store. A file that cannot be opened within 20 seconds counts as damaged, and what cannot be read of a damaged
    /// one within another 20 seconds stays in it.
    ///
    /// A store that is there is read as it is where it, or its folder, may not be written.
    ///
    /// - Throws: ``RelayError/storage(_:)`` with the file's name and the cause.
    public static func open(_ path: String) throws(RelayError) -> LocalStore {
        try open(path, clock: SystemTime())
    }

    /// As ``open(_:)`` for a client, which goes on without a store: with how it went, also where there is none.
    static func openIfPossible(_ path: String) -> (LocalStore?, Opening) {
        do throws(RelayError) {
            let store = try open(path)
            return (store, store.opening)
        } catch { return (nil, .failed(error)) }
    }

    /// As ``open(_:)``, with the time, the rules of writing, and how long each of the two steps may take.
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
        // Whoever finds a damaged store must not put the new one aside that another has just made.
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
            // What may pass is no damage, unless it took too long. That a file may not be written was found out above;
            // SQLite says so of a damaged first page, too.
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

    /// The database, and whether it has just been made.
    private static func prepared(
        _ path: String, within limit: StoreTimeLimit?
    ) throws -> (database: DatabasePool, isNew: Bool) {
        let pool = try DatabasePool(path: path, configuration: configuration(within: limit))
        // Also what a process left that ended between making the file and its tables.
        let isNew = try pool.read { database in
            let hasTables = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master)")
            return try hasTables == false && Int.fetchOne(database, sql: "PRAGMA user_version") == 0
        }
        if isNew {
            // So that the file can shrink in small steps; it is written into the file's first page.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; VACUUM") }
            try pool.write { try StoreSchema.make(in: $0) }
        }
        try pool.read { try StoreSchema.check($0) }
        // Damage to the first page may forbid to write. Somebody who writes now does not.
        do { try pool.write { _ in } } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {}
        return (pool, isNew)
    }

    /// The database where it may not be written.
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
            // The ends of many topics' index are written by turns. What is deleted is gone, which costs nothing that
            // could be measured where nothing is deleted.
            try database.execute(sql: "PRAGMA cache_size = -8000; PRAGMA secure_delete = ON")
            database.add(function: StoreSchema.matches)
            limit?.watch(database)
        }
        return configuration
    }

    /// Carries the log over into the file once nobody here writes any more, so that the file alone is the whole store.
    /// Where another process has the store open, it may do it in our place.
    static func carryOverLog(of path: String) {
        var configuration = Configuration()
        // Less than others wait to write, whom this one would keep from it while they read.
        configuration.busyMode = .timeout(0.5)
        guard let last = try? DatabaseQueue(path: path, configuration: configuration) else { return }
        try? last.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try? last.close()
    }
}
