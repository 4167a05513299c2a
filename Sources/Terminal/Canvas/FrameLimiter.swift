/// Decides when to draw: what the person does always at once; news at once after a pause, then at most once in each
/// interval, and not at all while the terminal takes no output.
///
/// A value without a clock: the caller passes the time.
public struct FrameLimiter: Sendable {
    /// What made the screen out of date.
    public enum Cause: Sendable {
        /// A key, a paste, the mouse, or a new window size: its frame does not wait.
        case person
        /// Anything else.
        case news
    }

    /// The least time between two frames of news.
    public let interval: Duration
    /// When a frame of news was drawn last.
    private var lastFrame: ContinuousClock.Instant?
    private var lastCost = Duration.zero
    /// Whether something changed that no frame has shown.
    private(set) var needsFrame = false
    /// Whether the person did that.
    public private(set) var needsFrameNow = false

    /// Frames of news take at most one part in this many of the time: a frame that took long, as it does on a slow
    /// line, is followed by a longer pause, in which keys are shown.
    private static let share = 4
    private static let longestPause = Duration.seconds(1)

    /// Makes a limiter for at most `framesPerSecond` frames of news a second, 1…1000.
    public init(framesPerSecond: Int = 30) {
        interval = .nanoseconds(1_000_000_000 / min(max(1, framesPerSecond), 1000))
    }

    /// The time between two frames of news, by what the last frame took: `interval` up to a second.
    public var pause: Duration {
        max(interval, min(lastCost * Self.share, Self.longestPause))
    }

    /// When news can be shown next; nil if none was yet.
    public var nextSlot: ContinuousClock.Instant? { lastFrame.map { $0 + pause } }

    /// Notes that the screen is out of date.
    public mutating func invalidate(by cause: Cause = .news) {
        needsFrame = true
        if cause == .person { needsFrameNow = true }
    }

    /// When the next frame is due, perhaps in the past; nil if nothing changed, or the terminal cannot take it.
    public func deadline(now: ContinuousClock.Instant, canShow: Bool = true) -> ContinuousClock.Instant? {
        if needsFrameNow { return now }
        guard needsFrame, canShow else { return nil }
        return nextSlot ?? now
    }

    /// Whether a frame has to be drawn now: true once for each change, after which the caller draws it. While the
    /// terminal takes no output news wait, but what the person does is drawn, so that the terminal shows it next.
    public mutating func takeFrame(now: ContinuousClock.Instant, canShow: Bool = true) -> Bool {
        guard let deadline = deadline(now: now, canShow: canShow), deadline <= now else { return false }
        // Keys do not put off news, or a person who types would see none.
        if !needsFrameNow { lastFrame = now }
        needsFrame = false
        needsFrameNow = false
        return true
    }

    /// Notes how long a frame took, from the model to the last byte that the terminal accepted.
    public mutating func drew(taking cost: Duration) {
        lastCost = max(.zero, cost)
    }
}
