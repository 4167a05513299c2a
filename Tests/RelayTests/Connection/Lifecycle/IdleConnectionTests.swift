import Relay
import Testing

/// When a connection rests that nobody needs.
@Suite("Lifecycle: the rest of an idle connection")
struct IdleConnectionTests {
    private let now = ContinuousClock.now

    private func machine(idleTimeout: Duration? = .seconds(50)) -> LifecycleMachine {
        var machine = LifecycleMachine(policy: .ignore, idleTimeout: idleTimeout)
        _ = machine.handle(.userConnected, at: now)
        return machine
    }

    /// A machine whose last subscription has just ended.
    private func waiting() -> LifecycleMachine {
        var machine = machine()
        #expect(machine.handle(.subscriptionsEnded, at: now) == [.startTimer(.idle, at: now + .seconds(50))])
        return machine
    }

    @Test("B42 nothing rests where no time is configured")
    func off() {
        var machine = machine(idleTimeout: nil)
        #expect(machine.handle(.subscriptionsEnded, at: now).isEmpty)
        #expect(machine.handle(.needed(isFollowed: false), at: now).isEmpty)
    }

    @Test("B42 what is sent without a subscription is waited for, and then the connection rests again")
    func sent() {
        var machine = waiting()
        let later = now + .seconds(30)
        let end = later + .seconds(50)
        #expect(
            machine.handle(.needed(isFollowed: false), at: later) == [.cancelTimer(.idle), .startTimer(.idle, at: end)])
        #expect(machine.handle(.timerFired(.idle), at: end) == [.rest])
        // Whoever sends while it rests brings it back, for a time.
        #expect(
            machine.handle(.needed(isFollowed: false), at: end)
                == [.resume, .startTimer(.idle, at: end + .seconds(50))])
        // A client that has followed nothing in its session is left alone.
        _ = machine.handle(.userConnected, at: end)
        #expect(machine.handle(.needed(isFollowed: false), at: end).isEmpty)
    }

    @Test("B42 the connection rests when the time is up, and comes back once for whoever needs it")
    func rest() {
        var machine = waiting()
        let end = now + .seconds(50)
        #expect(machine.handle(.subscriptionsEnded, at: now).isEmpty)
        #expect(machine.handle(.timerFired(.idle), at: end) == [.rest])
        #expect(machine.isIdle && machine.handle(.subscriptionsEnded, at: end).isEmpty)
        #expect(machine.handle(.needed(isFollowed: true), at: end) == [.resume])
        #expect(machine.isReturning && !machine.isIdle)
        _ = machine.handle(.returned, at: end)
        #expect(!machine.isReturning)
        #expect(machine.handle(.needed(isFollowed: true), at: end).isEmpty)
    }

    @Test("B42 a new subscription stops the clock, and a timer that was stopped does nothing")
    func stopped() {
        var machine = waiting()
        #expect(machine.handle(.needed(isFollowed: true), at: now) == [.cancelTimer(.idle)])
        #expect(machine.handle(.timerFired(.idle), at: now + .seconds(50)).isEmpty)
        _ = machine.handle(.subscriptionsEnded, at: now + .seconds(20))
        #expect(machine.handle(.timerFired(.idle), at: now + .seconds(50)).isEmpty)
        #expect(!machine.isIdle)
    }

    @Test("B42 what else needs the connection is waited for, and the end of the session ends the wait")
    func needed() {
        var machine = waiting()
        let later = now + .seconds(600)
        let end = later + .seconds(50)
        #expect(machine.handle(.timerFired(.idle, isNeeded: true), at: later) == [.startTimer(.idle, at: end)])
        #expect(machine.handle(.userDisconnected, at: later) == [.cancelTimer(.idle)])
        #expect(machine.handle(.timerFired(.idle), at: end).isEmpty)
        #expect(machine.handle(.subscriptionsEnded, at: end).isEmpty, "Nothing is waited for without a session")
        // A wait that was put off begins anew, and only where nothing is followed.
        machine = waiting()
        #expect(machine.handle(.connectionSuspended, at: now) == [.cancelTimer(.idle)])
        #expect(machine.handle(.connectionResumed(isFollowed: true), at: now).isEmpty)
        #expect(machine.handle(.connectionResumed(isFollowed: false), at: later) == [.startTimer(.idle, at: end)])
        #expect(machine.handle(.connectionResumed(isFollowed: false), at: later).isEmpty)
        #expect(machine.handle(.timerFired(.idle), at: end) == [.rest])
        // A rest is over with its session.
        #expect(machine.handle(.userDisconnected, at: end).isEmpty && !machine.isIdle)
    }
}
