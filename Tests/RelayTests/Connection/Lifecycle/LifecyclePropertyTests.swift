import NATS
import TestSupport
import Testing

@testable import Relay

/// A client without sockets: its machines, joined as the client joins them, an outbox that empties while connected, and
/// a clock that the test moves.
private struct WholeLife {
    private(set) var lifecycle: LifecycleMachine
    private(set) var connection = MachineDriver(.parley, seed: 7)
    private var timers: [LifecycleMachine.TimerID: ContinuousClock.Instant] = [:]
    private(set) var suspensions = 0
    private(set) var resumptions = 0
    private var wasResting = false
    /// How many lines wait to be sent.
    private(set) var queued = 0
    /// Suspensions for which neither the policy nor the process's stop gave a reason.
    private(set) var unreasonable = 0

    init(_ policy: LifecyclePolicy, idleTimeout: Duration? = nil) {
        lifecycle = LifecycleMachine(policy: policy, idleTimeout: idleTimeout)
    }

    var state: ConnectionStatus.State { connection.state }

    mutating func handle(_ event: LifecycleMachine.Event) {
        for action in lifecycle.handle(event, at: connection.now) {
            switch action {
            case .startTimer(let id, let moment): timers[id] = moment
            case .cancelTimer(let id): timers[id] = nil
            case .suspend:
                suspensions += 1
                if lifecycle.policy.grace == nil, event != .signal(.stopping) { unreasonable += 1 }
            case .resume: resumptions += 1
            case .probe, .rest, .replace: break
            }
            for event in action.connectionEvents(generation: connection.generation) { take(event) }
        }
        if state == .suspended, event != .connectionSuspended { handle(.connectionSuspended) }
    }

    /// An event of the connection; its end is news for the other machine.
    mutating func take(_ event: ConnectionMachine.Event) {
        let known = connection.events.count
        connection.handle(event)
        if connection.events[known...].contains(.disconnected) { handle(.userDisconnected) }
        if state == .connected { queued = 0 }
        settleRest()
    }

    /// Whether the connection rests is news for what waits for it to be needless.
    private mutating func settleRest() {
        let isResting = state == .suspended
        guard isResting != wasResting else { return }
        wasResting = isResting
        let hasSession = state != .initialized && state != .disconnected
        if isResting {
            handle(.connectionSuspended)
        } else if hasSession {
            handle(.connectionResumed(isFollowed: false))
        }
    }

    /// The person writes a line.
    mutating func submit() {
        queued = state == .connected ? 0 : queued + 1
        handle(.needed(isFollowed: false))
    }

    /// The last subscription ends.
    mutating func unsubscribe() { handle(.subscriptionsEnded) }

    mutating func connect() {
        take(.connectRequested(timeLimit: nil))
        handle(.userConnected)
    }

    mutating func disconnect() {
        handle(.userDisconnected)
        take(.disconnectRequested)
    }

    /// Lets time pass with every timer at its moment, or while the machine sleeps, with all of them late.
    mutating func pass(_ duration: Duration, asleep: Bool) {
        let end = connection.now + duration
        if asleep {
            connection.sleep(duration)
            connection.fireLate()
        } else if let moment = timers[.grace], moment <= end {
            connection.advance(moment - connection.now)
        }
        for id in [LifecycleMachine.TimerID.grace, .idle] {
            guard let moment = timers[id], moment <= connection.now else { continue }
            timers[id] = nil
            handle(.timerFired(id, isNeeded: queued > 0 || state != .connected))
        }
        if connection.now < end { connection.advance(end - connection.now) }
    }
}

