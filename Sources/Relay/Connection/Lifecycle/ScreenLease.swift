/// Whether a subscription that is for a view on the screen is held, as a pure value: the view leaves and comes back, and
/// what becomes of the subscription goes out.
struct ScreenLease: Sendable, Hashable {
    /// Names the timer. One that was cancelled or replaced has another serial.
    struct TimerID: Sendable, Hashable {
        let key: UInt64
        let serial: UInt64
    }

    /// What the driver does.
    enum Action: Sendable, Hashable {
        /// Report ``timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Let the subscription go; its place in the stream stays.
        case release
        /// Take it again behind that place.
        case take
    }

    /// The subscription.
    let key: UInt64
    /// How long the view may be away before the subscription is let go.
    let grace: Duration
    /// Whether the view is on the screen, by the last word.
    private(set) var isOnScreen = true
    /// Whether the subscription was let go.
    private(set) var isReleased = false
    private var timer: TimerID?
    private var serial: UInt64 = 0

    init(key: UInt64, grace: Duration) {
        self.key = key
        self.grace = max(grace, .zero)
    }

    /// The view is on the screen, or is not. Repetitions are harmless.
    mutating func shown(_ isOnScreen: Bool, at now: ContinuousClock.Instant) -> [Action] {
        guard isOnScreen != self.isOnScreen else { return [] }
        self.isOnScreen = isOnScreen
        guard isOnScreen else {
            serial += 1
            let id = TimerID(key: key, serial: serial)
            timer = id
            return [.startTimer(id, at: now + grace)]
        }
        guard isReleased else { return settle() }
        isReleased = false
        return settle() + [.take]
    }

    /// The timer has reached its moment.
    mutating func timerFired(_ id: TimerID) -> [Action] {
        guard timer == id else { return [] }
        timer = nil
        isReleased = true
        return [.release]
    }

    /// The connection rests: a view that is away needs no time any more.
    mutating func connectionRests() -> [Action] {
        guard timer != nil else { return [] }
        isReleased = true
        return settle() + [.release]
    }

    /// The subscription has ended.
    mutating func end() -> [Action] { settle() }

    private mutating func settle() -> [Action] {
        defer { timer = nil }
        return timer.map { [.cancelTimer($0)] } ?? []
    }
}
