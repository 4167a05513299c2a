import NATS
import Platform

// The stored outbox, so that the end of the process loses no accepted message.
//
// A message is committed before it is reported and before it leaves. Its row always says whether it may have been sent:
// a message accepted while the outbox is closed counts as never sent until the outbox opens, which is written before
// anything leaves; all others count as sent from the start. So a run that takes over a row looks for its message only
// if the server may have it. That a message has ended is written a moment later, many together; if the process ends
// before that, the message is found on the network.
//
// There is one write at a time, on the store's own thread, and everything that arrives meanwhile is in the next one.
// While the store is being opened, and while the disk fails, messages wait in memory as without a store.
extension Publisher {
    /// The outbox's part of the local store.
    struct Disk {
        var journal = OutboxJournal(run: RandomText.uuid())
        /// The store; nil before it is open and if this run stores nothing.
        fileprivate(set) var store: LocalStore?
        /// The lock that shows that this run is alive; nil if it has no rows.
        fileprivate var run: StoreLock?
        /// Whether anything is stored: the store keeps the outbox, and the client exists.
        private(set) var isOn: Bool
        /// Which messages of earlier runs to send; nil for all.
        fileprivate let choice: Set<String>?
        /// Whether to write as soon as no write is in flight.
        fileprivate var isWriteDue = false
        fileprivate var isAlarmSet = false
        fileprivate var isWriting = false
        /// Callers that wait for the write in flight, and for the next one.
        fileprivate var waiters: (present: [Completion<Bool>], next: [Completion<Bool>]) = ([], [])
        /// The number of the first message that is not in the present write.
        fileprivate var end: UInt64 = 0

        /// How long ended messages wait to be written together.
        private static let delay = Duration.milliseconds(100)

        init(_ location: LocalStore.Location, _ choice: Set<String>?) {
            isOn = location.isFile
            self.choice = choice
        }

        /// Whether a message must be on the disk before it leaves. In trouble the next attempt is scheduled already,
        /// and nothing waits for it.
        var keepsFirst: Bool { store != nil && !journal.isInTrouble }

        /// Registers a waiter for the next write or for the one in flight; false if there is none.
        fileprivate mutating func waits(_ waiter: Completion<Bool>, forNext isNext: Bool) -> Bool {
            if isNext { waiters.next.append(waiter) } else if isWriting { waiters.present.append(waiter) }
            return isNext || isWriting
        }

        mutating func changed(isUrgent: Bool, _ due: inout Due) {
            guard !journal.isInTrouble else { return }
            if isUrgent { isWriteDue = true } else if !isWriteDue { setAlarm(Self.delay, &due) }
        }

        fileprivate mutating func setAlarm(_ delay: Duration, _ due: inout Due) {
            guard !isAlarmSet else { return }
            isAlarmSet = true
            due.writeAlarm = delay
        }

        mutating func alarmRang() { (isAlarmSet, isWriteDue) = (false, true) }

        /// Waiting messages may leave from now on.
        ///
        /// - Returns: Whether that must be on the disk first.
        mutating func leave(_ due: inout Due) -> Bool {
            guard isOn, journal.leave() else { return false }
            changed(isUrgent: true, &due)
            return keepsFirst
        }

        /// Stops storing, and ends the run: another run takes over its rows.
        ///
        /// - Returns: The run, to be released outside the lock, and the waiters.
        fileprivate mutating func turnOff() -> (run: StoreLock?, waiters: [Completion<Bool>]) {
            defer { (isOn, store, run, waiters) = (false, nil, nil, ([], [])) }
            return (run, waiters.present + waiters.next)
        }
    }

    // MARK: The store

    /// The local store is open: messages of earlier runs go in front of all others, and those accepted meanwhile are
    /// written. To be called before the first connection.
    func keep(in store: LocalStore) async {
        guard let (id, choice) = onDisk({ ($0.journal.run, $0.choice) }) else { return }
        do throws(RelayError) {
            let (run, kept) = try await store.takeOver(as: id, only: choice)
            decide { state in
                // The lock ends here, so another run will take these rows over next time.
                guard state.disk.isOn else { return }
                (state.disk.store, state.disk.run) = (store, run)
                state.disk.journal.tookOver(kept)
                state.disk.isWriteDue = true
                let messages = kept.map { publish -> OutboxMessage in
                    var message = publish.message
                    if message.unsigned != nil { state.signature?(&message) }
                    return message
                }
                state.take(state.delivery.restore(messages))
            }
        } catch {
            turnOffKeeping()
            store.tellFailing(error)
        }
    }

