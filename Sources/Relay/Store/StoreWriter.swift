import GRDB
import NATS
import NIOConcurrencyHelpers

/// The writing half of a ``LocalStore``: one connection, in a thread of its own. A store on a disk that takes nothing
/// has none.
///
/// SQLite's log is written with `synchronous = NORMAL`: what is committed outlives the process, however that ends,
/// since the system has it. A power cut may take the last transactions, with their messages and their cursors; the
/// server still has the messages. What a person sent is written with `FULL`, which waits for the disk: nobody else has
/// it.
final class StoreWriter: Sendable {
    private let database: DatabasePool
    private let path: String
    private let clock: any Timekeeper
    /// That the file is in use.
    private let use: StoreLock
    private let board = StatusBoard<StoreNews>(nil, bufferedValues: 16)
    private let state: NIOLockedValueBox<State>

    private struct State {
        var intake: StoreIntake
        /// Who waits for room.
        var appenders: [Completion<Void>] = []
        /// Who waits until so many batches are written.
        var flushers: [(batches: Int, done: Completion<RelayError?>)] = []
        /// Whether nothing is taken in any more.
        var isClosed = false
        /// Whether the file has not been looked at for damage yet, which is done once.
        var isTrusted = true
        /// What deletes in the background what is not to be kept.
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

    /// What cannot be kept, and that it is kept again, each once.
    var news: AsyncStream<StoreNews> { board.watch() }

    /// How many messages were not kept since the store was opened.
    var notKept: Int { state.withLockedValue { $0.intake.notKept } }

    // MARK: Taking in

    /// Adds what there is room for, and waits for room as long as the rules' patience lasts.
    ///
    /// - Returns: whether there was room.
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

    /// Adds what there is room for.
    ///
    /// - Returns: whether there was room; nil when the caller is to wait for it.
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

    /// Writes what waits, and returns when it is kept, whatever comes meanwhile.
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

    /// Tells, once, that what was committed could not be kept and stays in memory.
    func tellFailing(_ error: RelayError) { tell(state.withLockedValue { $0.intake.tell(error) }) }

    /// Tells that what could not be committed is kept by now.
    func tellRecovered() { tell(state.withLockedValue { $0.intake.recovered() }) }

    private func tell(_ news: StoreNews?) {
        if let news { board.post(news) }
    }

    /// Takes in nothing more, and writes what waits.
    ///
    /// - Returns: why that could not be written.
    func stop() async -> RelayError? {
        state.withLockedValue { state in
            state.isClosed = true
            state.upkeep?.cancel()
        }
        do throws(RelayError) { try await flush() } catch { return error }
        return nil
    }

    /// Lets go of the file, which is closed.
    func end() {
        use.end()
        board.finish()
    }

    /// Has a task end with the store, in place of an earlier one.
    func keep(_ upkeep: Task<Void, Never>) {
        let isOver = state.withLockedValue { state -> Bool in
            state.upkeep?.cancel()
            state.upkeep = upkeep
            return state.isClosed
        }
        if isOver { upkeep.cancel() }
    }

    // MARK: Writing

    /// Does what is due now, and looks again when something will be. At the opening that is to add words for what an
    /// earlier run of the program did not come to.
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
            var flushers: [Completion<RelayError?>] = []
            for index in state.flushers.indices { state.flushers[index].batches -= 1 }
            let ready = state.flushers.partition { error != nil || $0.batches == 0 }
            flushers = state.flushers[ready...].map(\.done)
            state.flushers.removeSubrange(ready...)
            return (news, appenders, flushers)
        }
        tell(news)
        for appender in appenders { appender.fulfil(()) }
        for flusher in flushers { flusher.fulfil(error) }
        proceed()
    }

    private func addWords() async {
        // Where it fails the next batch brings it back; until then a search looks at what the words lack.
        let hasMore = (try? await write { try SearchIndexing.step(in: $0) }) ?? false
        state.withLockedValue { $0.intake.indexed(hasMore: hasMore && !$0.isClosed) }
        proceed()
    }

    /// Writes in a transaction of its own, at once.
    ///
    /// - Parameter isForced: whether it is on the disk when the call returns.
    func write<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        do { return try await transaction(isForced: isForced, work) } catch { throw StoreFailure.noted(error, path) }
    }

    private func transaction<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        // A cancelled task must not take back what was typed, as it would with GRDB's asynchronous calls.
        let outcome = Completion<Result<Value, any Error>>()
        database.asyncWriteWithoutTransaction { database in
            outcome.fulfil(Result { try Self.transaction(in: database, isForced: isForced, work) })
        }
        do {
            return try await outcome.value().get()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            // SQLite says this of some damage, too: of a number of a page that is far beyond the file.
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
        // It cannot be changed within a transaction.
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
            // It may have been rolled back with what failed.
            if database.isInsideTransaction { try? database.rollback() }
            throw error
        }
    }
}

extension StoreIntake.Batch {
    /// Writes the batch, within a transaction of the caller's.
    ///
    /// - Returns: how many of its messages have no place in a store.
    func write(to database: Database) throws -> Int {
        let refused = try MessageWriting.write(parts, to: database)
        for change in changes { try change.write(to: database) }
        return refused
    }
}
