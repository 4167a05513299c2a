import Terminal

/// Decides what the screen's thread does next. The user's own input is shown before anything else happens. News is
/// taken in rounds, one for each frame that can show it, and each round in portions: the input is checked between any
/// two, so that a key waits for one portion at most, however much has arrived.
///
/// A pure value: the caller passes the time and carries out the steps.
struct ScreenPace: Sendable {
    enum Step: Equatable, Sendable {
        /// Sleep until something happens or the instant arrives; one in the past means to check without sleeping.
        case wait(until: ContinuousClock.Instant?)
        /// Take a portion of the news, then call `tookPortion`.
        case takeNews
        /// Draw, then call `drew`.
        case draw
    }

    /// The most messages in a portion; its last batch may exceed it.
    static let portionMessages = 512
    /// The most time for a portion; its last batch may exceed it.
    static let portionTime = Duration.milliseconds(2)
    /// A round longer than this means that the screen does not keep up.
    static let longRound = Duration.seconds(1)

    private var frames = FrameLimiter()
    private var hasNews = false
    private var isAwaited = false
    private var owesLook = false
    private var lastRound: ContinuousClock.Instant?
    /// When the current round began; nil between rounds.
    private var roundBegan: ContinuousClock.Instant?

    mutating func invalidate(by cause: FrameLimiter.Cause) { frames.invalidate(by: cause) }

    /// Notes that news is waiting. News that the user awaits is not put off by any pause.
    mutating func newsCame(isAwaited: Bool = false) {
        hasNews = true
        if isAwaited { self.isAwaited = true }
    }

    /// Notes that a portion was taken; `isLast` if nothing is left. An empty one, after a portion that took everything,
    /// does not delay the next round.
    mutating func tookPortion(isLast: Bool, isEmpty: Bool = false) {
        owesLook = true
        if !isEmpty, let roundBegan { lastRound = roundBegan }
        guard isLast else { return }
        hasNews = false
        isAwaited = false
        roundBegan = nil
    }

    mutating func drew(taking cost: Duration) { frames.drew(taking: cost) }

    /// Whether more news has arrived than the screen's thread can take, for a while.
    func isBehind(now: ContinuousClock.Instant) -> Bool {
        roundBegan.map { now >= $0 + Self.longRound } ?? false
    }

    /// - Parameters:
    ///   - canShow: whether the terminal takes a frame now.
    ///   - nextChange: when the screen next changes with time alone, if ever. Evaluated only before a sleep.
    mutating func next(
        now: ContinuousClock.Instant, canShow: Bool, nextChange: @autoclosure () -> ContinuousClock.Instant?
    ) -> Step {
        if frames.needsFrameNow, frames.takeFrame(now: now) { return .draw }
        if owesLook {
            owesLook = false
            return .wait(until: now)
        }
        if let roundBegan {
            // Frames are drawn during a long round too, so that the rows are seen to move.
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

    /// When a round may begin: at once after a quiet time, otherwise as often as frames can show its news.
    private func roundDue(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let afterRound = lastRound.map { $0 + frames.pause }
        return [afterRound, frames.nextSlot].compactMap(\.self).max() ?? now
    }
}
