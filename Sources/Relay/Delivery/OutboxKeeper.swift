import NIOConcurrencyHelpers
import NIOPosix

/// Keeps in a local store what the outbox has accepted until it has ended, so that the end of the process loses nothing
/// of it: drives ``OutboxJournal``.
///
/// A message is committed before the call that accepts it returns, and before it leaves. Its row says at every moment
/// whether it may have been sent: a message that is accepted while the outbox is closed counts as never sent until the
/// outbox opens, which is written before anything leaves; all others count as sent from their first moment. So whoever
/// takes a row over looks for its message where the server may have it, and there alone. That a message has ended is
/// written a moment later, many together; at an end of the process before that, the message is found on the network.
///
/// While the store is being opened, and while the disk takes nothing, messages wait in memory as without a store.
final class OutboxKeeper: Sendable {
    private struct State {
        var journal: OutboxJournal
        /// Where to write; nil before the store is open and when this run keeps nothing.
        var store: LocalStore?
        /// That this run lives; nil when it has no rows.
        var run: StoreRun?
        /// Whether nothing is kept any more: there is no store, or the client is gone.
        var isOff = false
        /// Whether something will write soon.
        var isWriteDue = false
        /// Whether something writes now, or at once.
        var isHurried = false
    }

    /// Held while a message is accepted, the outbox opens, or something is written: rows have the order of the outbox,
    /// and none leaves before its row says so. No lock but the publisher's and this class's own is taken inside.
    private let order = NIOLock()
    private let state: NIOLockedValueBox<State>
    private let clock: any Timekeeper

    /// How long the news that messages have ended waits for more of it.
    private static let delay = Duration.milliseconds(100)

    /// What of earlier runs' messages is sent; nil for all.
    private let choice: Set<String>?

    /// Nil where nothing outlives the client.
    ///
    /// - Parameter choice: the identifiers of those that earlier runs left and this one is to send; nil for all.
    init?(for location: LocalStore.Location, choice: Set<String>? = nil, clock: any Timekeeper) {
        guard case .file = location else { return nil }
        self.clock = clock
        self.choice = choice
        state = NIOLockedValueBox(State(journal: OutboxJournal(run: RandomText.uuid())))
    }

    // MARK: The store

    /// The store is open: takes over what runs that have ended left there, and writes what was accepted meanwhile.
    /// Blocks for as long as the disk takes.
    ///
    /// - Parameter restore: puts messages in front of all others. Called at most once.
    func open(_ store: LocalStore, restore: ([OutboxMessage]) -> Void) {
        inOrder { openInOrder(store, restore) }
    }

    private func openInOrder(_ store: LocalStore, _ restore: ([OutboxMessage]) -> Void) {
        let (id, isOff) = state.withLockedValue { ($0.journal.run, $0.isOff) }
        guard let path = store.path, !isOff else { return }
        do throws(RelayError) {
            let run = try StoreFiles.run(id, of: path)
            let kept = try store.takeOver(as: run, only: choice)
            let isWanted = state.withLockedValue { state -> Bool in
                // What was taken over is another run's next time, as the lock ends here.
                guard !state.isOff else { return false }
                state.store = store
                state.run = run
                state.journal.tookOver(kept)
                return true
            }
            guard isWanted else { return }
            restore(kept.map { $0.message })
            writeInOrder()
        } catch {
            turnOff()
            store.tellFailing(error)
        }
    }

    /// Nothing is kept from now on, and the run ends: what is written of it is another run's.
    func turnOff() {
        // The lock is let go outside.
        let run = state.withLockedValue { state -> StoreRun? in
            let run = state.run
            state.isOff = true
            state.store = nil
            state.run = nil
            return run
        }
        withExtendedLifetime(run) {}
    }

    // MARK: What the outbox does

    /// Runs `body`, in which a message is accepted or the outbox opens, alone.
    func inOrder<Value>(_ body: () -> Value) -> Value { order.withLock(body) }

    /// Keeps a message that is about to be accepted. To be called in order.
    ///
    /// - Parameter mayLeave: whether the outbox is open.
    func accept(_ message: OutboxMessage, mayLeave: Bool) {
        let isPossible = state.withLockedValue { state -> Bool in
            guard !state.isOff else { return false }
            state.journal.accepted(message, mayLeave: mayLeave, since: .now)
            // In trouble the next try is due already, and the caller does not wait for it.
            return !state.journal.isInTrouble
        }
        if isPossible { writeInOrder() }
    }

    /// Notes, before anything leaves, that what waits may have been sent. To be called in order.
    func leave() {
        let isPossible = state.withLockedValue { state -> Bool in
            guard !state.isOff else { return false }
            state.journal.leave()
            return !state.journal.isInTrouble
        }
        if isPossible { writeInOrder() }
    }

    /// A message has ended.
    func ended(_ resolution: PublishResolution) {
        var isStored = false
        if case .acknowledged = resolution.outcome { isStored = true }
        note(atOnce: !isStored) { $0.ended(resolution) }
    }

