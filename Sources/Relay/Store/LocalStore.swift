import GRDB
import NATS
import NIOConcurrencyHelpers
import NIOPosix

/// What this client keeps on this machine, in an SQLite database: messages, letters, the outbox, and what the person
/// was at. It opens before the network is touched, so that what is kept can be shown while offline (Nexconn's and
/// RongCloud's database).
///
/// One connection writes, in its own thread; readers have others and see the state of their beginning, so that none
/// waits for the writer. What arrives is written in batches, so that it may be some 100 ms until a reader sees it; what
/// a person has read or typed is written at once, with the messages before it. Another process may use the same file at
/// the same time.
///
/// SQLite's log is written with `synchronous = NORMAL`: what is committed outlives the process, however that ends,
/// since the system has it. A power cut may take the last transactions, with their messages and their cursors; the
/// server still has the messages. What a person sent is written with `FULL`, which waits for the disk: nobody else has
/// it.
public final class LocalStore: Sendable {
    /// Where a client's store is.
    public enum Location: Hashable, Sendable {
        /// Nowhere: nothing outlives the client.
        case memory
        /// In this file, one for each user of a network. Its folder is made when it is missing; both are the owner's
        /// alone.
        case file(String)
    }

    /// How opening went.
    public struct Opening: Hashable, Sendable {
        /// Whether the file was made anew: there was none, or a damaged one was put aside, so that what is wanted has
        /// to be loaded from the network (Nexconn's `isRecreated`). False where nothing is kept.
        public var isRecreated: Bool
        /// What was read of a damaged store, which was put aside; nil where there was none.
        public var rescue: StoreRescue?
        /// Why there is no store; the connection works without it.
        public var error: RelayError?

        /// Describes an opening.
        public init(isRecreated: Bool, rescue: StoreRescue? = nil, error: RelayError? = nil) {
            self.isRecreated = isRecreated
            self.rescue = rescue
            self.error = error
        }
    }

    /// What was read of a damaged store at the opening; nil where there was none.
    public let rescue: StoreRescue?

    let database: DatabasePool
    let path: String
    let clock: any Timekeeper
    /// That the file is in use.
    private let use: StoreLock
    private let board = StatusBoard<StoreNews>(nil, bufferedValues: 16)
    private let state: NIOLockedValueBox<State>

    private struct State {
        var intake: StoreIntake
        /// Who waits for room.
        var appenders: [Completion<Void>] = []
        /// Who waits until all is written.
        var flushers: [Completion<RelayError?>] = []
        /// Whether nothing is taken in any more.
        var isClosed = false
        /// How many read.
        var readers = 0
        /// Who waits for the last reader; nobody begins to read any more.
        var closer: Completion<Void>?
        /// Whether the file has not been looked at for damage yet, which is done once.
        var isTrusted = true
        /// What deletes in the background what is not to be kept.
        var upkeep: Task<Void, Never>?
    }

    deinit { state.withLockedValue { $0.upkeep }?.cancel() }

