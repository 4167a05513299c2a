/// Decides when to draw: the first change after a pause at once, then at most one frame in each interval.
///
/// A pure value: the caller tells the time.
public struct FrameLimiter: Sendable {
    /// The least time between two frames.
    public let interval: Duration
    private var lastFrame: ContinuousClock.Instant?
    private var isDirty = false

    /// Makes a limiter for at most `framesPerSecond` frames a second, 1…1000.
    public init(framesPerSecond: Int = 60) {
        interval = .nanoseconds(1_000_000_000 / min(max(1, framesPerSecond), 1000))
    }

    /// True when something changed that no frame has shown.
    public var needsFrame: Bool { isDirty }

    /// Notes that what is shown is out of date.
    public mutating func invalidate() {
        isDirty = true
    }

    /// When the next frame is due: nil when nothing changed, else an instant that may have passed already.
    public func deadline(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard isDirty else { return nil }
        guard let lastFrame else { return now }
        return lastFrame + interval
    }

    /// True, once for each change, when a frame has to be drawn now; the caller then draws it.
    public mutating func takeFrame(now: ContinuousClock.Instant) -> Bool {
        guard isDirty else { return false }
        if let lastFrame, now < lastFrame + interval { return false }
        lastFrame = now
        isDirty = false
        return true
    }
}
