import NIOCore

/// The readers that wait for a buffer to have something, and the alarm for those that wait no longer than until a
/// deadline.
///
/// A reader of many messages waits thousands of times a second, each time with a deadline seconds away that hardly ever
/// comes. So an alarm that is set stays set whatever becomes of the wait it was set for, and looks when it rings who
/// waits by then: one for many waits, in place of a timer for each, which costs the event loop two wake-ups.
struct WaitingReaders {
    private struct Reader {
        var wakeup: Completion<SubscriptionBuffer.Wakeup>
        var deadline: NIODeadline
        /// How many messages it waits for.
        var count: Int
    }

    private var readers: [Reader] = []
    /// When the alarm that is set rings; nil while none is set.
    private var alarm: NIODeadline?
    private var timer: Scheduled<Void>?

    /// Adds a reader.
    ///
    /// - Parameter count: how many messages it waits for.
    /// - Returns: what wakes it, and when the caller is to have the alarm ring; nil where it rings by then anyway.
    mutating func add(until deadline: NIODeadline, for count: Int = 1) -> (
        wakeup: Completion<SubscriptionBuffer.Wakeup>, alarm: NIODeadline?
    ) {
        let wakeup = Completion<SubscriptionBuffer.Wakeup>()
        readers.append(Reader(wakeup: wakeup, deadline: deadline, count: count))
        return (wakeup, alarm(by: deadline))
    }

    /// Forgets a reader that gave up.
    mutating func remove(_ wakeup: Completion<SubscriptionBuffer.Wakeup>) { readers.removeAll { $0.wakeup === wakeup } }

    /// Takes out the readers that so many messages are enough for, to wake them.
    mutating func take(at count: Int) -> [Completion<SubscriptionBuffer.Wakeup>] {
        guard readers.contains(where: { $0.count > count }) else { return takeAll() }
        defer { readers.removeAll { $0.count <= count } }
        return readers.filter { $0.count <= count }.map(\.wakeup)
    }

    /// Takes out all readers, to wake them.
    mutating func takeAll() -> [Completion<SubscriptionBuffer.Wakeup>] {
        guard !readers.isEmpty else { return [] }
        defer { readers.removeAll(keepingCapacity: true) }
        return readers.map(\.wakeup)
    }

    /// The alarm for this moment rings: takes out those whose time is up.
    ///
    /// - Returns: them, and when the alarm is to ring next; nil where that is not needed.
    mutating func ring(_ moment: NIODeadline, now: NIODeadline) -> (
        late: [Completion<SubscriptionBuffer.Wakeup>], alarm: NIODeadline?
    ) {
        if alarm == moment { (alarm, timer) = (nil, nil) }
        let late = readers.filter { $0.deadline <= now }.map(\.wakeup)
        readers.removeAll { $0.deadline <= now }
        return (late, readers.map(\.deadline).min().flatMap { alarm(by: $0) })
    }

    private mutating func alarm(by deadline: NIODeadline) -> NIODeadline? {
        guard deadline < alarm ?? .distantFuture else { return nil }
        alarm = deadline
        return deadline
    }

    /// Keeps the timer that makes the alarm ring at this moment.
    ///
    /// - Returns: a timer that is not needed, for the caller to cancel: the one before, or this one where the alarm has
    ///   rung since, has been set to an earlier moment, or where nobody waits any more.
    mutating func keep(_ timer: Scheduled<Void>, for moment: NIODeadline) -> Scheduled<Void>? {
        guard alarm == moment else { return timer }
        defer { self.timer = timer }
        return self.timer
    }

    /// Nobody waits any more.
    ///
    /// - Returns: the readers, to wake them, and a timer that is not needed.
    mutating func end() -> (readers: [Completion<SubscriptionBuffer.Wakeup>], timer: Scheduled<Void>?) {
        defer { (alarm, timer) = (nil, nil) }
        return (takeAll(), timer)
    }
}
