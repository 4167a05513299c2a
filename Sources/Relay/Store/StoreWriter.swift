import GRDB
import NATS
import NIOConcurrencyHelpers

/// The writing half of a ``LocalStore``: one connection, in a thread of its own.
///
/// SQLite's log is written with `synchronous = NORMAL`: committed data survives the process, however it ends. A power
/// cut may lose the last transactions, messages and cursors alike; the server still has the messages. Messages that a
/// person sent are written with `FULL`, which waits for the disk, because they exist nowhere else.
final class StoreWriter: Sendable {
    private let database: DatabasePool
    private let path: String
    private let clock: any Timekeeper
    /// Marks the file as in use.
    private let use: StoreLock
    private let board = StatusBoard<StoreNews>(nil, bufferedValues: 16)
    private let state: NIOLockedValueBox<State>

    private struct State {
        var intake: StoreIntake
        /// Callers that wait for room.
        var appenders: [Completion<Void>] = []
        /// Callers that wait until this many batches are written.
        var flushers: [(batches: Int, done: Completion<RelayError?>)] = []
        var isClosed = false
        /// Whether the file was not checked for damage yet, which is done once.
        var isTrusted = true
        /// Deletes expired data in the background.
        var upkeep: Task<Void, Never>?
    }

    init(
        _ database: DatabasePool, path: String, use: StoreLock, clock: any Timekeeper, batching: StoreBatching
    ) throws {
        self.database = database
        self.path = path
        self.use = use
        self.clock = clock
        let hasUnsearched = try database.read { try !SearchIndexing.isComplete(in: $0) }
        state = NIOLockedValueBox(State(intake: StoreIntake(rules: batching, hasUnsearched: hasUnsearched)))
    }

    deinit { state.withLockedValue { $0.upkeep }?.cancel() }

    /// Storage failures and recoveries; each is reported once.
    var news: AsyncStream<StoreNews> { board.watch() }

    /// How many messages were dropped since the store was opened.
    var notKept: Int { state.withLockedValue { $0.intake.notKept } }

    // MARK: Adding

    /// Adds messages and changes, waiting for room for as long as the rules allow.
    ///
    /// - Returns: Whether there was room.
    func append(_ messages: [KeptMessage], _ changes: [StoreChange]) async -> Bool {
        let room = Completion<Void>()
        if let isAdded = add(messages, changes, orWait: room) { return isAdded }
        let alarm = Task { [clock] in
            try? await clock.sleep(for: StoreBatching.patience)
            room.fulfil(())
        }
        await room.value()
        alarm.cancel()
        return add(messages, changes, orWait: nil) ?? false
    }

    /// Adds messages and changes if there is room.
    ///
    /// - Returns: Whether there was room; nil if the caller should wait for it.
    @discardableResult
    func add(_ messages: [KeptMessage], _ changes: [StoreChange], orWait appender: Completion<Void>?) -> Bool? {
        let now = clock.now
        let (isAdded, news) = state.withLockedValue { state -> (Bool?, StoreNews?) in
            if !state.isClosed, state.intake.hasRoom {
                state.intake.add(messages, changes, at: now)
                return (true, nil)
            }
            if let appender, !state.isClosed, !state.intake.isInTrouble {
                state.appenders.append(appender)
                return (nil, nil)
            }
            let tooSlow = "\(path): the disk does not keep up; see what else writes to it"
            let news = state.intake.giveUp(messages.count, because: .storage(tooSlow))
            return (false, state.isClosed ? nil : news)
        }
        tell(news)
        if isAdded == true { proceed() }
        return isAdded
    }

    /// Writes everything that waits, and returns once it is stored, whatever arrives meanwhile.
    func flush() async throws(RelayError) {
        let done = Completion<RelayError?>()
        let waits = state.withLockedValue { state -> Bool in
            let batches = state.intake.batches
            guard batches > 0 else { return false }
            state.flushers.append((batches, done))
            state.intake.hurry()
            return true
        }
        guard waits else { return }
        proceed()
        if let error = await done.value() { throw error }
    }

    /// Reports, once, that a commit failed and its data stays in memory.
    func tellFailing(_ error: RelayError) { tell(state.withLockedValue { $0.intake.tell(error) }) }

    /// Reports that all commits have succeeded by now.
    func tellRecovered() { tell(state.withLockedValue { $0.intake.recovered() }) }

    private func tell(_ news: StoreNews?) {
        if let news { board.post(news) }
    }

