import Terminal

/// Whether the person is here, and what calls them while they are not.
struct Attention: Equatable, Sendable {
    var tracker = FocusTracker()
    /// Whether reports of the focus count, and how long nothing was done.
    var isWatched = true
    /// When the person last did something here; nil after a suspension.
    var lastInput: ContinuousClock.Instant? {
        didSet { if let lastInput { lastSign = lastInput } }
    }
    /// When there was a sign of the person last, a return for instance.
    var lastSign: ContinuousClock.Instant
    var lastBell: ContinuousClock.Instant?
    /// The time that the person was away, until they have seen what came in it; nil where they were not.
    var absence: Absence?
    var suspension = Suspension()
    var calls = CallPacer()

    /// Somebody has just started the program.
    init(now: ContinuousClock.Instant) { (lastSign, lastInput) = (now, now) }
}
