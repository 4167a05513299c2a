import Terminal
import Testing

@testable import Parley

@Suite("What the screen's thread does next")
struct ScreenPaceTests {
    private let start = ContinuousClock.now

    private func step(
        _ pace: inout ScreenPace, after wait: Duration = .zero, canShow: Bool = true,
        nextChange: ContinuousClock.Instant? = nil
    ) -> ScreenPace.Step {
        pace.next(now: start + wait, canShow: canShow, nextChange: nextChange)
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

    @Test("With nothing to do it sleeps without an end, or until time alone changes the screen")
    func idle() {
        var pace = drawn()
        let sleeping = step(&pace, after: .seconds(5))
        #expect(sleeping == .wait(until: nil))
        let countdown = start + .seconds(7)
        let counting = step(&pace, after: .seconds(5), nextChange: countdown)
        #expect(counting == .wait(until: countdown))
    }

    @Test("What comes after a pause is taken at once, then the input is looked at, then it is drawn")
    func afterPause() {
        var pace = drawn()
        pace.newsCame()
        let taking = step(&pace, after: .seconds(5))
        #expect(taking == .takeNews)
        pace.invalidate(by: .news)
        pace.tookPortion(isLast: true)
        let looking = step(&pace, after: .seconds(5))
        #expect(looking == .wait(until: start + .seconds(5)))
        let drawing = step(&pace, after: .seconds(5))
        #expect(drawing == .draw)
        let sleeping = step(&pace, after: .seconds(5))
        #expect(sleeping == .wait(until: nil))
    }

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

    @Test("In a flood, a look at the input follows each portion, and a key is drawn before the next one")
    func flood() {
        var pace = drawn()
        pace.newsCame()
        let first = step(&pace, after: pause)
        #expect(first == .takeNews)
        pace.invalidate(by: .news)
        pace.tookPortion(isLast: false)
        let look = step(&pace, after: pause)
        #expect(look == .wait(until: start + pause))
        pace.invalidate(by: .person)
        let drawing = step(&pace, after: pause)
        #expect(drawing == .draw)
        let next = step(&pace, after: pause)
        #expect(next == .takeNews)
    }

    @Test("A round without end is drawn once in each interval, and after a second the screen is behind")
    func endless() {
        var pace = drawn()
        pace.newsCame()
        var frames = 0
        var now = pause
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
        #expect((80...90).contains(frames), "\(frames)")
        #expect(isLate == true)
        pace.tookPortion(isLast: true)
        #expect(!pace.isBehind(now: start + now))
    }

    @Test("While the terminal takes no output, news are taken and not drawn; a key is")
    func blocked() {
        var pace = drawn()
        pace.newsCame()
        let taking = step(&pace, after: pause, canShow: false)
        #expect(taking == .takeNews)
        pace.invalidate(by: .news)
        pace.tookPortion(isLast: true)
        let looking = step(&pace, after: pause, canShow: false)
        #expect(looking == .wait(until: start + pause))
        let sleeping = step(&pace, after: pause, canShow: false)
        #expect(sleeping == .wait(until: nil))
        pace.newsCame()
        let early = step(&pace, after: pause + .milliseconds(1), canShow: false)
        #expect(early == .wait(until: start + pause + pause))
        pace.invalidate(by: .person)
        let drawing = step(&pace, after: pause + .milliseconds(2), canShow: false)
        #expect(drawing == .draw)
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
