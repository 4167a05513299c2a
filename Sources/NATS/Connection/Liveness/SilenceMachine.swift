/// Measures how long the peer has been silent while an answer is awaited, as a pure value; times are nanoseconds of any
/// clock.
///
/// A late answer alone is no silence, since a service may be slow although its server is well: the machine has the
/// connection ask first. Any byte that arrives ends the silence.
struct SilenceMachine {
    enum Action: Equatable {
        /// Send PING unless an answer to one is awaited.
        case ask
        /// Nothing has arrived since this moment.
        case silent(since: Int64)
    }

    /// How long nothing may arrive before that counts as silence.
    static let limit: Int64 = 2_000_000_000
    /// From here on the peer is asked, and the progress of a long queue is checked.
    private static let suspicion = limit / 2

    private(set) var isSilent = false
    private var since: Int64?
    private var hasHeard = false
    /// The outbound progress when the peer was asked; nil before.
    private var acknowledged: Int?

    /// Bytes arrived; returns whether that ended a silence.
    mutating func heard() -> Bool {
        hasHeard = true
        return exchange(&isSilent, with: false)
    }

    /// No answer is awaited, or this side could not hear one: the time starts again.
    mutating func excuse() { since = nil }

    /// An answer is awaited. A peer that reads from a long queue, which is checked only if needed, is slow but not
    /// silent.
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
