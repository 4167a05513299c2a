/// When to start a server again that ended by itself: at once after a good life, ever later after short ones, and not
/// any more when it never lives.
struct RestartPolicy: Hashable, Sendable {
    /// From this lifetime on, a server counts as having lived.
    var goodLifetime: Duration = .seconds(10)
    /// The wait after the second short life; it doubles with each further one.
    var firstDelay: Duration = .milliseconds(100)
    /// The longest wait.
    var longestDelay: Duration = .seconds(5)
    /// How many short lives in a row end it.
    var maximumShortLives = 8
    /// How many are enough while no server has ever answered: then something is wrong with how it is started.
    var maximumSilentLives = 3

    private var shortLives = 0
    private var hasAnswered = false

    init() {}

    /// A server has ended.
    /// - Parameters:
    ///   - lifetime: how long it ran.
    ///   - didAnswer: whether clients could use it.
    /// - Returns: how long to wait before the next; nil to give up.
    mutating func delay(afterLifetime lifetime: Duration, didAnswer: Bool) -> Duration? {
        if didAnswer { hasAnswered = true }
        if lifetime >= goodLifetime { shortLives = 0 }
        shortLives += 1
        guard shortLives < (hasAnswered ? maximumShortLives : maximumSilentLives) else { return nil }
        guard shortLives > 1 else { return .zero }
        return min(firstDelay * (1 << (shortLives - 2)), longestDelay)
    }
}

/// Whether a network has been without clients for long enough to end.
struct IdleClock: Hashable, Sendable {
    let timeout: Duration
    private var idleSince: ContinuousClock.Instant?

    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// The network was looked at.
    /// - Returns: whether to end it.
    mutating func observe(isUsed: Bool, at now: ContinuousClock.Instant) -> Bool {
        guard !isUsed else {
            idleSince = nil
            return false
        }
        let since = idleSince ?? now
        idleSince = since
        return now - since >= timeout
    }
}