    init(
        _ database: DatabasePool, path: String, use: StoreLock, rescue: StoreRescue? = nil, clock: any Timekeeper,
        batching: StoreBatching
    ) throws {
        self.database = database
        self.path = path
        self.use = use
        self.rescue = rescue
        self.clock = clock
        let hasUnsearched = try database.read {
            try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM unsearched)") ?? false
        }
        state = NIOLockedValueBox(State(intake: StoreIntake(rules: batching, hasUnsearched: hasUnsearched)))
    }

    /// What cannot be kept, and that it is kept again, each once. A new reader hears the last of it first.
    public var news: AsyncStream<StoreNews> { board.watch() }

    /// How many messages were not kept since the store was opened.
    var notKept: Int { state.withLockedValue { $0.intake.notKept } }

    // MARK: Keeping

    /// Keeps messages that arrived, and what they change, in the next batch. What is there already stays as it is.
    ///
    /// Returns at once as long as there is room. While the writer is behind it waits for room, so that what follows
    /// stays on the server, but not longer than the rules' patience; while the disk takes nothing, it does not wait.
    /// What then finds no room is not kept, with its changes, and ``news`` tells so.
    ///
    /// - Parameters:
    ///   - messages: what arrived.
    ///   - changes: what is written behind the messages: a cursor that has passed them, say.
    /// - Returns: false when there was no room, so that nothing of it is kept.
    @discardableResult
    package func append(_ messages: [KeptMessage], _ changes: [StoreChange] = []) async -> Bool {
        let room = Completion<Void>()
        if let isAdded = add(messages, changes, orWait: room) { return isAdded }
        let alarm = Task { [clock, patience = state.withLockedValue { $0.intake.rules.patience }] in
            try? await clock.sleep(for: patience)
            room.fulfil(())
        }
        await room.value()
        alarm.cancel()
        return add(messages, changes, orWait: nil) ?? false
    }

    /// As ``append(_:_:)``, for a caller that does not wait for room.
    func offer(_ changes: [StoreChange]) { _ = add([], changes, orWait: nil) }

    /// Adds what there is room for.
    ///
    /// - Returns: whether there was room; nil when the caller is to wait for it.
    private func add(
        _ messages: [KeptMessage], _ changes: [StoreChange], orWait appender: Completion<Void>?
    ) -> Bool? {
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

    /// Writes what waits, and returns when it is kept.
    ///
    /// - Throws: ``RelayError/storage(_:)`` when it could not be written; it still waits then.
    package func flush() async throws(RelayError) {
        let done = Completion<RelayError?>()
        let waits = state.withLockedValue { state -> Bool in
            guard !state.intake.isEmpty else { return false }
            state.flushers.append(done)
            state.intake.hurry()
            return true
        }
        guard waits else { return }
        proceed()
        if let error = await done.value() { throw error }
    }

    /// Keeps what a person typed or did, and returns when it is committed: no end of the process loses it then. What is
    /// on its way out is forced onto the disk, too.
    ///
    /// - Throws: ``RelayError/storage(_:)``; nothing of it is kept then.
    package func commit(_ changes: [StoreChange]) async throws(RelayError) {
        try await writing(isForced: changes.contains(where: \.isPrecious)) { database in
            for change in changes { try change.write(to: database) }
        }
    }

    /// Tells, once, that what was committed could not be kept and stays in memory.
    func tellFailing(_ error: RelayError) { tell(state.withLockedValue { $0.intake.tell(error) }) }

    /// Tells that what could not be committed is kept by now.
    func tellRecovered() { tell(state.withLockedValue { $0.intake.recovered() }) }

    private func tell(_ news: StoreNews?) {
        if let news { board.post(news) }
    }

    /// Writes what waits and lets go of the file. What is appended afterwards is not kept.
    ///
    /// - Throws: ``RelayError/storage(_:)`` when what waited could not be written; the file is let go of all the same.
    package func close() async throws(RelayError) {
        defer { board.finish() }
        state.withLockedValue { state in
            state.isClosed = true
            state.upkeep?.cancel()
        }
        var failure: RelayError?
        do throws(RelayError) { try await flush() } catch { failure = error }
        // GRDB's pool must not be closed while somebody asks it for a connection.
        let last = Completion<Void>()
        let isRead = state.withLockedValue { state in
            state.closer = last
            return state.readers > 0
        }
        if isRead { await last.value() }
        // Disks may be slow, and the pool of tasks is small.
        _ = try? await NIOThreadPool.singleton.runIfActive { [database, path] in
            try? database.close()
            Self.carryOverLog(of: path)
        }
        use.end()
        if let failure { throw failure }
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
        let result: Result<Int, any Error>
        do { result = .success(try await write { try batch.write(to: $0) }) } catch { result = .failure(error) }
        let now = clock.now
        let error = result.failure.map { failure($0) }
        let (news, appenders, flushers) = state.withLockedValue {
            state -> (StoreNews?, [Completion<Void>], [Completion<RelayError?>]) in
            var news: StoreNews?
            switch result {
            case .success(let refused): news = state.intake.written(refused: refused, at: now)
            case .failure(let cause):
                news = error.flatMap {
                    state.intake.failed(because: $0, mayPass: StoreFailure.mayPass(cause), at: now)
                }
            }
            var appenders: [Completion<Void>] = []
            if state.intake.hasRoom || state.intake.isInTrouble { swap(&appenders, &state.appenders) }
            var flushers: [Completion<RelayError?>] = []
            if state.intake.isEmpty || error != nil { swap(&flushers, &state.flushers) }
            return (news, appenders, flushers)
        }
        tell(news)
        for appender in appenders { appender.fulfil(()) }
        for flusher in flushers { flusher.fulfil(error) }
        proceed()
    }

    private func addWords() async {
        // Where it fails the next batch brings it back; until then a search looks at what the words lack.
        let hasMore = (try? await writing { try SearchIndexing.step(in: $0) }) ?? false
        state.withLockedValue { $0.intake.indexed(hasMore: hasMore && !$0.isClosed) }
        proceed()
    }

    /// Writes in a transaction of its own, at once.
    ///
    /// - Parameter isForced: whether it is on the disk when the call returns.
    @discardableResult
    func writing<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        do { return try await write(isForced: isForced, work) } catch { throw failure(error) }
    }

    private func write<Value: Sendable>(
        isForced: Bool = false, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        // A task that is cancelled meanwhile must not take back what was typed.
        let writing = Task { [database] in
            try await database.writeWithoutTransaction { try Self.transaction(in: $0, isForced: isForced, work) }
        }
        do { return try await writing.value } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            // SQLite says this of some damage, too: of a number of a page that is far beyond the file.
            guard state.withLockedValue({ exchange(&$0.isTrusted, with: false) }) else { throw error }
            let finding = try await read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
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

    // MARK: Reading

    /// Reads, beside whoever writes.
    func reading<Value: Sendable>(
        _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws(RelayError) -> Value {
        do { return try await read(work) } catch { throw failure(error) }
    }

    private func read<Value: Sendable>(_ work: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let isOpen = state.withLockedValue { state in
            if state.closer == nil { state.readers += 1 }
            return state.closer == nil
        }
        guard isOpen else { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the store is closed") }
        defer {
            let closer = state.withLockedValue { state in
                state.readers -= 1
                return state.readers == 0 ? state.closer : nil
            }
            closer?.fulfil(())
        }
        return try await database.read(work)
    }

    /// What a caller is told of a failure. Where it is damage, it is remembered, so that the next opening puts the file
    /// aside.
    private func failure(_ error: any Error) -> RelayError {
        if StoreFailure.isDamage(error) { StoreFiles.suspect(path) }
        return StoreFailure.error(error, path)
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

extension Result {
    /// Why there is no success.
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
