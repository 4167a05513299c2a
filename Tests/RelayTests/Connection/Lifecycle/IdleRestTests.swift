import Testing

@testable import Relay

/// When a connection rests that nobody needs.
@Suite("The rest of an idle connection")
struct IdleRestTests {
    private let now = ContinuousClock.now

    /// A value whose last subscription has just ended, and the timer that it waits for.
    private func waiting() throws -> (IdleRest, IdleRest.TimerID) {
        var idle = IdleRest(after: .seconds(50))
        let actions = idle.subscriptionsEnded(at: now)
        guard case .startTimer(let id, let moment)? = actions.first else { throw RelayError.cancelled }
        #expect(actions.count == 1 && moment == now + .seconds(50))
        return (idle, id)
    }

    @Test("B42 nothing rests where no time is configured")
    func off() {
        var idle = IdleRest(after: nil)
        #expect(idle.subscriptionsEnded(at: now).isEmpty)
        #expect(idle.needed().isEmpty)
    }

    @Test("B42 the connection rests when the time is up, and comes back once for whoever needs it")
    func rest() throws {
        var (idle, id) = try waiting()
        #expect(idle.subscriptionsEnded(at: now).isEmpty)
        #expect(idle.timerFired(id, isNeeded: false, at: now) == [.rest])
        #expect(idle.isResting && idle.subscriptionsEnded(at: now).isEmpty)
        #expect(idle.needed() == [.resume])
        #expect(idle.needed().isEmpty)
    }

    @Test("B42 a new subscription stops the clock, and a timer that was stopped does nothing")
    func stopped() throws {
        var (idle, id) = try waiting()
        #expect(idle.needed() == [.cancelTimer(id)])
        #expect(idle.timerFired(id, isNeeded: false, at: now).isEmpty)
        #expect(!idle.isResting)
    }

    @Test("B42 what else needs the connection is waited for, and the end of the session ends the wait")
    func needed() throws {
        var (idle, id) = try waiting()
        let again = idle.timerFired(id, isNeeded: true, at: now)
        guard case .startTimer(let next, _)? = again.first else { throw RelayError.cancelled }
        #expect(next != id)
        #expect(idle.reset() == [.cancelTimer(next)])
        #expect(idle.timerFired(next, isNeeded: false, at: now).isEmpty)
        // A rest is over with its session.
        (idle, id) = try waiting()
        #expect(idle.timerFired(id, isNeeded: false, at: now) == [.rest])
        #expect(idle.reset().isEmpty && !idle.isResting)
    }
}
