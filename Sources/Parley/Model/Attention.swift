import Terminal

/// Whether the person is here, and what calls them while they are not.
struct Attention: Equatable, Sendable {
    /// Whether they are, as far as the terminal knows.
    var tracker = FocusTracker()
    /// Whether reports of the focus count, and how long nothing was done.
    var isWatched = true
    /// When the person last did something here; nil after a suspension.
    var lastInput: ContinuousClock.Instant? {
        didSet { if let lastInput { lastSign = lastInput } }
    }
    /// When there was a sign of the person last, a return for instance.
    var lastSign: ContinuousClock.Instant
    /// When the bell rang last.
    var lastBell: ContinuousClock.Instant?
    /// The time that the person was away, until they have seen what came in it; nil where they were not.
    var absence: Absence?
    /// What becomes of the connection while they are.
    var suspension = Suspension()
    /// What calls the person while they look elsewhere.
    var calls = CallPacer()

    /// Somebody has just started the program.
    init(now: ContinuousClock.Instant) { (lastSign, lastInput) = (now, now) }
}
