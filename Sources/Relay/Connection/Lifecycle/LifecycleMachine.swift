import NATS

/// Whether there should be a connection: foreground, background, and the suspension of an idle one. A pure value: an
/// event and the present moment in, actions out.
///
/// The last signal decides, however fast signals arrive: a return within the grace period costs nothing, and 100 quick
/// changes suspend at most once. Only a client whose user connected it, and did not disconnect it, ever returns
/// automatically. Unknown means foreground: a machine starts active. Only the end of the last subscription starts the
/// idle timeout, so that a client that never subscribes is left alone.
package struct LifecycleMachine: Sendable {
    package enum TimerID: Hashable, Sendable {
        /// The end of the grace period in the background.
        case grace
        /// The end of the idle timeout.
        case idle
    }

    package enum Event: Hashable, Sendable {
        /// Something happened to the application. Repetitions are harmless; one that is about to be stopped counts as
        /// in the background.
        case signal(LifecycleEvent)
        /// The user asked for a connection, which ends any idling.
        case userConnected
        /// The user ended the connection, or it ended for good.
        case userDisconnected
        /// A timer fired.
        ///
        /// - Parameter isNeeded: Whether something other than a subscription needs the connection now.
        case timerFired(TimerID, isNeeded: Bool = false)
        /// The last subscription has ended.
        case subscriptionsEnded
        /// The connection is needed: by a subscription, or else to send something, after which the idle timeout starts
        /// again.
        case needed(isFollowed: Bool)
        /// It is known whether an idle connection came back.
        case returned
        /// The connection was suspended, for whatever reason; nothing is timed.
        case connectionSuspended
        /// The connection is running again.
        case connectionResumed(isFollowed: Bool)
        /// The policy for the background has changed.
        case policyChanged(LifecyclePolicy)
    }

    /// What the driver does, in order.
    package enum Action: Hashable, Sendable {
        /// Report ``Event/timerFired(_:)`` at this moment.
        case startTimer(TimerID, at: ContinuousClock.Instant)
        /// Cancel a timer.
        case cancelTimer(TimerID)
        /// Suspend the connection for the background.
        case suspend
        /// Suspend the connection as idle.
        case rest
        /// Resume the connection with a fresh backoff.
        case resume
        /// Check that the connection is alive, or retry at once during an outage.
        case probe
        /// Replace the connection, which the server must have given up by now, at once.
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
        /// The grace period lasts until then.
        case grace(until: ContinuousClock.Instant)
        case suspended
    }

    private enum Idle {
        /// The connection is needed, or left alone.
        case needed
        case waiting(until: ContinuousClock.Instant)
        case resting
    }

    package private(set) var policy: LifecyclePolicy
    /// How long the server waits for a silent client.
    package let patience: Duration
    /// How long an idle connection stays; nil means forever.
    package let idleTimeout: Duration?
    package private(set) var wantsConnection = false
    /// Whether an idle connection is returning, with unknown outcome.
    package private(set) var isReturning = false

    /// The application's place, by the last signal.
    private var place = Place.foreground
    private var idle = Idle.needed
    /// Whether there has been a subscription in this session.
    private var hasFollowed = false
    /// When the connection was last checked.
    private var checkedAt: ContinuousClock.Instant?

    /// Signals with the same cause come together, so the connection is checked once within this time.
    static let checkSpacing = Duration.seconds(1)

    /// A machine of an application in the foreground that never connected.
    ///
    /// - Parameters:
    ///   - policy: What the background does.
    ///   - patience: How long the server waits for a silent client.
    ///   - idleTimeout: How long an idle connection stays; nil means forever.
    package init(policy: LifecyclePolicy, patience: Duration = .seconds(240), idleTimeout: Duration? = nil) {
        self.policy = policy
        self.patience = patience
        self.idleTimeout = idleTimeout
    }

    package var isActive: Bool { if case .foreground = place { true } else { false } }

    package var isSuspended: Bool { if case .background(_, .suspended) = place { true } else { false } }

    private var grace: ContinuousClock.Instant? { if case .background(_, .grace(let end)) = place { end } else { nil } }

    /// Whether the connection was suspended as idle.
    package var isIdle: Bool { if case .resting = idle { true } else { false } }

    /// Handles an event and returns the actions, in order. Moments never go backwards.
    package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        switch event {
        case .signal(.foreground): return foreground(at: now)
        case .signal(.background): return background(at: now)
        case .signal(.stopping): return stopping(at: now)
        case .signal(.woke(let asleep)): return woke(after: asleep, at: now)
        case .signal(.probe): return wantsConnection && !isSuspended ? check(at: now) : []
        case .userConnected:
            wantsConnection = true
            // The user's own request beats the background, for one more grace period.
            return resetIdle() + startGrace(at: now)
        case .userDisconnected:
            wantsConnection = false
            return resetIdle() + change(to: .kept)
        // A timer that was cancelled while it fired is too early for the next one.
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
                // In the background it stays suspended until the foreground.
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
        // A return to the foreground does not resume an idle connection.
        if case .suspended = connection { return isIdle ? [] : [.resume] }
        // The connection was kept, or a stopped process could not close it in time: it may be dead by now.
        let mayBeDead = wantsConnection && now - since >= LifecyclePolicy.shortestGrace
        return mayBeDead ? actions + check(at: now) : actions
    }

    private mutating func stopping(at now: ContinuousClock.Instant) -> [Action] {
        if isActive { place = .background(since: now, .kept) }
        return wantsConnection && !isSuspended ? suspend() : []
    }

    private mutating func woke(after asleep: Duration, at now: ContinuousClock.Instant) -> [Action] {
        guard wantsConnection, !isSuspended else { return [] }
        // The grace period continued during sleep, and its timer may be late.
        if let grace, grace <= now { return suspend() }
        return asleep >= patience ? replace(at: now) : check(at: now)
    }

    private mutating func suspend() -> [Action] { change(to: .suspended) + [.suspend] }

    /// Changes what the background does to the connection, and ends a running grace period.
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

    /// Starts the idle timeout, unless it is running or has passed.
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
    /// The connection's events for this action, in order; none for a timer.
    ///
    /// - Parameter generation: The present dial's.
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
