import NATS
import Testing

@testable import Relay

/// What the machine does about the signals beside foreground and background.
@Suite("Lifecycle: stops, sleeps and suspicions")
struct LifecycleSignalTests {
    typealias Driver = LifecycleMachineTests.Driver

    @Test("B27: a process that is about to be stopped suspends at once, and comes back with the foreground")
    func stopping() {
        var driver = Driver()
        driver.handle(.signal(.stopping))
        #expect(driver.calls == [.suspend] && driver.machine.isSuspended && driver.timer == nil)
        driver.handle(.signal(.stopping))
        driver.handle(.signal(.background))
        driver.advance(.seconds(3_600))
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("B27: a stop within the grace of the background ends the grace")
    func stoppingInBackground() {
        var driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.seconds(30))
        driver.handle(.signal(.stopping))
        #expect(driver.calls == [.suspend] && driver.timer == nil)
        driver.advance(.seconds(3_600))
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("B24, B27: a stop concerns no connection that its user does not want")
    func stoppingUnwanted() {
        var driver = Driver(connected: false)
        driver.handle(.signal(.stopping))
        driver.handle(.signal(.foreground))
        #expect(driver.calls.isEmpty)
        driver = Driver()
        driver.handle(.signal(.stopping))
        driver.handle(.userDisconnected)
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend])
    }

    @Test("B27: a stop suspends where the background does not")
    func stoppingKept() {
        var driver = Driver(.ignore)
        driver.handle(.signal(.background))
        driver.advance(.seconds(3_600))
        #expect(driver.calls.isEmpty)
        driver.handle(.signal(.stopping))
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("B21: another policy holds from now on, and in the background its wait begins anew")
    func policyChanged() {
        var driver = Driver()
        driver.handle(.signal(.background))
        driver.advance(.seconds(119))
        driver.handle(.policyChanged(.suspend(after: .seconds(10))))
        driver.advance(.seconds(9))
        #expect(driver.calls.isEmpty)
        driver.handle(.policyChanged(.ignore))
        driver.advance(.seconds(3_600))
        #expect(driver.calls.isEmpty && driver.timer == nil)
        driver.handle(.policyChanged(.immediate))
        driver.advance(.seconds(1))
        #expect(driver.calls == [.suspend])
        // What is suspended stays so until the foreground.
        driver.handle(.policyChanged(.ignore))
        #expect(driver.calls == [.suspend])
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("B25: a short sleep is followed by a probe, one beyond the server's patience by a new connection at once")
    func sleep() {
        var driver = Driver()
        driver.now += .seconds(239)
        driver.handle(.signal(.woke(after: .seconds(239))))
        #expect(driver.calls == [.probe])
        driver.now += .seconds(240)
        driver.handle(.signal(.woke(after: .seconds(240))))
        #expect(driver.calls == [.probe, .replace])
    }

    @Test("B24, B25: a sleep wakes no connection that rests or is not wanted")
    func sleepAtRest() {
        var driver = Driver(connected: false)
        driver.handle(.signal(.woke(after: .seconds(3_600))))
        #expect(driver.calls.isEmpty)
        driver = Driver(.immediate)
        driver.handle(.signal(.background))
        driver.advance(.seconds(1))
        driver.handle(.signal(.woke(after: .seconds(3_600))))
        #expect(driver.calls == [.suspend])
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("A sleep in the background that is longer than the grace suspends, though the timer is late")
    func sleepBeyondGrace() throws {
        var driver = Driver()
        driver.handle(.signal(.background))
        let late = try #require(driver.timer).id
        driver.now += .seconds(3_600)
        driver.handle(.signal(.woke(after: .seconds(3_600))))
        driver.handle(.timerFired(late))
        #expect(driver.calls == [.suspend] && driver.timer == nil)
        driver.handle(.signal(.foreground))
        #expect(driver.calls == [.suspend, .resume])
    }

    @Test("B25: signals that mean the same come to one probe")
    func together() {
        var driver = Driver(.ignore)
        driver.handle(.signal(.background))
        driver.advance(.seconds(60))
        driver.handle(.signal(.woke(after: .seconds(50))))
        driver.handle(.signal(.foreground))
        driver.handle(.signal(.probe))
        #expect(driver.calls == [.probe])
        driver.advance(.seconds(1))
        driver.handle(.signal(.probe))
        #expect(driver.calls == [.probe, .probe])
    }

    @Test("B42: a connection that rests because nobody needs it is woken by no return to the foreground")
    func idle() {
        let now = ContinuousClock.now
        var machine = LifecycleMachine(policy: .immediate, idleTimeout: .seconds(50))
        for event in [LifecycleMachine.Event.userConnected, .subscriptionsEnded] { _ = machine.handle(event, at: now) }
        let end = now + .seconds(50)
        #expect(machine.handle(.timerFired(.idle), at: end) == [.rest])
        for event in [LifecycleMachine.Event.signal(.probe), .signal(.woke(after: .seconds(600)))] {
            #expect(machine.handle(event, at: end).isEmpty)
        }
        _ = machine.handle(.signal(.background), at: end)
        #expect(machine.handle(.timerFired(.grace), at: end + .seconds(1)) == [.suspend])
        #expect(machine.handle(.signal(.foreground), at: end + .seconds(9)).isEmpty)
        #expect(machine.handle(.needed(isFollowed: true), at: end + .seconds(9)) == [.resume])
    }

    @Test("B25: each action means to the connection what its events say")
    func connectionEvents() {
        for action in [LifecycleMachine.Action.resume, .probe, .replace] {
            #expect(action.connectionEvents(generation: 1).last == .resumeRequested)
        }
        #expect(LifecycleMachine.Action.suspend.connectionEvents(generation: 1) == [.suspendRequested])
        #expect(LifecycleMachine.Action.rest.connectionEvents(generation: 1) == [.restRequested])
        // Neither of the two clocks tells which it was.
        let reason = ConnectionReason.connectionLost("the machine slept, or the program was stopped, for too long")
        let replacement = LifecycleMachine.Action.replace.connectionEvents(generation: 1)
        #expect(replacement.first == .connectionFailed(generation: 1, reason: reason))
    }
}
