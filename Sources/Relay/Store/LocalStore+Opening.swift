import GRDB

extension LocalStore {
    /// Opens a store, and makes it when there is none.
    ///
    /// A file that is no readable database is renamed to end in `.damaged-` and the day, with its log, so that nothing is
    /// destroyed; a new store takes its place, with what can be read of the other. Several processes may have a store
    /// open; one at a time opens it, by a lock on a file beside it. A store that an earlier version wrote is brought up to
    /// date, and one that a later version wrote is refused. Blocks for as long as the disk takes, and some seconds when
    /// another process is opening the same store.
    ///
    /// - Returns: the store, and whether its file was made anew: because there was none, or in place of a damaged one.
    /// - Throws: ``RelayError/storage(_:)`` with the file's name and the cause.
    public static func open(_ location: Location) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        try open(location, clock: SystemTime())
    }

    /// As ``open(_:)``, with the time and the rules of writing.
    package static func open(
        _ location: Location, clock: any Timekeeper, batching: StoreBatching = StoreBatching()
    ) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        let (store, isRecreated) = try opened(location, clock, batching)
        store.begin()
        // What a process left that was killed while nothing of it counted any more.
        Task { [weak store] in await store?.emptyBurstFile() }
        return (store, isRecreated)
    }

    private static func opened(
        _ location: Location, _ clock: any Timekeeper, _ batching: StoreBatching
    ) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        guard case .file(let path) = location else {
            do {
                let database = try DatabaseQueue(configuration: configuration)
                try prepare(database)
                return (try LocalStore(database, path: nil, clock: clock, batching: batching), false)
            } catch { throw StoreFailure.error(error, nil) }
        }
        try StoreFiles.prepare(path)
        // Whoever finds a damaged store must not put the new one aside that another has just made.
        let lock = try StoreFiles.lock(path)
        defer { StoreFiles.unlock(lock) }
        let use = try StoreFiles.use(path)
        do {
            let (database, isNew) = try prepared(path)
            return (try LocalStore(database, path: path, use: use, clock: clock, batching: batching), isNew)
        } catch {
            guard StoreFailure.isDamage(error) else { throw StoreFailure.error(error, path) }
        }
        guard use.isAlone else {
            throw .storage("\(path): it is damaged, and another program has it open; end that one and start again")
        }
        let day = Timestamp(milliseconds: clock.secondsSince1970 * 1_000).iso8601.prefix(10)
        let aside = try StoreFiles.putAside(path, day: String(day))
        StoreFiles.clearSuspicion(path)
        try StoreFiles.prepare(path)
        do {
            let (database, _) = try prepared(path)
            let rescue = StoreSalvage.carry(from: aside, to: database)
            let store = try LocalStore(
                database, path: path, use: use, rescue: rescue, clock: clock, batching: batching)
            return (store, true)
        } catch { throw StoreFailure.error(error, path) }
    }

    /// The database, and whether it has just been made.
    private static func prepared(_ path: String) throws -> (database: DatabasePool, isNew: Bool) {
        let pool = try DatabasePool(path: path, configuration: configuration)
        // Also what a process left that ended between making the file and its tables.
        let isNew = try pool.read { try Bool.fetchOne($0, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master)") }
        try prepare(pool)
        // To look at the whole of a large file takes seconds, and is done only with a cause.
        if StoreFiles.isSuspect(path) {
            let finding = try pool.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
            guard finding == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: finding) }
            StoreFiles.clearSuspicion(path)
        }
        // Only behind a burst. Who cannot write now, for want of room or for somebody who does, reads what is there.
        if try pool.read({ try !Staging(in: $0).isEmpty() }) {
            do {
                try pool.write { try Staging(in: $0).giveUpLost() }
            } catch {
                guard StoreFailure.mayPass(error) else { throw error }
            }
        }
        return (pool, isNew ?? false)
    }

    /// Carries the log over into the file, and leaves nothing of it behind. Where another process has the store open, it
    /// may do it in our place.
    static func carryOverLog(of path: String) {
        var patience = configuration
        // Less than others wait to write, whom this one would keep from it while they read.
        patience.busyMode = .timeout(0.5)
        guard let last = try? DatabaseQueue(path: path, configuration: patience) else { return }
        // To be the last to close is not enough: whoever asks to read just then has a connection of their own for a moment.
        try? last.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try? last.close()
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        // Another process writes for milliseconds at a time.
        configuration.busyMode = .timeout(2)
        configuration.maximumReaderCount = 3
        configuration.label = "parley.store"
        configuration.prepareDatabase { database in
            // The ends of many topics' index are written by turns.
            try database.execute(sql: "PRAGMA cache_size = -8000")
            // What is deleted is gone. It costs nothing that could be measured where nothing is deleted.
            try database.execute(sql: "PRAGMA secure_delete = ON")
        }
        return configuration
    }

    /// Brings the tables up to date, which also finds out whether the file is a database at all.
    private static func prepare(_ database: any DatabaseWriter) throws {
        let migrator = StoreSchema.migrator
        // A store that a newer version has written is left alone.
        guard try database.read({ try !migrator.hasBeenSuperseded($0) }) else {
            throw RelayError.storage("it was written by a newer version; update this one, or move the file away")
        }
        try database.writeWithoutTransaction { database in
            guard try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") != 2 else { return }
            // So that the file can shrink in small steps. It is written into the file's first page, for which VACUUM has
            // to write the file anew; only a new one, or one of the first version, has another setting. Where another
            // process keeps it from that, the next opening does it.
            try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try? database.execute(sql: "VACUUM")
        }
        try migrator.migrate(database)
    }
}