    /// A message has ended and is not to be kept, however it ended.
    func forget(_ id: String) { note(atOnce: false) { $0.forget(id) } }

    /// A message waits for the person after all.
    func notSent(_ id: String, because reason: String, mayBeStored: Bool) {
        note(atOnce: true) { $0.notSent(id, because: reason, mayBeStored: mayBeStored) }
    }

    /// A message that the outbox did not take waits for the person.
    func refused(_ message: OutboxMessage, because reason: String) {
        note(atOnce: true) { $0.refused(message, because: reason, since: .now) }
    }

    private func note(atOnce isUrgent: Bool, _ change: (inout OutboxJournal) -> Void) {
        let isPossible = state.withLockedValue { state -> Bool in
            guard !state.isOff else { return false }
            change(&state.journal)
            return !state.journal.isInTrouble
        }
        guard isPossible else { return }
        if isUrgent { hurry() } else { write(after: Self.delay) }
    }

    // MARK: What was not sent

    /// What was not sent, oldest first; nil where nothing is kept.
    func notSent() async throws(RelayError) -> [KeptPublish]? {
        try await onDisk { (store, _) throws(RelayError) -> [KeptPublish] in try store.notSent() }
    }

    /// What this run is to send, and what was not sent, oldest first; nil where nothing is kept.
    func outbox() async throws(RelayError) -> [KeptPublish]? {
        try await onDisk { (store, run) throws(RelayError) -> [KeptPublish] in try store.outbox(of: run) }
    }

    /// Takes a message that was not sent, to be sent again by this run; nil when there is none.
    func claim(_ id: String) async throws(RelayError) -> KeptPublish? {
        let claimed: KeptPublish?? = try await onDisk { (store, run) throws(RelayError) -> KeptPublish? in
            try store.claim(notSent: id, for: run)
        }
        return claimed ?? nil
    }

    /// Forgets messages that were not sent, all at once; gives back those that there were.
    func drop(_ ids: [String]) async throws(RelayError) -> [String] {
        let dropped: [String]? = try await onDisk { (store, _) throws(RelayError) -> [String] in
            try store.drop(notSent: ids)
        }
        return dropped ?? []
    }

    /// Writes what waits, and returns when that was tried.
    func settle() async {
        // A cancelled task, too, waits for what it left. What fails is told by the store.
        let writing = Task { try? await self.onDisk { (_, _) throws(RelayError) -> Bool in true } }
        _ = await writing.value
    }

    /// Does something with the store, behind all that waits to be written, where a thread may block; nil where nothing
    /// is kept.
    private func onDisk<Value: Sendable>(
        _ work: @escaping @Sendable (LocalStore, String) throws(RelayError) -> Value
    ) async throws(RelayError) -> Value? {
        let result: Result<Value?, RelayError>
        do {
            result = try await NIOThreadPool.singleton.runIfActive { self.inOrder { self.afterWriting(work) } }
        } catch {
            result = .failure(.cancelled)
        }
        return try result.get()
    }

    private func afterWriting<Value>(
        _ work: (LocalStore, String) throws(RelayError) -> Value
    ) -> Result<Value?, RelayError> {
        writeInOrder()
        let (store, run) = state.withLockedValue { ($0.store, $0.journal.run) }
        guard let store else { return .success(nil) }
        do throws(RelayError) {
            return .success(try work(store, run))
        } catch {
            return .failure(error)
        }
    }

    // MARK: Writing

    private func writeInOrder() {
        let (store, changes) = state.withLockedValue { state -> (LocalStore?, [StoreChange]) in
            guard let store = state.store, !state.journal.isEmpty else { return (nil, []) }
            return (store, state.journal.take())
        }
        guard let store else { return }
        do throws(RelayError) {
            try store.commitBlocking(changes)
            if state.withLockedValue({ $0.journal.written() }) { store.tellRecovered() }
        } catch {
            let pause = state.withLockedValue { state -> Duration in
                state.journal.failed()
                return state.journal.pause
            }
            store.tellFailing(error)
            write(after: pause)
        }
    }

    /// Writes what waits then, unless something will write before.
    private func write(after delay: Duration) {
        let isFirst = state.withLockedValue { state -> Bool in
            guard !state.isWriteDue, !state.isHurried else { return false }
            state.isWriteDue = true
            return true
        }
        guard isFirst else { return }
        Task { [weak self, clock] in
            try? await clock.sleep(for: delay)
            self?.alarmed()
        }
    }

    private func alarmed() {
        state.withLockedValue { $0.isWriteDue = false }
        hurry()
    }

    /// Writes what waits now, on a thread that may block.
    private func hurry() {
        let isFirst = state.withLockedValue { state -> Bool in
            defer { state.isHurried = true }
            return !state.isHurried
        }
        guard isFirst else { return }
        NIOThreadPool.singleton.submit { [weak self] condition in
            guard case .active = condition, let self else { return }
            self.inOrder {
                // What is noted from here on is not in what is written now.
                self.state.withLockedValue { $0.isHurried = false }
                self.writeInOrder()
            }
        }
    }
}
