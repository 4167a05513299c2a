import GRDB

extension LocalStore {
    /// Opens a store, and makes it when there is none.
    ///
    /// A file that is no readable database is renamed to end in `.damaged-` and the day, with its log, so that nothing
    /// is destroyed; a new store takes its place, with what can be read of the other. Several processes may have a
    /// store open; one at a time opens it, by a lock on a file beside it. A store that an earlier version wrote is
    /// brought up to date, and one that a later version wrote is refused. Blocks for as long as the disk takes, and
    /// some seconds when another process is opening the same store. A file that cannot be opened within 20 seconds
    /// counts as damaged, and what cannot be read of a damaged one within another 20 seconds stays in it.
    ///
    /// - Returns: the store, and whether its file was made anew: because there was none, or in place of a damaged one.
    /// - Throws: ``RelayError/storage(_:)`` with the file's name and the cause.
    public static func open(_ location: Location) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        try open(location, clock: SystemTime())
    }

    /// As ``open(_:)``, with the time, the rules of writing, and how long each of the two steps may take.
    package static func open(
        _ location: Location, clock: any Timekeeper, batching: StoreBatching = StoreBatching(),
        within time: Duration = StoreTimeLimit.usual
    ) throws(RelayError) -> (store: LocalStore, isRecreated: Bool) {
        let (store, isRecreated) = try opened(location, clock, batching, within: time)
        store.begin()
        // What a process left that was killed while nothing of it counted any more.
        Task { [weak store] in await store?.emptyBurstFile() }
        return (store, isRecreated)
    }

    private static func opened(
        _ location: Location, _ clock: any Timekeeper, _ batching: StoreBatching, within time: Duration
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
        let hadContent = StoreFiles.bytes(path) > 0
        let limit = StoreTimeLimit(time)
        do {
            let (database, isNew) = try prepared(path, within: limit)
            let store = try LocalStore(database, path: path, use: use, clock: clock, batching: batching)
            limit.lift()
            return (store, isNew)
        } catch {
            // Tables that are not those of any version are damage as well; what may pass is none, unless it took too
            // long.
            let isDamage =
                StoreFailure.isDamage(error) || error is DatabaseError && !StoreFailure.mayPass(error) || limit.isOver
                || isDamaged(path, although: error)
            guard hadContent, isDamage else { throw StoreFailure.error(error, path) }
        }
        guard use.isAlone else {
            throw .storage("\(path): it is damaged, and another program has it open; end that one and start again")
        }
        let day = Timestamp(milliseconds: clock.secondsSince1970 * 1_000).iso8601.prefix(10)
        let aside = try StoreFiles.putAside(path, day: String(day))
        StoreFiles.clearSuspicion(path)
        try StoreFiles.prepare(path)
        do {
            let (database, _) = try prepared(path, within: nil)
            let rescue = StoreSalvage.carry(from: aside, to: database, within: time)
            let store = try LocalStore(
                database, path: path, use: use, rescue: rescue, clock: clock, batching: batching)
            return (store, true)
        } catch { throw StoreFailure.error(error, path) }
    }

    /// Whether a file is damaged that SQLite says it cannot write to, as it says of some damage.
    private static func isDamaged(_ path: String, although error: any Error) -> Bool {
        let codes: [ResultCode] = [.SQLITE_FULL, .SQLITE_READONLY]
        guard let error = error as? DatabaseError, codes.contains(error.resultCode) else { return false }
        let limit = StoreTimeLimit()
        var configuration = Configuration()
        configuration.readonly = true
        configuration.prepareDatabase { limit.watch($0) }
        do {
            let database = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? database.close() }
            return try database.read { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") } != "ok"
        } catch {
            return StoreFailure.isDamage(error)
        }
    }

    /// The database, and whether it has just been made.
    private static func prepared(
        _ path: String, within limit: StoreTimeLimit?
    ) throws -> (database: DatabasePool, isNew: Bool) {
        var configuration = configuration
        if let limit { configuration.prepareDatabase { limit.watch($0) } }
        let pool = try DatabasePool(path: path, configuration: configuration)
        // Also what a process left that ended between making the file and its tables.
        let isNew = try pool.read { try Bool.fetchOne($0, sql: "SELECT NOT EXISTS (SELECT 1 FROM sqlite_master)") }
        try prepare(pool)
        try pool.read { try StoreSchema.checkNumbers(in: $0) }
        // To look at the whole of a large file takes seconds, and is done only with a cause.
        if StoreFiles.isSuspect(path) {
            let finding = try pool.read { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
            guard finding == "ok" else { throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: finding) }
            try checkAll(pool)
            StoreFiles.clearSuspicion(path)
        }
        try pool.read { try StoreSchema.check(StoreSchema.readAtStart, in: $0, like: $0) }
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

    /// Looks at what SQLite's own check does not see: values of another kind, by the tables that a new store has, and
    /// the words of the search.
    private static func checkAll(_ pool: DatabasePool) throws {
        let model = try DatabaseQueue()
        try StoreSchema.migrator.migrate(model)
        let tables = Set(StoreSchema.rescued + StoreSchema.readAtStart + ["messages", "staged"])
        try model.read { model in
            try pool.write { database in
                try StoreSchema.check(tables.sorted(), in: database, like: model)
                for words in ["words", "letter_words"] {
                    try database.execute(sql: "INSERT INTO \(words) (\(words)) VALUES ('integrity-check')")
                }
            }
        }
    }

    /// Carries the log over into the file, and leaves nothing of it behind. Where another process has the store open,
    /// it may do it in our place.
    static func carryOverLog(of path: String) {
        var patience = configuration
        // Less than others wait to write, whom this one would keep from it while they read.
        patience.busyMode = .timeout(0.5)
        guard let last = try? DatabaseQueue(path: path, configuration: patience) else { return }
        // To be the last to close is not enough: whoever asks to read just then has a connection of their own for a
        // moment.
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
        let (isNewer, isWhole) = try database.read {
            (try migrator.hasBeenSuperseded($0), try migrator.hasCompletedMigrations($0))
        }
        if isNewer, !isWhole { throw DatabaseError.damage("a version wrote it that there is not") }
        guard !isNewer else {
            throw RelayError.storage("it was written by a newer version; update this one, or move the file away")
        }
        try database.writeWithoutTransaction { database in
            guard try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") != 2 else { return }
            // So that the file can shrink in small steps. It is written into the file's first page, for which VACUUM
            // has to write the file anew; only a new one, or one of the first version, has another setting. Where
            // another process keeps it from that, the next opening does it.
            try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try? database.execute(sql: "VACUUM")
        }
        try migrator.migrate(database)
    }
}
