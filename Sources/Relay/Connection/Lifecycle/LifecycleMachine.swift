import NATS

/// Foreground, background and the connection's rest, as a pure value: an event and the present moment in, actions out.
///
/// The last signal decides, however fast signals come: a return within the grace period costs nothing, and 100 quick
/// changes suspend at most once. Only a client that its user connected, and did not disconnect, ever comes back by
/// itself. Unknown means foreground: a machine starts active.
package struct LifecycleMachine: Sendable {
    /// Names the grace timer. A cancelled or replaced timer has another serial, so that a late firing is recognised.
    package struct TimerID: Hashable, Sendable {
        /// Different for each timer that the machine starts.
        package let serial: UInt64
    }

    /// What can happen.
    package enum Event: Hashable, Sendable {
        /// The application is in the foreground (true) or not. Repetitions are harmless.
        case active(Bool)
        /// The process is about to be stopped, and can keep no connection, whatever the policy. It is in the background
        /// from now on.
        case stopping
        /// The machine slept for this long, or the process was stopped, and runs again.
        case woke(after: Duration)
        /// Something suggests a look at the connection.
        case suspected
        /// The user asked for a connection.
        case userConnected
        /// The user ended the connection, or it ended and is not tried again.
        case userDisconnected
        /// The grace timer reached its moment.
        case timerFired(TimerID)
        /// The background does something else from now on.
        case policyChanged(LifecyclePolicy)
    }

    /// What the driver does, in order.
    package enum Action: Hashable, Sendable {
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Put the connection to rest.
        case suspend
        /// Bring the connection back, with the backoff reset.
        case resume
        /// Check that the connection still lives. One that is waited for is tried at once.
        case probe
        /// Leave the connection, which the server has given up by now, for a new one at once.
        case renew
    }

    /// What the background does to the connection.
    package private(set) var policy: LifecyclePolicy
    /// How long the server waits for a client that says nothing.
    package let patience: Duration
    /// Whether the application is in the foreground, by the last signal.
    package private(set) var isActive = true
    /// Whether the user wants a connection.
    package private(set) var wantsConnection = false
    /// Whether the machine has put the connection to rest.
    package private(set) var isSuspended = false

    private var grace: (id: TimerID, deadline: ContinuousClock.Instant)?
    private var inactiveSince: ContinuousClock.Instant?
    /// When the connection was looked after last.
    private var checkedAt: ContinuousClock.Instant?
    private var serial: UInt64 = 0

    /// Signals that mean the same come together: what was looked after is not looked after again within this time.
    static let checkSpacing = Duration.seconds(1)

    /// A machine of an application in the foreground that never connected.
    ///
    /// - Parameters:
    ///   - policy: what the background does.
    ///   - patience: how long the server waits for a client that says nothing.
    package init(policy: LifecyclePolicy, patience: Duration = .seconds(240)) {
        self.policy = policy
        self.patience = patience
    }

    /// The timer that the driver should be running.
    package var runningTimer: TimerID? { grace?.id }

    /// Takes in what happened and says what to do.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; moments never go backwards.
    package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        switch event {
        case .active(true): return foreground(at: now)
        case .active(false): return background(at: now)
        case .stopping: return stopping(at: now)
        case .woke(let asleep): return woke(after: asleep, at: now)
        case .suspected: return wantsConnection && !isSuspended ? check(at: now) : []
        case .userConnected:
            wantsConnection = true
            // The user's own wish wins over the background, for one more grace period.
            isSuspended = false
            return isActive ? [] : startGrace(at: now)
        case .userDisconnected:
            wantsConnection = false
            isSuspended = false
            return cancelGrace()
        case .timerFired(let id):
            guard let running = grace, running.id == id else { return [] }
            grace = nil
            isSuspended = true
            return [.suspend]
        case .policyChanged(let new):
            policy = new
            guard !isActive, wantsConnection, !isSuspended else { return [] }
            return new.grace == nil ? cancelGrace() : startGrace(at: now)
        }
    }

    private mutating func background(at now: ContinuousClock.Instant) -> [Action] {
        guard isActive else { return [] }
        isActive = false
        inactiveSince = now
        return wantsConnection && !isSuspended ? startGrace(at: now) : []
    }

    private mutating func foreground(at now: ContinuousClock.Instant) -> [Action] {
        guard !isActive else { return [] }
        isActive = true
        let away = inactiveSince.map { now - $0 } ?? .zero
        inactiveSince = nil
        var actions = cancelGrace()
        if isSuspended {
            isSuspended = false
            actions.append(.resume)
        } else if wantsConnection, away >= LifecyclePolicy.shortestGrace {
            // The connection was kept, or a stopped process could not let it go in time: it may be dead by now.
            actions += check(at: now)
        }
        return actions
    }

    private mutating func stopping(at now: ContinuousClock.Instant) -> [Action] {
        isActive = false
        inactiveSince = inactiveSince ?? now
        return wantsConnection && !isSuspended ? suspend() : []
    }

    private mutating func woke(after asleep: Duration, at now: ContinuousClock.Instant) -> [Action] {
        guard wantsConnection, !isSuspended else { return [] }
        // The grace went on while the machine slept; its timer may be late.
        if let running = grace, running.deadline <= now { return suspend() }
        return asleep >= patience ? renew(at: now) : check(at: now)
    }

    private mutating func suspend() -> [Action] {
        isSuspended = true
        return cancelGrace() + [.suspend]
    }

    private mutating func check(at now: ContinuousClock.Instant) -> [Action] {
        if let checkedAt, now - checkedAt < Self.checkSpacing { return [] }
        checkedAt = now
        return [.probe]
    }

    private mutating func renew(at now: ContinuousClock.Instant) -> [Action] {
        checkedAt = now
        return [.renew]
    }

    private mutating func startGrace(at now: ContinuousClock.Instant) -> [Action] {
        guard let length = policy.grace else { return [] }
        var actions = cancelGrace()
        serial += 1
        let id = TimerID(serial: serial)
        grace = (id, now + length)
        actions.append(.startTimer(id, at: now + length))
        return actions
    }

    private mutating func cancelGrace() -> [Action] {
        guard let running = grace else { return [] }
        grace = nil
        return [.cancelTimer(running.id)]
    }
}

extension LifecycleMachine.Action {
    /// What this means to the connection, in order; nothing for a timer.
    ///
    /// - Parameters:
    ///   - generation: the present dial's.
    ///   - isIdle: whether the connection rests because nobody needs it, which no return to the foreground changes.
    package func connectionEvents(generation: UInt64, isIdle: Bool) -> [ConnectionMachine.Event] {
        switch self {
        case .startTimer, .cancelTimer: return []
        case .suspend: return [.suspendRequested]
        case .resume, .probe: return isIdle ? [] : [.resumeRequested]
        case .renew:
            let reason = ConnectionReason.connectionLost("the machine slept, or the program was stopped, for too long")
            return isIdle ? [] : [.connectionFailed(generation: generation, reason: reason), .resumeRequested]
        }
    }
}
