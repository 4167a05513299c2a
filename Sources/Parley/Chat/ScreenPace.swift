import Terminal

/// Decides what the screen's thread does next. What the person does is shown before anything else happens. News are
/// taken in rounds, one for each frame that can show them, and a round in portions: between any two of them the input
/// is looked at, so that a key waits for one portion at most, however much has come.
///
/// A pure value: the caller tells the time and carries out the steps.
struct ScreenPace: Sendable {
    enum Step: Equatable, Sendable {
        /// Sleep until something happens, or until an instant; one that has passed asks for a look without sleep.
        case wait(until: ContinuousClock.Instant?)
        /// Take a portion of the news, then call `tookPortion`.
        case takeNews
        /// Draw, then call `drew`.
        case draw
    }

    /// The messages of one portion at most; the last batch may exceed it.
    static let portionMessages = 512
    /// The time of one portion at most; the last batch may exceed it.
    static let portionTime = Duration.milliseconds(2)
    /// So long a round means that the screen does not keep up.
    static let longRound = Duration.seconds(1)

    private var frames = FrameLimiter()
    private var hasNews = false
    private var isAwaited = false
    private var owesLook = false
    private var lastRound: ContinuousClock.Instant?
    /// When the round began that is not at its end.
    private var roundBegan: ContinuousClock.Instant?

    mutating func invalidate(by cause: FrameLimiter.Cause) { frames.invalidate(by: cause) }

    /// News wait to be taken. No pause puts off what a person awaits.
    mutating func newsCame(isAwaited: Bool = false) {
        hasNews = true
        if isAwaited { self.isAwaited = true }
    }

    /// A portion was taken; if it is the last, nothing waits behind it. One that is empty, because the portion
    /// before it had it all, puts off no other round.
    mutating func tookPortion(isLast: Bool, isEmpty: Bool = false) {
        owesLook = true
        if !isEmpty, let roundBegan { lastRound = roundBegan }
        guard isLast else { return }
        hasNews = false
        isAwaited = false
        roundBegan = nil
    }

    mutating func drew(taking cost: Duration) { frames.drew(taking: cost) }

    /// Whether what comes has been more than the screen's thread can take, for a while.
    func isBehind(now: ContinuousClock.Instant) -> Bool {
        roundBegan.map { now >= $0 + Self.longRound } ?? false
    }

    /// - Parameters:
    ///   - canShow: whether the terminal takes a frame now.
    ///   - nextChange: when the screen changes by time alone; nil when it does not. Only a sleep asks for it.
    mutating func next(
        now: ContinuousClock.Instant, canShow: Bool, nextChange: @autoclosure () -> ContinuousClock.Instant?
    ) -> Step {
        if frames.needsFrameNow, frames.takeFrame(now: now) { return .draw }
        if owesLook {
            owesLook = false
            return .wait(until: now)
        }
        if let roundBegan {
            // A round without end must not hide that the rows move.
            if now >= roundBegan + frames.pause, frames.takeFrame(now: now, canShow: canShow) { return .draw }
            return .takeNews
        }
        let nextRound = hasNews ? isAwaited ? now : roundDue(now) : nil
        if let nextRound, nextRound <= now {
            roundBegan = now
            return .takeNews
        }
        if frames.takeFrame(now: now, canShow: canShow) { return .draw }
        return .wait(
            until: [frames.deadline(now: now, canShow: canShow), nextRound, nextChange()].compactMap(\.self).min())
    }

    /// When a round may begin: after a pause at once, then as often as frames can show what it brings.
    private func roundDue(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let afterRound = lastRound.map { $0 + frames.pause }
        return [afterRound, frames.nextSlot].compactMap(\.self).max() ?? now
    }
}