    /// Accepts nothing more, and writes everything that waits.
    ///
    /// - Returns: The error if that failed.
    func stop() async -> RelayError? {
        state.withLockedValue { state in
            state.isClosed = true
            state.upkeep?.cancel()
        }
        do throws(RelayError) { try await flush() } catch { return error }
        return nil
    }

    /// Releases the closed file.
    func end() {
        use.end()
        board.finish()
    }

    /// Ends a task with the store, replacing an earlier one.
    func keep(_ upkeep: Task<Void, Never>) {
        let isOver = state.withLockedValue { state -> Bool in
            state.upkeep?.cancel()
            state.upkeep = upkeep
            return state.isClosed
        }
        if isOver { upkeep.cancel() }
    }

    // MARK: Writing

    /// Takes the next step, and again whenever one is due. On opening, it continues an earlier run's indexing.
    func proceed() {
        let now = clock.now
        switch state.withLockedValue({ $0.intake.next(at: now) }) {
        case .nothing: break
        case .wait(let moment):
            Task { [weak self, clock] in
                try? await clock.sleep(until: moment)
                self?.proceed()
            }
        case .write(let batch): Task { await write(batch) }
        case .index: Task { await addWords() }
        }
    }

    private func write(_ batch: StoreIntake.Batch) async {
        var (refused, cause): (Int, (any Error)?) = (0, nil)
        do { refused = try await transaction { try batch.write(to: $0) } } catch { cause = error }
        let now = clock.now
        let error = cause.map { StoreFailure.noted($0, path) }
        let (news, appenders, flushers) = state.withLockedValue {
            state -> (StoreNews?, [Completion<Void>], [Completion<RelayError?>]) in
            var news: StoreNews?
            if let cause, let error {
                news = state.intake.failed(because: error, mayPass: StoreFailure.mayPass(cause), at: now)
            } else {
                news = state.intake.written(refused: refused, at: now)
            }
            var appenders: [Completion<Void>] = []
            if state.intake.hasRoom || state.intake.isInTrouble { swap(&appenders, &state.appenders) }
            for index in state.flushers.indices { state.flushers[index].batches -= 1 }
            let ready = state.flushers.partition { error != nil || $0.batches == 0 }
            let flushers = state.flushers[ready...].map(\.done)
            state.flushers.removeSubrange(ready...)
            return (news, appenders, flushers)
        }
        tell(news)
        for appender in appenders { appender.fulfil(()) }
        for flusher in flushers { flusher.fulfil(error) }
        proceed()
    }

    private func addWords() async {
        // After a failure the next batch triggers it again; until then a search examines the missing messages.
        let hasMore = (try? await write { try SearchIndexing.step(in: $0) }) ?? false
        state.withLockedValue { $0.intake.indexed(hasMore: hasMore && !$0.isClosed) }
        proceed()
    }

    /// Writes in a transaction of its own, at once.
    ///
    /// - Parameter isForced: Whether to force it onto the disk before returning.
    func write<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        do { return try await transaction(isForced: isForced, work) } catch { throw StoreFailure.noted(error, path) }
    }

    private func transaction<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        // GRDB's asynchronous calls would roll back in a cancelled task, losing what was typed.
        let outcome = Completion<Result<Value, any Error>>()
        database.asyncWriteWithoutTransaction { database in
            outcome.fulfil(Result { try Self.transaction(in: database, isForced: isForced, work) })
        }
        do {
            return try await outcome.value().get()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            // SQLite also reports this for some damage, such as a page number far beyond the file.
            guard state.withLockedValue({ exchange(&$0.isTrusted, with: false) }) else { throw error }
            let finding = try await database.writeWithoutTransaction {
                try String.fetchOne($0, sql: "PRAGMA quick_check(1)")
            }
            throw finding == "ok" ? error : DatabaseError.damage(finding ?? "nothing to check")
        }
    }

    private static func transaction<Value>(
        in database: Database, isForced: Bool, _ work: (Database) throws -> Value
    ) throws -> Value {
        // This cannot be changed within a transaction.
        if isForced { try database.execute(sql: "PRAGMA synchronous = FULL") }
        defer {
            if isForced { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
        }
        try database.beginTransaction(.immediate)
        do {
            let value = try work(database)
            try database.commit()
            return value
        } catch {
            // The failure may have rolled it back.
            if database.isInsideTransaction { try? database.rollback() }
            throw error
        }
    }
}

extension StoreIntake.Batch {
    /// Writes the batch, within the caller's transaction.
    ///
    /// - Returns: How many of its messages do not fit into a store.
    func write(to database: Database) throws -> Int {
        let refused = try MessageWriting.write(parts, to: database)
        for change in changes { try change.write(to: database) }
        return refused
    }
}
