/// Which deadlines are still to come, as a pure value: one alarm for all of them.
///
/// A caller that sends many messages waits thousands of times a second, each time with a deadline seconds away that
/// hardly ever comes. So an alarm that is set stays set whatever becomes of the deadline that it was set for, and looks
/// when it rings what is late.
struct DeadlineTable<Name: Hashable & Sendable>: Sendable {
    private var deadlines: [Name: ContinuousClock.Instant] = [:]
    /// When the alarm that is set rings; nil while none is set.
    private var alarm: ContinuousClock.Instant?

    /// Sets a deadline, in place of one of the same name.
    ///
    /// - Returns: when the caller is to have the alarm ring, in place of one that was set before; nil where it rings by
    ///   then anyway.
    mutating func set(_ name: Name, to deadline: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        deadlines[name] = deadline
        return setAlarm(by: deadline)
    }

    /// Forgets a deadline.
    mutating func remove(_ name: Name) { deadlines[name] = nil }

    /// The alarm has rung: takes out what is late.
    ///
    /// - Returns: that, and when the alarm is to ring next; nil where that is not needed.
    mutating func ring(at now: ContinuousClock.Instant) -> (late: [Name], alarm: ContinuousClock.Instant?) {
        alarm = nil
        let late = deadlines.filter { $0.value <= now }.map(\.key)
        for name in late { deadlines[name] = nil }
        return (late, deadlines.values.min().flatMap { setAlarm(by: $0) })
    }

    private mutating func setAlarm(by deadline: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        if let alarm, alarm <= deadline { return nil }
        alarm = deadline
        return deadline
    }
}
