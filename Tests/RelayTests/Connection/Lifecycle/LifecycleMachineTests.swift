import NATS
import Testing

@testable import Relay

@Suite("Lifecycle: what the machine makes of signals")
struct LifecycleMachineTests {
    /// What happens to an application, its machine and its person.
    enum Step: Sendable {
        case connect, disconnect, background, foreground, stopping, probe
        case policy(LifecyclePolicy)
        case woke(after: Int)
        /// So many seconds pass, with timers that ring in time.
        case wait(Double)
        /// So many seconds pass in which no timer can ring.
        case asleep(Int)
        /// A timer rings late, though it was cancelled meanwhile.
        case lateTimer
        /// The last subscription ends, or something needs the connection: a new one, or a line to send.
        case unfollowed, followed, sends
        /// So many seconds pass in which something else needs the connection.
        case busy(Double)
        /// The connection rests for another reason, and comes back, with a subscription or without.
        case suspended
        case resumed(isFollowed: Bool)
    }

    /// Carries out the machine's actions on paper.
    private struct Driver {
        var machine: LifecycleMachine
        var now = ContinuousClock.now
        var timers: [LifecycleMachine.TimerID: ContinuousClock.Instant] = [:]
        var calls: [LifecycleMachine.Action] = []

        init(_ policy: LifecyclePolicy) { machine = LifecycleMachine(policy: policy, idleTimeout: .seconds(50)) }

        mutating func take(_ step: Step) {
            switch step {
            case .connect: handle(.userConnected)
            case .disconnect: handle(.userDisconnected)
            case .background: handle(.signal(.background))
            case .foreground: handle(.signal(.foreground))
            case .stopping: handle(.signal(.stopping))
            case .probe: handle(.signal(.probe))
            case .policy(let policy): handle(.policyChanged(policy))
            case .woke(let seconds): handle(.signal(.woke(after: .seconds(seconds))))
            case .wait(let seconds): advance(.seconds(seconds))
            case .asleep(let seconds): now += .seconds(seconds)
            case .lateTimer: handle(.timerFired(.grace))
            case .unfollowed: handle(.subscriptionsEnded)
            case .followed: handle(.needed(isFollowed: true))
            case .sends: handle(.needed(isFollowed: false))
            case .busy(let seconds): advance(.seconds(seconds), isNeeded: true)
            case .suspended: handle(.connectionSuspended)
            case .resumed(let isFollowed): handle(.connectionResumed(isFollowed: isFollowed))
            }
        }

        private mutating func handle(_ event: LifecycleMachine.Event) {
            for action in machine.handle(event, at: now) {
                switch action {
                case .startTimer(let id, let moment): timers[id] = moment
                case .cancelTimer(let id): timers[id] = nil
                case .suspend, .rest, .resume, .probe, .replace: calls.append(action)
                }
            }
        }

        private mutating func advance(_ duration: Duration, isNeeded: Bool = false) {
            let end = now + duration
            while let (id, moment) = timers.min(by: { $0.value < $1.value }), moment <= end {
                now = moment
                timers[id] = nil
                handle(.timerFired(id, isNeeded: isNeeded))
            }
            now = end
        }
    }

    private static let twoMinutes = LifecyclePolicy.suspend(after: .seconds(120))

    static let lives: [(LifecyclePolicy, [Step], [LifecycleMachine.Action])] = [
        // A quick look elsewhere costs nothing.
        (twoMinutes, [.connect, .background, .wait(0.999), .foreground, .wait(1_000)], []),
        // A client that never connected stays down.
        (twoMinutes, [.background, .wait(1_000), .foreground], []),
        // A disconnect stays, also one made in the background, before or after the suspension.
        (twoMinutes, [.connect, .disconnect, .background, .wait(1_000), .foreground], []),
        (twoMinutes, [.connect, .background, .wait(10), .disconnect, .wait(1_000), .foreground], []),
        (twoMinutes, [.connect, .background, .wait(1_000), .disconnect, .foreground], [.suspend]),
        // A connection that was kept is probed once on return.
        (.ignore, [.connect, .background, .wait(30), .foreground, .foreground], [.probe]),
        (twoMinutes, [.connect, .background, .wait(60), .foreground], [.probe]),
        // A connect in the background gets a grace period of its own.
        (twoMinutes, [.background, .connect, .wait(120)], [.suspend]),
        (twoMinutes, [.background, .connect, .wait(120), .connect, .wait(120)], [.suspend, .suspend]),
        // A stop suspends at once, whatever the policy, and the foreground brings the connection back.
        (twoMinutes, [.connect, .stopping, .stopping, .background, .wait(3_600), .foreground], [.suspend, .resume]),
        (twoMinutes, [.connect, .background, .wait(30), .stopping, .wait(3_600), .foreground], [.suspend, .resume]),
        (.ignore, [.connect, .background, .wait(3_600), .stopping, .foreground], [.suspend, .resume]),
        // It concerns no connection that its user does not want.
        (twoMinutes, [.stopping, .foreground], []),
        (twoMinutes, [.connect, .stopping, .disconnect, .foreground], [.suspend]),
        // Another policy holds from now on, and in the background its wait begins anew.
        (twoMinutes, [.connect, .background, .wait(119), .policy(.suspend(after: .seconds(10))), .wait(9)], []),
        (twoMinutes, [.connect, .background, .wait(119), .policy(.ignore), .wait(3_600)], []),
        (.ignore, [.connect, .background, .policy(.immediate), .wait(1), .policy(.ignore)], [.suspend]),
        (.immediate, [.connect, .background, .wait(1), .policy(.ignore), .foreground], [.suspend, .resume]),
        // A process that was stopped beyond its grace probes on return, and its late timer does nothing.
        (twoMinutes, [.connect, .background, .asleep(3_600), .foreground, .lateTimer], [.probe]),
        // A sleep in the background that is longer than the grace suspends.
        (
            twoMinutes, [.connect, .background, .asleep(3_600), .woke(after: 3_600), .lateTimer, .foreground],
            [.suspend, .resume]
        ),
        // A short sleep is followed by a probe, one beyond the server's patience by a new connection at once.
        (
            twoMinutes, [.connect, .asleep(239), .woke(after: 239), .asleep(240), .woke(after: 240)],
            [.probe, .replace]
        ),
        // It wakes no connection that rests or is not wanted.
        (twoMinutes, [.woke(after: 3_600)], []),
        (.immediate, [.connect, .background, .wait(1), .woke(after: 3_600)], [.suspend]),
        // Signals that mean the same come to one probe.
        (.ignore, [.connect, .background, .wait(60), .woke(after: 50), .foreground, .probe], [.probe]),
        (.ignore, [.connect, .background, .wait(60), .foreground, .wait(1), .probe], [.probe, .probe]),
    ]

