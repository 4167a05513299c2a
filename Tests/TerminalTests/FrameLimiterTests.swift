import Testing

@testable import Terminal

@Suite("When a frame is drawn")
struct FrameLimiterTests {
    private let start = ContinuousClock.now

    /// A limiter of 50 frames a second that has drawn news at `start`.
    private func busy() -> FrameLimiter {
        var limiter = FrameLimiter(framesPerSecond: 50)
        limiter.invalidate()
        _ = limiter.takeFrame(now: start)
        return limiter
    }

    @Test("What the person does is drawn at once, however short ago the last frame was")
    func person() {
        var limiter = busy()
        limiter.invalidate(by: .person)
        #expect(limiter.needsFrameNow && limiter.deadline(now: start) == start)
        let isDrawn = limiter.takeFrame(now: start)
        #expect(isDrawn && !limiter.needsFrame && !limiter.needsFrameNow)
        limiter.invalidate(by: .person)
        let isDrawnAgain = limiter.takeFrame(now: start + .microseconds(1))
        #expect(isDrawnAgain)
    }

    @Test("A key's frame shows the news as well, and puts off no news that come later")
    func keyWithNews() {
        var limiter = busy()
        limiter.invalidate()
        limiter.invalidate(by: .person)
        let isDrawn = limiter.takeFrame(now: start + .milliseconds(15))
        #expect(isDrawn && limiter.deadline(now: start + .milliseconds(15)) == nil)
        limiter.invalidate()
        #expect(limiter.deadline(now: start + .milliseconds(16)) == start + .milliseconds(20))
    }

    @Test("While the terminal takes no output, news wait for it without a deadline, and a key does not")
    func blocked() {
        var limiter = busy()
        limiter.invalidate()
        let later = start + .seconds(1)
        #expect(limiter.deadline(now: later, canShow: false) == nil)
        let isBlocked = !limiter.takeFrame(now: later, canShow: false)
        #expect(isBlocked && limiter.needsFrame)
        limiter.invalidate(by: .person)
        let isDrawn = limiter.takeFrame(now: later, canShow: false)
        #expect(isDrawn)
        limiter.invalidate()
        let isShown = limiter.takeFrame(now: later)
        #expect(isShown)
    }

    @Test("After a frame that took long, news pause for longer, up to a second; a key does not")
    func slow() {
        var limiter = busy()
        limiter.drew(taking: .milliseconds(2))
        #expect(limiter.pause == .milliseconds(20))
        limiter.drew(taking: .milliseconds(50))
        #expect(limiter.pause == .milliseconds(200))
        limiter.invalidate()
        #expect(limiter.deadline(now: start + .milliseconds(50)) == start + .milliseconds(200))
        limiter.drew(taking: .seconds(9))
        #expect(limiter.pause == .seconds(1))
        limiter.invalidate(by: .person)
        let isDrawn = limiter.takeFrame(now: start + .milliseconds(51))
        #expect(isDrawn)
        limiter.drew(taking: .seconds(-1))
        #expect(limiter.pause == .milliseconds(20))
    }

    @Test("Without a change nothing is due")
    func idle() {
        var limiter = busy()
        let isDrawn = limiter.takeFrame(now: start + .seconds(60))
        #expect(!isDrawn && limiter.deadline(now: start + .seconds(60)) == nil)
    }
}
