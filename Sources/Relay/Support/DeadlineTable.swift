/// Who waits until when, with one alarm for all of them.
///
/// A caller that sends many messages waits thousands of times a second, each time with a deadline seconds away that
/// hardly ever comes. So an alarm that is set stays set whatever becomes of the wait that it was set for, and looks
/// when it rings who still waits.
struct DeadlineTable<Waiter: Sendable>: Sendable {
    private struct Wait: Sendable {
        let waiter: Waiter
        let deadline: ContinuousClock.Instant
    }

    private var waits: [UInt64: Wait] = [:]
    private var added: UInt64 = 0
    /// When the alarm that is set rings; nil while none is set.
    private var alarm: ContinuousClock.Instant?

    /// Adds somebody who waits.
    ///
    /// - Returns: what names the wait, and when the caller is to have the alarm ring, in place of one that was set
    ///   before; nil where it rings by then anyway.
    mutating func add(
        _ waiter: Waiter, until deadline: ContinuousClock.Instant
    ) -> (key: UInt64, alarm: ContinuousClock.Instant?) {
        added += 1
        waits[added] = Wait(waiter: waiter, deadline: deadline)
        return (added, setAlarm(by: deadline))
    }

    /// Forgets somebody who waits no more.
    mutating func remove(_ key: UInt64) { waits[key] = nil }

    /// The alarm has rung: takes out those whose time is up.
    ///
    /// - Returns: them, and when the alarm is to ring next; nil where that is not needed.
    mutating func ring(at now: ContinuousClock.Instant) -> (late: [Waiter], alarm: ContinuousClock.Instant?) {
        alarm = nil
        let late = waits.filter { $0.value.deadline <= now }
        for key in late.keys { waits[key] = nil }
        let next = waits.values.map(\.deadline).min()
        return (late.values.map(\.waiter), next.flatMap { setAlarm(by: $0) })
    }

    private mutating func setAlarm(by deadline: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        if let alarm, alarm <= deadline { return nil }
        alarm = deadline
        return deadline
    }
}