@Suite("Lifecycle: whole lives")
struct LifecyclePropertyTests {
    @Test(
        "B21 B24 with lines that wait, other policies and a rest when idle, none of 100,000 steps leaves work asleep",
        .processorBound, arguments: [1, 2, 3])
    func randomWork(seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        var life = WholeLife(.rongcloud, idleTimeout: .seconds(50))
        let policies: [LifecyclePolicy] = [.ignore, .immediate, .rongcloud, .suspend(after: .seconds(10))]
        var wants = false
        var faults: [String] = []
        var (rests, waits) = (0, 0)
        func expect(_ holds: Bool, _ fault: StaticString, _ step: Int) {
            if !holds, faults.count < 10 { faults.append("\(fault), at step \(step)") }
        }
        for step in 0..<100_000 {
            if step % 1_000 == 0 { await Task.yield() }
            let (dials, wanted) = (life.connection.dials.count, wants)
            switch Int.random(in: 0..<24, using: &random) {
            case 0:
                life.connect()
                wants = true
            case 1:
                // A person who disconnects leaves what is written to the next session.
                if Int.random(in: 0..<4, using: &random) == 0 {
                    life.disconnect()
                    wants = false
                }
            case 2...5: life.handle(.signal(Bool.random(using: &random) ? .foreground : .background))
            case 6: life.handle(.signal(.stopping))
            case 7: life.handle(.signal(.woke(after: .seconds(Int64.random(in: 0...600, using: &random)))))
            case 8: if let policy = policies.randomElement(using: &random) { life.handle(.policyChanged(policy)) }
            case 9: life.unsubscribe()
            case 10...11: if wants { life.submit() }
            case 12...15: life.take(.dialSucceeded(generation: life.connection.generation))
            case 16...18: life.take(.restored(generation: life.connection.generation))
            case 19:
                life.take(
                    .connectionFailed(generation: life.connection.generation, reason: .connectionLost("random")))
            case 20: life.take(.nudged)
            case 21: life.pass(.seconds(Int64.random(in: 0...600, using: &random)), asleep: true)
            default: life.pass(.seconds(Int64.random(in: 0...60, using: &random)), asleep: false)
            }
            let isAsleep = life.state == .suspended
            if isAsleep, life.lifecycle.isIdle { rests += 1 }
            if isAsleep, life.queued > 0 { waits += 1 }
            expect(life.connection.sockets.count <= 1, "two sockets", step)
            expect(wants || life.connection.sockets.isEmpty, "a socket that nobody wants", step)
            expect(wanted || wants || life.connection.dials.count == dials, "a dial that nobody wants", step)
            expect(!isAsleep || life.connection.sockets.isEmpty, "a socket while asleep", step)
            expect(!isAsleep || life.connection.timers.isEmpty, "a timer while asleep", step)
            let hasSession = life.state != .initialized && life.state != .disconnected
            expect(wants == hasSession, "a session against the will", step)
            expect(!isAsleep || life.lifecycle.isSuspended || life.lifecycle.isIdle, "asleep for no reason", step)
            expect(!isAsleep || life.queued == 0 || life.lifecycle.isSuspended, "asleep with work", step)
            expect(!life.lifecycle.isSuspended || !life.lifecycle.isActive, "suspended in the foreground", step)
            expect(!life.lifecycle.isSuspended || isAsleep, "awake while suspended", step)
            if !faults.isEmpty { break }
        }
        #expect(faults == [] && life.unreasonable == 0)
        #expect(rests > 100 && waits > 100 && life.suspensions > 100)
        // Whoever comes back has all that waited sent with the next connection.
        life.handle(.signal(.foreground))
        life.pass(.seconds(600), asleep: false)
        life.connect()
        life.submit()
        life.take(.dialSucceeded(generation: life.connection.generation))
        life.take(.restored(generation: life.connection.generation))
        #expect(life.state == .connected && life.queued == 0)
    }

    @Test("B21 100 random changes within the grace are one disconnect and one connect at most, by the last of them")
    func randomFlicker() {
        var random = SeededGenerator(seed: 100)
        for _ in 0..<200 {
            var life = WholeLife(.immediate)
            life.connect()
            life.take(.dialSucceeded(generation: 1))
            life.take(.restored(generation: 1))
            var isActive = true
            for _ in 0..<100 {
                isActive = .random(using: &random)
                life.handle(.signal(isActive ? .foreground : .background))
                life.pass(.milliseconds(Int64.random(in: 0...9, using: &random)), asleep: false)
            }
            life.pass(.seconds(5), asleep: false)
            #expect(life.suspensions == (isActive ? 0 : 1) && life.resumptions == 0)
            life.handle(.signal(.foreground))
            #expect(life.connection.dials.count == (isActive ? 1 : 2))
        }
    }
}
