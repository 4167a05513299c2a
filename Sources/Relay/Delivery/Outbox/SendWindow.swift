/// How many messages for one destination may be under way, and from when on.
///
/// Many are under way at once only while the server takes one after the other. After a connection was made, and after a
/// refusal, one has to be stored before two may follow, and nothing follows one that stays unanswered: a later message
/// would overtake an earlier one when another server takes over in between. That server answers first what it had from
/// the one before it, so after a silence all that was under way has to end before anything follows.
struct SendWindow: Sendable {
    /// How many may be under way.
    private var size = 1
    /// Refusals without a success in between.
    private(set) var refusals = 0
    /// When to try again after a refusal.
    private(set) var heldUntil: ContinuousClock.Instant?
    /// Whether the server was silent for so long that those under way may be lost: nothing is sent past them.
    private var isInDoubt = false
    /// When the first of those under way left, or the newest answer came.
    private var lastProgress: ContinuousClock.Instant?
    /// How long the newest answer took.
    private var answerTime = Duration.zero

    /// An answer that takes longer than this and twice its usual time stops what is behind it.
    private static let patience = Duration.milliseconds(250)
    /// An answer that takes longer than this does so whatever is usual: servers hear from their leader every second and
    /// elect another after four at the earliest, and until then nobody stores what was sent to a leader that is gone.
    private static let greatestPatience = Duration.seconds(2)

    /// Whether one more may leave.
    ///
    /// - Parameters:
    ///   - count: how many are under way.
    ///   - limit: how many may be at most.
    func admits(behind count: Int, limit: Int, at now: ContinuousClock.Instant) -> Bool {
        guard count < min(limit, size), !isInDoubt else { return false }
        if let heldUntil, heldUntil > now { return false }
        guard let lastProgress, count > 0 else { return true }
        return now - lastProgress <= min(Self.patience + answerTime * 2, Self.greatestPatience)
    }

    /// The only one under way left now.
    mutating func begins(at now: ContinuousClock.Instant) { lastProgress = now }

    /// One was stored that left then.
    mutating func answered(_ sent: ContinuousClock.Instant?, limit: Int, at now: ContinuousClock.Instant) {
        if let sent { answerTime = min(now - sent, .seconds(5)) }
        if let lastProgress, now - lastProgress > Self.greatestPatience { isInDoubt = true }
        lastProgress = now
        size = min(limit, size + 1)
        refusals = 0
        heldUntil = nil
    }

    /// One was refused: the next may leave after 250 ms, doubling up to 2 s.
    mutating func refused(at now: ContinuousClock.Instant) {
        size = 1
        // Those sent along with it are refused for the same cause.
        if let heldUntil, heldUntil > now { return }
        refusals += 1
        heldUntil = now + .milliseconds(min(2_000, 250 << min(refusals - 1, 3)))
    }

    /// None is under way any more.
    mutating func drained() { isInDoubt = false }

    /// On the next connection it begins anew, but for how long answers take.
    mutating func connectionLost() { (size, refusals, heldUntil) = (1, 0, nil) }
}
