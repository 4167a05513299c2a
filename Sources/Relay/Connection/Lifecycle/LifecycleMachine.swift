import NATS

/// Whether there is to be a connection: foreground, background, and the rest of one that nobody needs. A pure value: an
/// event and the present moment in, actions out.
///
/// The last signal decides, however fast signals come: a return within the grace period costs nothing, and 100 quick
/// changes suspend at most once. Only a client that its user connected, and did not disconnect, ever comes back by
/// itself. Unknown means foreground: a machine starts active. Only the end of the last subscription begins the wait for
/// an idle connection's rest, so that a client that never subscribes is left alone.
package struct LifecycleMachine: Sendable {
    package enum TimerID: Hashable, Sendable {
        /// The end of the grace period in the background.
        case grace
        /// The rest of a connection that nobody needs.
        case idle
    }

    package enum Event: Hashable, Sendable {
        /// Something happens to the application. Repetitions are harmless; one that is about to be stopped is in the
        /// background from now on.
        case signal(LifecycleEvent)
        /// The user asked for a connection. An idle one rests no more.
        case userConnected
        /// The user ended the connection, or it ended and is not tried again.
        case userDisconnected
        /// A timer reached its moment.
        ///
        /// - Parameter isNeeded: whether something other than a subscription needs the connection now.
        case timerFired(TimerID, isNeeded: Bool = false)
        /// The last subscription has ended, or was let go.
        case subscriptionsEnded
        /// Something needs the connection: a subscription, or without one something to send, after which the wait for
        /// its rest begins anew.
        case needed(isFollowed: Bool)
        /// It is known what became of an idle connection's way back.
        case returned
        /// The connection was suspended, for whichever reason, so that nothing is waited for.
        case connectionSuspended
        /// The connection runs again after that.
        case connectionResumed(isFollowed: Bool)
        /// The background does something else from now on.
        case policyChanged(LifecyclePolicy)
    }

    /// What the driver does, in order.
    package enum Action: Hashable, Sendable {
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Forget a timer.
        case cancelTimer(TimerID)
        /// Suspend the connection for the background.
        case suspend
        /// Let the connection go, since nobody needs it.
        case rest
        /// Bring the connection back, with the backoff reset.
        case resume
        /// Check that the connection still lives. One that is waited for is tried at once.
        case probe
        /// Leave the connection, which the server has given up by now, for a new one at once.
        case replace
    }

    private enum Place {
        case foreground
        case background(since: ContinuousClock.Instant, Connection)
    }

    /// What the background does to the connection.
    private enum Connection {
        /// It is kept, or there is none.
        case kept
        /// The grace ends then.
        case grace(until: ContinuousClock.Instant)
        case suspended
    }

    private enum Idle {
        /// The connection is needed, or is left alone.
        case needed
        case waiting(until: ContinuousClock.Instant)
        case resting
    }

    /// What the background does to the connection.
    package private(set) var policy: LifecyclePolicy
    /// How long the server waits for a client that says nothing.
    package let patience: Duration
    /// How long a connection stays that nobody needs; nil for ever.
    package let idleTimeout: Duration?
    package private(set) var wantsConnection = false
    /// Whether an idle connection is on its way back, and what becomes of that is not known yet.
    package private(set) var isReturning = false

    /// Where the application is, by the last signal.
    private var place = Place.foreground
    private var idle = Idle.needed
    /// Whether there has been a subscription in this session.
    private var hasFollowed = false
    /// When the connection was looked after last.
    private var checkedAt: ContinuousClock.Instant?

    /// Signals that mean the same come together: what was looked after is not looked after again within this time.
    static let checkSpacing = Duration.seconds(1)

    /// A machine of an application in the foreground that never connected.
    ///
    /// - Parameters:
    ///   - policy: what the background does.
    ///   - patience: how long the server waits for a client that says nothing.
    ///   - idleTimeout: how long a connection stays that nobody needs; nil for ever.
    package init(policy: LifecyclePolicy, patience: Duration = .seconds(240), idleTimeout: Duration? = nil) {
        self.policy = policy
        self.patience = patience
        self.idleTimeout = idleTimeout
    }

    package var isActive: Bool { if case .foreground = place { true } else { false } }

    /// Whether the background has suspended the connection.
    package var isSuspended: Bool { if case .background(_, .suspended) = place { true } else { false } }

    private var grace: ContinuousClock.Instant? {
        if case .background(_, .grace(let end)) = place { end } else { nil }
    }

    /// Whether the connection was let go since nobody needed it.
    package var isIdle: Bool { if case .resting = idle { true } else { false } }

    /// Takes in what happened and says what to do.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; moments never go backwards.
    package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        switch event {
        case .signal(.foreground): return foreground(at: now)
        case .signal(.background): return background(at: now)
        case .signal(.stopping): return stopping(at: now)
        case .signal(.woke(let asleep)): return woke(after: asleep, at: now)
        case .signal(.probe): return wantsConnection && !isSuspended ? check(at: now) : []
        case .userConnected:
            wantsConnection = true
            // The user's own wish wins over the background, for one more grace period.
            return resetIdle() + startGrace(at: now)
        case .userDisconnected:
            wantsConnection = false
            return resetIdle() + change(to: .kept)
        // A timer that was cancelled as it fired comes too early for the next one.
        case .timerFired(.grace, _):
            guard let grace, grace <= now else { return [] }
            _ = change(to: .suspended)
            return [.suspend]
        case .timerFired(.idle, let isNeeded):
            guard case .waiting(let deadline) = idle, deadline <= now else { return [] }
            idle = .needed
            guard !isNeeded else { return awaitRest(at: now) }
            (idle, isReturning) = (.resting, false)
            return [.rest]
        case .subscriptionsEnded:
            hasFollowed = true
            return awaitRest(at: now)
        case .needed(let isFollowed):
            var actions: [Action] = []
            if isIdle {
                (idle, isReturning) = (.needed, true)
                // In the background it stays away; the foreground brings it back.
                if !isSuspended { actions = [.resume] }
            } else {
                actions = cancelIdle()
            }
            return isFollowed || !hasFollowed ? actions : actions + awaitRest(at: now)
        case .returned:
            isReturning = false
            return []
        case .connectionSuspended: return cancelIdle()
        case .connectionResumed(let isFollowed): return hasFollowed && !isFollowed ? awaitRest(at: now) : []
        case .policyChanged(let new):
            policy = new
            return wantsConnection && !isSuspended ? startGrace(at: now) : []
        }
    }

    private mutating func background(at now: ContinuousClock.Instant) -> [Action] {
        guard isActive else { return [] }
        place = .background(since: now, .kept)
        return wantsConnection ? startGrace(at: now) : []
    }

    private mutating func foreground(at now: ContinuousClock.Instant) -> [Action] {
        guard case .background(let since, let connection) = place else { return [] }
        let actions = change(to: .kept)
        place = .foreground
        // No return to the foreground brings a connection back that nobody needs.
        if case .suspended = connection { return isIdle ? [] : [.resume] }
        // The connection was kept, or a stopped process could not let it go in time: it may be dead by now.
        let mayBeDead = wantsConnection && now - since >= LifecyclePolicy.shortestGrace
        return mayBeDead ? actions + check(at: now) : actions
    }

    private mutating func stopping(at now: ContinuousClock.Instant) -> [Action] {
        if isActive { place = .background(since: now, .kept) }
        return wantsConnection && !isSuspended ? suspend() : []
    }

    private mutating func woke(after asleep: Duration, at now: ContinuousClock.Instant) -> [Action] {
        guard wantsConnection, !isSuspended else { return [] }
        // The grace went on while the machine slept; its timer may be late.
        if let grace, grace <= now { return suspend() }
        return asleep >= patience ? replace(at: now) : check(at: now)
    }

    private mutating func suspend() -> [Action] { change(to: .suspended) + [.suspend] }

    /// Does something else to the connection in the background, and forgets the grace that runs.
    private mutating func change(to connection: Connection) -> [Action] {
        guard case .background(let since, let earlier) = place else { return [] }
        place = .background(since: since, connection)
        return if case .grace = earlier { [.cancelTimer(.grace)] } else { [] }
    }

    private mutating func check(at now: ContinuousClock.Instant) -> [Action] {
        if let checkedAt, now - checkedAt < Self.checkSpacing { return [] }
        checkedAt = now
        return isIdle ? [] : [.probe]
    }

    private mutating func replace(at now: ContinuousClock.Instant) -> [Action] {
        checkedAt = now
        return isIdle ? [] : [.replace]
    }

    private mutating func startGrace(at now: ContinuousClock.Instant) -> [Action] {
        guard let length = policy.grace, !isActive else { return change(to: .kept) }
        return change(to: .grace(until: now + length)) + [.startTimer(.grace, at: now + length)]
    }

    /// Begins to wait for the rest of a connection that nobody needs, unless that is waited for or has begun.
    private mutating func awaitRest(at now: ContinuousClock.Instant) -> [Action] {
        guard let idleTimeout, wantsConnection, case .needed = idle else { return [] }
        idle = .waiting(until: now + idleTimeout)
        return [.startTimer(.idle, at: now + idleTimeout)]
    }

    private mutating func cancelIdle() -> [Action] {
        guard case .waiting = idle else { return [] }
        idle = .needed
        return [.cancelTimer(.idle)]
    }

    private mutating func resetIdle() -> [Action] {
        defer { (idle, isReturning, hasFollowed) = (.needed, false, false) }
        return cancelIdle()
    }
}

extension LifecycleMachine.Action {
    /// The meaning for the connection, in order; nothing for a timer.
    ///
    /// - Parameter generation: the present dial's.
    package func connectionEvents(generation: UInt64) -> [ConnectionMachine.Event] {
        switch self {
        case .startTimer, .cancelTimer: return []
        case .suspend: return [.suspendRequested]
        case .rest: return [.restRequested]
        case .resume, .probe: return [.resumeRequested]
        case .replace:
            let reason = ConnectionReason.connectionLost("the machine slept, or the program was stopped, for too long")
            return [.connectionFailed(generation: generation, reason: reason), .resumeRequested]
        }
    }
}
