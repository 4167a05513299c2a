/// The changes of the outbox that are yet to be written into the local store, as a pure value.
///
/// Each message has at most one pending entry as accepted and one as ended, however long the disk fails: a message that
/// ends before it was written leaves no trace.
package struct OutboxJournal: Sendable {
    private struct Part: Sendable {
        var accepted: [String: (number: UInt64, publish: KeptPublish)] = [:]
        /// The changes to the rows of ended messages.
        var ended: [String: StoreChange] = [:]
        /// Whether rows that wait count as sent from now on.
        var leaves = false

        var isEmpty: Bool { accepted.isEmpty && ended.isEmpty && !leaves }
    }

    /// The run of the program that owns the rows.
    package let run: String
    private var waiting = Part()
    private var underWay = Part()
    private var nextNumber: UInt64 = 0
    /// Whether rows may say that their messages were never sent.
    private var hasUnsentRows = false
    private var failures = 0

    package init(run: String) { self.run = run }

    package var isEmpty: Bool { waiting.isEmpty }

    /// Whether the last write failed.
    package var isInTrouble: Bool { failures > 0 }

    /// Whether messages wait to be written, and may not leave before.
    package var hasAccepted: Bool { !waiting.accepted.isEmpty }

    /// Whether it is yet to be written that waiting messages may have left.
    package var awaitsLeave: Bool { waiting.leaves }

    /// The pause after the failures so far: 1 s, doubling up to 30 s.
    package var pause: Duration { .seconds(min(30, 1 << min(max(failures, 1) - 1, 5))) }

    // MARK: Coming

    /// A message was accepted, after all others.
    ///
    /// - Parameter mayLeave: Whether it may be sent before more is written of it.
    package mutating func accepted(_ message: OutboxMessage, mayLeave: Bool, since: Timestamp) {
        accepted(KeptPublish(message: message, state: mayLeave ? .sending : .queued, since: since, run: run))
    }

    private mutating func accepted(_ publish: KeptPublish) {
        waiting.accepted[publish.message.id] = (number: nextNumber, publish: publish)
        nextNumber += 1
        // An existing row with the identifier is replaced.
        waiting.ended[publish.message.id] = nil
    }

    /// Ends the row of a message, written or not.
    private mutating func end(_ id: String, _ change: StoreChange) {
        waiting.accepted[id] = nil
        waiting.ended[id] = change
    }

    /// A message has ended without an acknowledgement, and waits for the person's decision.
    ///
    /// - Parameter mayBeStored: Whether the network may have it all the same.
    package mutating func notSent(_ id: String, because reason: String, mayBeStored: Bool) {
        waiting.ended[id] = .outboxNotSent(id: id, reason, mayBeStored: mayBeStored)
    }

    /// A message was refused by the outbox, and waits for the person's decision.
    package mutating func refused(_ message: OutboxMessage, because reason: String, since: Timestamp) {
        accepted(KeptPublish(message: message, state: .notSent(reason), since: since, run: run))
    }

    /// A message has ended.
    ///
    /// - Returns: Whether to write that at once: a message that the network has can be found there if need be.
    package mutating func ended(_ news: PublishNews) -> Bool {
        let id = news.id
        switch news.state {
        case .queued, .sending: return false
        case .acknowledged:
            // A letter is kept as one that was sent.
            end(id, .outboxStored(id: id))
            return false
        // The person took it back.
        case .failed(.cancelled): end(id, .outboxEnded(id: id))
        case .failed(let error): notSent(id, because: error.words, mayBeStored: news.mayBeStored)
        case .discarded(let reason): notSent(id, because: reason.words, mayBeStored: news.mayBeStored)
        case .uncertain: notSent(id, because: RelayError.uncertain(id).words, mayBeStored: true)
        }
        return true
    }

    /// All waiting messages may leave from now on.
    ///
    /// - Returns: Whether to write that first.
    package mutating func leave() -> Bool {
        if hasUnsentRows { waiting.leaves = true }
        for (id, entry) in waiting.accepted where entry.publish.state == .queued {
            waiting.accepted[id]?.publish.state = .sending
        }
        return waiting.leaves
    }

    /// The rows of earlier runs now belong to this run.
    package mutating func tookOver(_ kept: [KeptPublish]) {
        for publish in kept {
            // The row stays in front of messages accepted meanwhile.
            waiting.accepted[publish.message.id] = nil
            if publish.state == .queued { hasUnsentRows = true }
        }
    }

    // MARK: Going

    /// The changes to write now, which count as in flight until ``written()`` or ``failed()``.
    package mutating func take() -> [StoreChange] {
        underWay = waiting
        waiting = Part()
        var changes: [StoreChange] = []
        var isTrimmed = false
        if underWay.leaves { changes.append(.outboxLeaves(run: run)) }
        for (_, publish) in underWay.accepted.values.sorted(by: { $0.number < $1.number }) {
            // It is appended after the others even if it was there before.
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

    /// The changes are written.
    ///
    /// - Returns: Whether that ends a trouble.
    package mutating func written() -> Bool {
        if underWay.leaves, !underWay.accepted.values.contains(where: { $0.publish.state == .queued }) {
            hasUnsentRows = false
        }
        underWay = Part()
        return exchange(&failures, with: 0) > 0
    }

    /// The changes could not be written: they wait again, except for messages with newer changes.
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
            // If the disk fails, messages leave without it.
            if waiting.leaves, entry.publish.state == .queued { waiting.accepted[id]?.publish.state = .sending }
        }
    }
}
