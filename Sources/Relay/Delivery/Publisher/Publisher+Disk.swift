import NATS
import Platform

// What is kept of the outbox, so that the end of the process loses nothing that was accepted.
//
// A message is committed before anything is told of it and before it leaves. Its row says at every moment whether it
// may have been sent: a message that is accepted while the outbox is closed counts as never sent until the outbox
// opens, which is written before anything leaves; all others count as sent from their first moment. So whoever takes a
// row over looks for its message where the server may have it, and there alone. That a message has ended is written a
// moment later, many together; at an end of the process before that, the message is found on the network.
//
// One write is under way at a time, on the store's own thread, and all that comes meanwhile is in the next one. While
// the store is being opened, and while the disk takes nothing, messages wait in memory as without a store.
extension Publisher {
    /// The local store, as the outbox has it.
    struct Disk {
        /// What is still to be written.
        var journal = OutboxJournal(run: RandomText.uuid())
        /// Where to write; nil before the store is open and when this run keeps nothing.
        fileprivate(set) var store: LocalStore?
        /// That this run lives; nil when it has no rows.
        fileprivate var run: StoreLock?
        /// Whether anything is kept: the store keeps the outbox, and the client is there.
        private(set) var isOn: Bool
        /// What of earlier runs' messages is sent; nil for all.
        fileprivate let choice: Set<String>?
        /// Whether to write as soon as nothing is being written.
        fileprivate var isWriteDue = false
        /// Whether something will look then what is to be written.
        fileprivate var isAlarmSet = false
        fileprivate var isWriting = false
        /// Who waits for the write that is under way, and for the next one.
        fileprivate var waiters: (present: [Completion<Bool>], next: [Completion<Bool>]) = ([], [])
        /// The number of the first message that the write under way does not have.
        fileprivate var end: UInt64 = 0

        /// How long the news that messages have ended waits for more of it.
        private static let delay = Duration.milliseconds(100)

        init(_ location: LocalStore.Location, _ choice: Set<String>?) {
            isOn = location.keepsOutbox
            self.choice = choice
        }

        /// Whether a message is to be on the disk before it leaves. In trouble the next try is due already, and nobody
        /// waits for it.
        var keepsFirst: Bool { store != nil && !journal.isInTrouble }

        /// Has somebody wait for the next write, or for the one that is under way; false where neither comes.
        fileprivate mutating func waits(_ waiter: Completion<Bool>, forNext isNext: Bool) -> Bool {
            if isNext { waiters.next.append(waiter) } else if isWriting { waiters.present.append(waiter) }
            return isNext || isWriting
        }

        /// There is something to be written.
        mutating func changed(isUrgent: Bool, _ due: inout Due) {
            guard !journal.isInTrouble else { return }
            if isUrgent { isWriteDue = true } else if !isWriteDue { setAlarm(Self.delay, &due) }
        }

        fileprivate mutating func setAlarm(_ delay: Duration, _ due: inout Due) {
            guard !isAlarmSet else { return }
            isAlarmSet = true
            due.writeAlarm = delay
        }

        /// It is time to look what is to be written.
        mutating func alarmRang() { (isAlarmSet, isWriteDue) = (false, true) }

        /// What waits may leave from now on.
        ///
        /// - Returns: whether that is to be on the disk first.
        mutating func leave(_ due: inout Due) -> Bool {
            guard isOn, journal.leave() else { return false }
            changed(isUrgent: true, &due)
            return keepsFirst
        }

        /// Nothing is kept from now on, and the run ends: what is written of it is another run's.
        ///
        /// - Returns: the run, to be let go of outside the lock, and who waits.
        fileprivate mutating func turnOff() -> (run: StoreLock?, waiters: [Completion<Bool>]) {
            defer { (isOn, store, run, waiters) = (false, nil, nil, ([], [])) }
            return (run, waiters.present + waiters.next)
        }
    }

    // MARK: The store

    /// The local store is open: what runs that have ended left there goes in front of all that waits, and what was
    /// accepted meanwhile is written. To be called before the first connection.
    func keep(in store: LocalStore) async {
        guard let (id, choice) = onDisk({ ($0.journal.run, $0.choice) }) else { return }
        do throws(RelayError) {
            let (run, kept) = try await store.takeOver(as: id, only: choice)
            decide { state in
                // What was taken over is another run's next time, as the lock ends here.
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

    /// Nothing is kept from now on. What waited for the disk leaves without it.
    func turnOffKeeping() {
        let run = decide { state -> StoreLock? in
            let (run, waiters) = state.disk.turnOff()
            state.due.answers += waiters.map { ($0, false) }
            state.take(state.delivery.kept(before: .max, leaves: true, at: clock.now))
            return run
        }
        withExtendedLifetime(run) {}
    }

    private func onDisk<Value>(_ body: (Disk) -> Value?) -> Value? {
        decide { $0.disk.isOn ? body($0.disk) : nil }
    }

    // MARK: Waiting for the disk

    /// Returns when what was admitted is on the disk; at once where nothing is kept, and in trouble.
    nonisolated(nonsending) func kept() async {
        guard mayKeep else { return }
        let waiter = Completion<Bool>()
        let waits = decide { state -> Bool in
            state.disk.keepsFirst && state.disk.waits(waiter, forNext: state.disk.journal.hasAccepted)
        }
        if waits { _ = await waiter.value() }
    }

    /// Writes what waits, and returns when that was tried. A cancelled task, too, waits for what it left. What fails is
    /// told by the store.
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

    /// What was being written is kept, or could not be.
    ///
    /// - Returns: whether that ends a trouble.
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

    /// Sends a message that was not sent again; false when there is none.
    ///
    /// - Throws: why it is not taken, for which it waits for the person from then on.
    func sendAgain(_ id: String) async throws(RelayError) -> Bool {
        guard let (store, run) = await written(), let kept = try await store.claim(notSent: id, for: run) else {
            return false
        }
        do throws(RelayError) {
            try await submit(kept.message.handedOverAgain())
        } catch {
            // Without a session nobody has looked at it: it waits for the reason that it had.
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

    /// The store, behind all that waits to be written, and this run's name in it; nil where nothing is kept.
    func written() async -> (store: LocalStore, run: String)? {
        await settle()
        return onDisk { disk in disk.store.map { ($0, disk.journal.run) } }
    }
}

extension Publisher.State {
    /// Begins to write what is due, unless something is being written.
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
