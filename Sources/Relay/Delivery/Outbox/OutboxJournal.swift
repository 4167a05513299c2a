/// What of the outbox is still to be written into the local store, as a pure value.
///
/// Each message has at most one thing to be written as accepted and one as ended, however long the disk takes nothing:
/// what ends before it was written leaves no trace.
package struct OutboxJournal: Sendable {
    private struct Part: Sendable {
        var accepted: [String: (number: UInt64, publish: KeptPublish)] = [:]
        /// What becomes of the rows of messages that have ended.
        var ended: [String: StoreChange] = [:]
        /// Whether rows that wait count as sent from now on.
        var leaves = false

        var isEmpty: Bool { accepted.isEmpty && ended.isEmpty && !leaves }
    }

    /// The run of the program whose the rows are.
    package let run: String
    private var waiting = Part()
    private var underWay = Part()
    private var nextNumber: UInt64 = 0
    /// Whether rows may say that their messages have never been sent.
    private var hasUnsentRows = false
    private var failures = 0

    /// An empty one.
    package init(run: String) { self.run = run }

    /// Whether nothing is to be written.
    package var isEmpty: Bool { waiting.isEmpty }

    /// Whether the last try to write failed.
    package var isInTrouble: Bool { failures > 0 }

    /// Whether messages wait to be written, which may not leave before.
    package var hasAccepted: Bool { !waiting.accepted.isEmpty }

    /// Whether it waits to be written that what waits in the outbox may have left.
    package var awaitsLeave: Bool { waiting.leaves }

    /// How long to wait after the failures so far: 1 s, doubling up to 30 s.
    package var pause: Duration { .seconds(min(30, 1 << min(max(failures, 1) - 1, 5))) }

    // MARK: Coming

    /// A message was accepted, behind all others.
    ///
    /// - Parameter mayLeave: whether it may be sent before more is written of it.
    package mutating func accepted(_ message: OutboxMessage, mayLeave: Bool, since: Timestamp) {
        accepted(KeptPublish(message: message, state: mayLeave ? .sending : .queued, since: since, run: run))
    }

    private mutating func accepted(_ publish: KeptPublish) {
        waiting.accepted[publish.message.id] = (number: nextNumber, publish: publish)
        nextNumber += 1
        // A row that is there under the identifier is replaced.
        waiting.ended[publish.message.id] = nil
    }

    /// The row of a message goes, whether it is written by now or not.
    private mutating func end(_ id: String, _ change: StoreChange) {
        waiting.accepted[id] = nil
        waiting.ended[id] = change
    }

    /// A message has ended without being acknowledged, and waits for the person.
    ///
    /// - Parameter mayBeStored: whether the network may have it all the same.
    package mutating func notSent(_ id: String, because reason: String, mayBeStored: Bool) {
        waiting.ended[id] = .outboxNotSent(id: id, reason, mayBeStored: mayBeStored)
    }

    /// A message was refused before the outbox had it, and waits for the person.
    package mutating func refused(_ message: OutboxMessage, because reason: String, since: Timestamp) {
        accepted(KeptPublish(message: message, state: .notSent(reason), since: since, run: run))
    }

    /// A message has ended.
    ///
    /// - Returns: whether that is to be written at once: what the network has is found there if need be.
    package mutating func ended(_ news: PublishNews) -> Bool {
        let id = news.id
        switch news.state {
        case .queued, .sending: return false
        case .acknowledged:
            // A letter is kept as one that was sent.
            end(id, .outboxStored(id: id))
            return false
        // The person has taken it back.
        case .failed(.cancelled): end(id, .outboxEnded(id: id))
        case .failed(let error): notSent(id, because: error.words, mayBeStored: news.mayBeStored)
        case .discarded(let reason): notSent(id, because: reason.words, mayBeStored: news.mayBeStored)
        case .uncertain: notSent(id, because: RelayError.uncertain(id).words, mayBeStored: true)
        }
        return true
    }

    /// All that waits may leave from now on.
    ///
    /// - Returns: whether that is to be written first.
    package mutating func leave() -> Bool {
        if hasUnsentRows { waiting.leaves = true }
        for (id, entry) in waiting.accepted where entry.publish.state == .queued {
            waiting.accepted[id]?.publish.state = .sending
        }
        return waiting.leaves
    }

    /// Rows of earlier runs are this run's now.
    package mutating func tookOver(_ kept: [KeptPublish]) {
        for publish in kept {
            // The row keeps its place in front of what was accepted meanwhile.
            waiting.accepted[publish.message.id] = nil
            if publish.state == .queued { hasUnsentRows = true }
        }
    }

    // MARK: Going

    /// What is to be written now. It counts as under way until ``written()`` or ``failed()``.
    package mutating func take() -> [StoreChange] {
        underWay = waiting
        waiting = Part()
        var changes: [StoreChange] = []
        var isTrimmed = false
        if underWay.leaves { changes.append(.outboxLeaves(run: run)) }
        for (_, publish) in underWay.accepted.values.sorted(by: { $0.number < $1.number }) {
            // It comes behind those that are there, also where it was there before.
            changes.append(.outboxEnded(id: publish.message.id))
            changes.append(.outbox(publish))
            if publish.state == .queued { hasUnsentRows = true }
            if publish.state.reason != nil { isTrimmed = true }
        }
        for change in underWay.ended.values {
            changes.append(change)
            if case .outboxNotSent = change { isTrimmed = true }
        }
        if isTrimmed { changes.append(.outboxTrimmed) }
        return changes
    }

    /// What was taken is kept.
    ///
    /// - Returns: whether that ends a trouble.
    package mutating func written() -> Bool {
        if underWay.leaves, !underWay.accepted.values.contains(where: { $0.publish.state == .queued }) {
            hasUnsentRows = false
        }
        underWay = Part()
        defer { failures = 0 }
        return failures > 0
    }

    /// What was taken could not be written: it waits again, but for what has become of it meanwhile.
    package mutating func failed() {
        failures += 1
        var earlier = Part()
        swap(&earlier, &underWay)
        if earlier.leaves { waiting.leaves = true }
        for (id, ending) in earlier.ended where waiting.accepted[id] == nil && waiting.ended[id] == nil {
            waiting.ended[id] = ending
        }
        for (id, entry) in earlier.accepted where waiting.accepted[id] == nil {
            if case .outboxEnded? = waiting.ended[id] { continue }
            if case .outboxStored? = waiting.ended[id] { continue }
            waiting.accepted[id] = entry
            // What the disk does not take leaves without it.
            if waiting.leaves, entry.publish.state == .queued { waiting.accepted[id]?.publish.state = .sending }
        }
    }
}
