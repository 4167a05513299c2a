import Terminal
import Testing

@testable import Parley

@Suite("What the screen's thread does next")
struct ScreenPaceTests {
    private let start = ContinuousClock.now

    private func step(_ pace: inout ScreenPace, after wait: Duration = .zero) -> ScreenPace.Step {
        pace.next(now: start + wait, canShow: true, nextChange: nil)
    }

    /// A pace with a round of news behind it, drawn at `start`.
    private func drawn() -> ScreenPace {
        var pace = ScreenPace()
        pace.newsCame()
        _ = step(&pace)
        pace.invalidate(by: .news)
        pace.tookPortion(isLast: true)
        _ = step(&pace)
        _ = step(&pace)
        pace.drew(taking: .zero)
        return pace
    }

    private let pause = FrameLimiter().interval

    @Test("What comes right after a frame is not taken before the next one can show it")
    func betweenFrames() {
        var pace = drawn()
        pace.newsCame()
        let waiting = step(&pace, after: .milliseconds(1))
        #expect(waiting == .wait(until: start + pause))
        let stillWaiting = step(&pace, after: .milliseconds(9))
        #expect(stillWaiting == .wait(until: start + pause))
        let taking = step(&pace, after: pause)
        #expect(taking == .takeNews)
    }

    @Test("A look for news that were taken already puts off none that come later")
    func nothingLeft() {
        var pace = drawn()
        pace.newsCame()
        let looking = step(&pace, after: pause)
        #expect(looking == .takeNews)
        pace.tookPortion(isLast: true, isEmpty: true)
        _ = step(&pace, after: pause)
        pace.newsCame()
        let taking = step(&pace, after: pause + .milliseconds(1))
        #expect(taking == .takeNews)
    }

    @Test("A round without end is drawn once in each interval, and after a second the screen is behind")
    func endless() {
        var pace = drawn()
        pace.newsCame()
        var (frames, now) = (0, pause)
        var isLate: Bool?
        while now < .seconds(3) {
            switch step(&pace, after: now) {
            case .takeNews:
                now += .milliseconds(2)
                pace.invalidate(by: .news)
                pace.tookPortion(isLast: false)
            case .draw:
                frames += 1
                pace.drew(taking: .milliseconds(1))
            case .wait(let deadline): #expect(deadline == start + now)
            }
            if isLate == nil, pace.isBehind(now: start + now) { isLate = now >= pause + .seconds(1) }
        }
        #expect((80...90).contains(frames) && isLate == true, "\(frames)")
        pace.tookPortion(isLast: true)
        #expect(!pace.isBehind(now: start + now))
    }

    @Test("Behind a slow line, news come with a longer pause")
    func slowLine() {
        var pace = drawn()
        pace.drew(taking: .milliseconds(100))
        pace.newsCame()
        let waiting = step(&pace, after: pause)
        #expect(waiting == .wait(until: start + .milliseconds(400)))
    }
}
