/// How many messages for one destination may be in flight, and from when on.
///
/// Many are in flight at once only while the server keeps accepting them. After a new connection, and after a refusal,
/// one must be stored before two may follow, and nothing follows one that stays unanswered: a later message would
/// overtake an earlier one if another server took over in between. That server first answers what it had from its
/// predecessor, so after a silence everything in flight must end before anything follows.
struct SendWindow: Sendable {
    /// How many may be in flight.
    private var size = 1
    /// Refusals without a success in between.
    private(set) var refusals = 0
    /// When to try again after a refusal.
    private(set) var heldUntil: ContinuousClock.Instant?
    /// Whether the server was silent for so long that messages in flight may be lost: nothing is sent past them.
    private var isInDoubt = false
    /// When the first message in flight left, or the newest answer arrived.
    private var lastProgress: ContinuousClock.Instant?
    /// How long the newest answer took.
    private var answerTime = Duration.zero

    /// A message that takes longer than this plus twice the usual time holds back the ones after it.
    private static let patience = Duration.milliseconds(250)
    /// A message that takes longer than this does so in any case: servers hear from their leader every second and elect
    /// another after four at the earliest, and until then messages for a lost leader are not stored.
    private static let greatestPatience = Duration.seconds(2)

    /// Whether one more may leave.
    ///
    /// - Parameters:
    ///   - count: How many are in flight.
    ///   - limit: How many may be in flight at most.
    func admits(behind count: Int, limit: Int, at now: ContinuousClock.Instant) -> Bool {
        guard count < min(limit, size), !isInDoubt else { return false }
        if let heldUntil, heldUntil > now { return false }
        guard let lastProgress, count > 0 else { return true }
        return now - lastProgress <= min(Self.patience + answerTime * 2, Self.greatestPatience)
    }

    /// The only message in flight has left.
    mutating func begins(at now: ContinuousClock.Instant) { lastProgress = now }

    /// A message that left at `sent` was stored.
    mutating func answered(_ sent: ContinuousClock.Instant?, limit: Int, at now: ContinuousClock.Instant) {
        if let sent { answerTime = min(now - sent, .seconds(5)) }
        if let lastProgress, now - lastProgress > Self.greatestPatience { isInDoubt = true }
        lastProgress = now
        size = min(limit, size + 1)
        refusals = 0
        heldUntil = nil
    }

    /// A message was refused: the next may leave after 250 ms, doubling up to 2 s.
    mutating func refused(at now: ContinuousClock.Instant) {
        size = 1
        // Others sent along with it are refused for the same reason.
        if let heldUntil, heldUntil > now { return }
        refusals += 1
        heldUntil = now + .milliseconds(min(2_000, 250 << min(refusals - 1, 3)))
    }

    /// No message is in flight any more.
    mutating func drained() { isInDoubt = false }

    /// The next connection starts afresh, except for the usual answer time.
    mutating func connectionLost() { (size, refusals, heldUntil) = (1, 0, nil) }
}
