/// Whether a connection that nobody needs is let go, as a pure value: what is followed and sent comes in, and what to
/// do goes out.
///
/// Only the end of the last subscription begins the wait, so that a client that never subscribes is left alone.
struct IdleRest: Sendable, Hashable {
    /// Names the timer. One that was cancelled or replaced has another serial.
    struct TimerID: Sendable, Hashable {
        let serial: UInt64
    }

    /// What the driver does.
    enum Action: Sendable, Hashable {
        /// Report ``timerFired(_:isNeeded:at:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Let the connection go.
        case rest
        /// Bring it back.
        case resume
    }

    /// How long the connection stays; nil for ever.
    let time: Duration?
    /// Whether the connection was let go.
    private(set) var isResting = false
    /// Whether it was brought back since, and nobody has seen yet what became of that.
    private(set) var isReturning = false
    /// Whether there has been a subscription in this session.
    private var hasFollowed = false
    private var timer: TimerID?
    private var serial: UInt64 = 0

    init(after time: Duration?) { self.time = time }

    /// The last subscription has ended.
    mutating func subscriptionsEnded(at now: ContinuousClock.Instant) -> [Action] {
        hasFollowed = true
        guard time != nil, timer == nil, !isResting else { return [] }
        return wait(at: now)
    }

    /// Somebody needs the connection.
    ///
    /// - Parameter isFollowed: whether there is a subscription. Where there is none, as for something to send, the wait
    ///   begins anew.
    mutating func needed(isFollowed: Bool, at now: ContinuousClock.Instant) -> [Action] {
        var actions: [Action] = []
        if isResting {
            (isResting, isReturning) = (false, true)
            actions = [.resume]
        } else {
            actions = settle()
        }
        return isFollowed || !hasFollowed ? actions : actions + wait(at: now)
    }

    /// The timer has reached its moment.
    ///
    /// - Parameter isNeeded: whether something else than a subscription needs the connection now. It is waited for once
    ///   more.
    mutating func timerFired(
        _ id: TimerID, isNeeded: Bool, at now: ContinuousClock.Instant
    ) -> [Action] {
        guard timer == id else { return [] }
        timer = nil
        guard !isNeeded else { return wait(at: now) }
        (isResting, isReturning) = (true, false)
        return [.rest]
    }

    /// It is known what became of the way back.
    mutating func returned() { isReturning = false }

    /// The session has ended, or the user has asked for a connection: nothing rests any more.
    mutating func reset() -> [Action] {
        (isResting, isReturning, hasFollowed) = (false, false, false)
        return settle()
    }

    /// The connection rests for another reason, so that nothing is waited for.
    mutating func pause() -> [Action] { settle() }

    /// The connection runs again.
    mutating func goOn(isFollowed: Bool, at now: ContinuousClock.Instant) -> [Action] {
        guard hasFollowed, !isFollowed, !isResting, timer == nil else { return [] }
        return wait(at: now)
    }

    private mutating func wait(at now: ContinuousClock.Instant) -> [Action] {
        guard let time else { return [] }
        serial += 1
        let id = TimerID(serial: serial)
        timer = id
        return [.startTimer(id, at: now + time)]
    }

    private mutating func settle() -> [Action] {
        defer { timer = nil }
        return timer.map { [.cancelTimer($0)] } ?? []
    }
}
