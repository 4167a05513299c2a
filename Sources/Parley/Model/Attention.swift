import Terminal

/// Whether the user is present, and how they are notified while they are not.
struct Attention: Equatable, Sendable {
    var tracker = FocusTracker()
    /// Whether focus reports and idle time count.
    var isWatched = true
    /// When the user last did something here; nil after a suspension.
    var lastInput: ContinuousClock.Instant? {
        didSet { if let lastInput { lastSign = lastInput } }
    }
    /// The last sign of the user, including a return to the terminal.
    var lastSign: ContinuousClock.Instant
    var lastBell: ContinuousClock.Instant?
    /// The user's last absence, until they have seen what they missed; nil if there was none.
    var absence: Absence?
    var suspension = Suspension()
    var calls = CallPacer()

    init(now: ContinuousClock.Instant) { (lastSign, lastInput) = (now, now) }
}