    /// For connections that rest when nobody has needed them for fifty seconds.
    static let rests: [(LifecyclePolicy, [Step], [LifecycleMachine.Action])] = [
        (.ignore, [.connect, .unfollowed, .wait(49)], []),
        (.ignore, [.connect, .unfollowed, .wait(50), .unfollowed, .wait(50)], [.rest]),
        // Whoever needs it brings it back, once.
        (.ignore, [.connect, .unfollowed, .wait(50), .followed, .followed, .wait(600)], [.rest, .resume]),
        // A new subscription stops the clock, and the end of that one starts it anew.
        (.ignore, [.connect, .unfollowed, .followed, .wait(600)], []),
        (.ignore, [.connect, .unfollowed, .followed, .wait(20), .unfollowed, .wait(49)], []),
        // What is sent without a subscription is waited for, and then the connection rests again.
        (.ignore, [.connect, .unfollowed, .wait(30), .sends, .wait(49)], []),
        (.ignore, [.connect, .unfollowed, .wait(30), .sends, .wait(50)], [.rest]),
        (.ignore, [.connect, .unfollowed, .wait(50), .sends, .wait(50)], [.rest, .resume, .rest]),
        // A client that has followed nothing in its session is left alone.
        (.ignore, [.connect, .sends, .wait(600)], []),
        // So is one that something else needs, for as long as that does.
        (.ignore, [.connect, .unfollowed, .busy(60), .wait(39)], []),
        (.ignore, [.connect, .unfollowed, .busy(60), .wait(40)], [.rest]),
        // The end of the session ends the wait, and without one nothing is waited for.
        (.ignore, [.connect, .unfollowed, .disconnect, .wait(600)], []),
        (.ignore, [.connect, .unfollowed, .disconnect, .unfollowed, .wait(600)], []),
        // A wait that was put off begins anew, and only where nothing is followed.
        (.ignore, [.connect, .unfollowed, .suspended, .wait(600)], []),
        (.ignore, [.connect, .unfollowed, .suspended, .resumed(isFollowed: true), .wait(600)], []),
        (.ignore, [.connect, .unfollowed, .suspended, .wait(600), .resumed(isFollowed: false), .wait(50)], [.rest]),
        // A connection that rests is woken by no signal and no return to the foreground.
        (.ignore, [.connect, .unfollowed, .wait(50), .probe, .woke(after: 600)], [.rest]),
        (
            .immediate, [.connect, .unfollowed, .wait(50), .background, .wait(1), .foreground, .followed],
            [.rest, .suspend, .resume]
        ),
    ]

    @Test(
        "B21 B24 B25 B27 B42: a life of signals and subscriptions leads to these acts alone", arguments: lives + rests)
    func life(_ policy: LifecyclePolicy, _ steps: [Step], _ calls: [LifecycleMachine.Action]) {
        var driver = Driver(policy)
        for step in steps { driver.take(step) }
        #expect(driver.calls == calls)
    }

    @Test("B42: nothing rests where no time is configured, and a return lasts until it is known what became of it")
    func rest() {
        let now = ContinuousClock.now
        var machine = LifecycleMachine(policy: .ignore)
        for event in [LifecycleMachine.Event.userConnected, .subscriptionsEnded, .needed(isFollowed: false)] {
            #expect(machine.handle(event, at: now).isEmpty)
        }
        machine = LifecycleMachine(policy: .ignore, idleTimeout: .seconds(50))
        for event in [LifecycleMachine.Event.userConnected, .subscriptionsEnded] { _ = machine.handle(event, at: now) }
        let end = now + .seconds(50)
        #expect(machine.handle(.timerFired(.idle), at: end) == [.rest] && machine.isIdle)
        #expect(machine.handle(.needed(isFollowed: true), at: end) == [.resume] && machine.isReturning)
        #expect(machine.handle(.returned, at: end).isEmpty && !machine.isReturning && !machine.isIdle)
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

    @Test("B12: the presets do what the systems do that they are named after")
    func presets() {
        #expect(LifecyclePolicy.rongcloud.grace == .seconds(120) && LifecyclePolicy.nexconn.grace == .seconds(120))
        #expect(LifecyclePolicy.relayx.grace == nil && LifecyclePolicy.supabase.grace == .seconds(1))
        #expect(LifecyclePolicy.sudo.grace == .seconds(1) && LifecyclePolicy.immediate.grace == .seconds(1))
        #expect(LifecyclePolicy.suspend(after: .zero).grace == .seconds(1))
    }
}