    /// Stops storing. Messages that waited for the disk leave without it.
    func turnOffKeeping() {
        let run = decide { state -> StoreLock? in
            let (run, waiters) = state.disk.turnOff()
            state.due.answers += waiters.map { ($0, false) }
            state.take(state.delivery.kept(before: .max, leaves: true, at: clock.now))
            return run
        }
        withExtendedLifetime(run) {}
    }

    private func onDisk<Value>(_ body: (Disk) -> Value?) -> Value? { decide { $0.disk.isOn ? body($0.disk) : nil } }

    // MARK: Waiting for the disk

    /// Returns once admitted messages are on the disk; at once if nothing is stored, and in trouble.
    nonisolated(nonsending) func kept() async {
        guard mayKeep else { return }
        let waiter = Completion<Bool>()
        let waits = decide { state -> Bool in
            state.disk.keepsFirst && state.disk.waits(waiter, forNext: state.disk.journal.hasAccepted)
        }
        if waits { _ = await waiter.value() }
    }

    /// Writes what is pending, and returns after the attempt, even in a cancelled task. The store reports failures.
    func settle() async {
        let waiter = Completion<Bool>()
        let waits = decide { state -> Bool in
            guard state.disk.store != nil else { return false }
            let isMoreDue = !state.disk.journal.isEmpty
            if isMoreDue { state.disk.isWriteDue = true }
            return state.disk.waits(waiter, forNext: isMoreDue)
        }
        if waits { _ = await waiter.value() }
    }

    // MARK: Writing

    /// Writes changes on the store's own thread.
    func write(_ changes: [StoreChange], into store: LocalStore) {
        Task {
            do throws(RelayError) {
                try await store.commit(changes)
                if wrote(nil) { store.tellRecovered() }
            } catch {
                _ = wrote(error)
                store.tellFailing(error)
            }
        }
    }

    /// The write in flight has succeeded or failed.
    ///
    /// - Returns: Whether that ends a trouble.
    private func wrote(_ failure: RelayError?) -> Bool {
        decide { state in
            state.disk.isWriting = false
            guard state.disk.isOn else { return false }
            state.due.answers += state.disk.waiters.present.map { ($0, failure == nil) }
            state.disk.waiters.present = []
            guard failure == nil else {
                state.disk.journal.failed()
                state.due.answers += state.disk.waiters.next.map { ($0, false) }
                state.disk.waiters.next = []
                state.disk.isWriteDue = false
                state.disk.setAlarm(state.disk.journal.pause, &state.due)
                state.take(state.delivery.kept(before: .max, leaves: true, at: clock.now))
                return false
            }
            let endsTrouble = state.disk.journal.written()
            if endsTrouble, !state.disk.journal.isEmpty { state.disk.isWriteDue = true }
            let (end, journal) = (state.disk.end, state.disk.journal)
            state.take(
                state.delivery.kept(
                    before: journal.hasAccepted ? end : .max, leaves: !journal.awaitsLeave, at: clock.now))
            return endsTrouble
        }
    }

    // MARK: What was not sent

    /// Sends a "not sent" message again; false if there is none.
    ///
    /// - Throws: The reason why it was not accepted, for which it then waits for the person's decision.
    func sendAgain(_ id: String) async throws(RelayError) -> Bool {
        guard let (store, run) = await written(), let kept = try await store.claim(notSent: id, for: run) else {
            return false
        }
        do throws(RelayError) {
            try await submit(kept.message.handedOverAgain())
        } catch {
            // Without a session it was not even considered, so it keeps its earlier reason.
            let words = error == .notConnected ? kept.state.reason ?? error.words : error.words
            decide { state in
                guard state.disk.isOn else { return }
                state.disk.journal.notSent(id, because: words, mayBeStored: kept.message.mayBeStored)
                state.disk.changed(isUrgent: true, &state.due)
            }
            throw error
        }
        return true
    }

    /// The store, after all pending changes, and this run's name in it; nil if nothing is stored.
    func written() async -> (store: LocalStore, run: String)? {
        await settle()
        return onDisk { disk in disk.store.map { ($0, disk.journal.run) } }
    }
}

extension Publisher.State {
    /// Starts a write that is due, unless one is in flight.
    mutating func beginWriting() {
        guard let store = disk.store, disk.isWriteDue, !disk.isWriting else { return }
        disk.isWriteDue = false
        guard !disk.journal.isEmpty else { return }
        disk.isWriting = true
        disk.end = delivery.nextNumber
        disk.waiters = (disk.waiters.next, [])
        due.write = (disk.journal.take(), store)
    }
}
