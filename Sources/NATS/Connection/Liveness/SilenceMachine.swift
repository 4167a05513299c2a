/// Finds out since when the peer has said nothing while something waits for its answer, as a value: facts in, one
/// action out; times are nanoseconds of any clock.
///
/// A late answer alone is no silence, since a service may be slow although its server is well: the machine has the
/// connection ask before it speaks of silence. Any byte that arrives ends it.
struct SilenceMachine {
    enum Action: Equatable {
        /// Send PING, unless an answer to one is awaited.
        case ask
        /// Nothing has arrived since this moment.
        case silent(since: Int64)
    }

    /// How long nothing may arrive before that counts as silence.
    static let limit: Int64 = 2_000_000_000
    /// From here on the peer is asked, and the progress of a long queue is looked at.
    private static let suspicion = limit / 2

    private(set) var isSilent = false
    private var since: Int64?
    private var hasHeard = false
    /// The progress of the outbound bytes when the peer was asked; nil before.
    private var acknowledged: Int?

    /// Bytes arrived; returns whether that ended a silence.
    mutating func heard() -> Bool {
        hasHeard = true
        defer { isSilent = false }
        return isSilent
    }

    /// Nothing waits for an answer, or this side could not hear one: the time begins anew.
    mutating func excuse() { since = nil }

    /// Something waits for an answer. A peer that takes bytes from a long queue, which is looked at only if needed, is
    /// slow, not silent.
    mutating func waits(now: Int64, outbound: () -> LivenessMachine.Outbound) -> Action? {
        guard let since, !hasHeard else {
            (self.since, hasHeard, acknowledged) = (now, false, nil)
            return nil
        }
        guard !isSilent, now - since >= Self.suspicion else { return nil }
        let outbound = outbound()
        guard let before = acknowledged else {
            acknowledged = outbound.acknowledged
            return .ask
        }
        if outbound.waiting > LivenessMachine.emptyQueue, outbound.acknowledged > before {
            (self.since, acknowledged) = (now, nil)
            return nil
        }
        guard now - since >= Self.limit else { return nil }
        isSilent = true
        return .silent(since: since)
    }
}
