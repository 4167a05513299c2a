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
        #expect(idle.needed(isFollowed: false, at: now).isEmpty)
    }

    @Test("B42 what is sent without a subscription is waited for, and then the connection rests again")
    func sent() throws {
        var (idle, id) = try waiting()
        let later = now + .seconds(30)
        let actions = idle.needed(isFollowed: false, at: later)
        guard actions.count == 2, actions[0] == .cancelTimer(id), case .startTimer(let next, let moment) = actions[1]
        else { throw RelayError.cancelled }
        #expect(moment == later + .seconds(50))
        #expect(idle.timerFired(next, isNeeded: false, at: moment) == [.rest])
        // Whoever sends while it rests brings it back, for a time.
        let woken = idle.needed(isFollowed: false, at: moment)
        #expect(woken.first == .resume && woken.count == 2)
        // A client that has followed nothing in its session is left alone.
        _ = idle.reset()
        #expect(idle.needed(isFollowed: false, at: moment).isEmpty)
    }

    @Test("B42 the connection rests when the time is up, and comes back once for whoever needs it")
    func rest() throws {
        var (idle, id) = try waiting()
        #expect(idle.subscriptionsEnded(at: now).isEmpty)
        #expect(idle.timerFired(id, isNeeded: false, at: now) == [.rest])
        #expect(idle.isResting && idle.subscriptionsEnded(at: now).isEmpty)
        #expect(idle.needed(isFollowed: true, at: now) == [.resume])
        #expect(idle.isReturning && !idle.isResting)
        idle.returned()
        #expect(!idle.isReturning)
        #expect(idle.needed(isFollowed: true, at: now).isEmpty)
    }

    @Test("B42 a new subscription stops the clock, and a timer that was stopped does nothing")
    func stopped() throws {
        var (idle, id) = try waiting()
        #expect(idle.needed(isFollowed: true, at: now) == [.cancelTimer(id)])
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
        // A wait that was put off begins anew, and only where nothing is followed.
        (idle, id) = try waiting()
        #expect(idle.pause() == [.cancelTimer(id)])
        #expect(idle.goOn(isFollowed: true, at: now).isEmpty)
        let later = now + .seconds(600)
        guard case .startTimer(let resumed, let moment)? = idle.goOn(isFollowed: false, at: later).first else {
            throw RelayError.cancelled
        }
        #expect(moment == later + .seconds(50) && idle.goOn(isFollowed: false, at: later).isEmpty)
        #expect(idle.timerFired(resumed, isNeeded: false, at: moment) == [.rest])
        // A rest is over with its session.
        (idle, id) = try waiting()
        #expect(idle.timerFired(id, isNeeded: false, at: now) == [.rest])
        #expect(idle.reset().isEmpty && !idle.isResting)
    }
}
