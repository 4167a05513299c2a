import NATS

/// The life of one client's connection, as a pure value: an event and the present moment in, actions out.
///
/// A session begins with connect and ends exactly once: by disconnect, a final reason, a passed limit or a passed
/// window. Within it the machine dials, waits, restores, suspends and resumes; at most one dial or socket exists at any
/// time, each with a generation number of its own, and what a replaced one reports is ignored. The state is connected
/// only after the subscriptions and the outbox have been restored.
///
/// The driver feeds events one at a time and carries out the actions in order.
package struct ConnectionMachine: Sendable {
    /// What the machine is busy with; finer than the published state.
    enum Phase: Hashable, Sendable {
        /// No session.
        case resting
        /// A dial is under way.
        case dialing
        /// The socket is open; subscriptions and outbox are being brought back.
        case restoring
        /// Connected.
        case online
        /// Between two attempts: a timer runs, or the network is away.
        case waiting
        /// The token provider was asked.
        case renewing
        /// In the background.
        case suspended
    }

    /// A running timer.
    struct RunningTimer: Hashable, Sendable {
        let id: TimerID
        let deadline: ContinuousClock.Instant
    }

    /// The present status.
    package internal(set) var status = ConnectionStatus.initialized
    /// The number of the newest dial; 0 before the first.
    package internal(set) var generation: UInt64 = 0
    /// When to try again. A change holds from the next decision on.
    package var policy: ReconnectPolicy

    var generator: SeededGenerator
    var phase = Phase.resting
    var timers: [TimerID.Kind: RunningTimer] = [:]
    var timerSerial: UInt64 = 0
    var output: [Action] = []
    var published = ConnectionStatus.initialized

    var isNetworkAvailable = true
    var isConnectPending = false
    var timeLimit = Duration.zero
    /// Whether this session has ever been connected.
    var hasConnected = false
    /// Whether RECONNECTING was delivered for the present outage.
    var isOutageAnnounced = false
    /// Whether the connection is open again and RECONNECTED waits for what is still failing.
    var isRecoveryUnannounced = false
    /// What is followed and is not live on the present connection, by name.
    var failing: [String] = []
    /// Whether nothing of that is expected to pass by itself.
    var isFollowingComplete = true
    /// How many waits of the schedule the present backoff has used.
    var backoffStep = 0
    /// How often the token was renewed since the last connection that lasted.
    var renewals = 0
    /// What the token provider was asked for a new token for.
    var refusal: ConnectionReason?
    var lastDialAt: ContinuousClock.Instant?
    var connectedAt: ContinuousClock.Instant?

    /// A machine that was never asked to connect.
    ///
    /// - Parameters:
    ///   - policy: when to try again.
    ///   - seed: where the jitter starts; equal seeds and events give equal actions.
    package init(policy: ReconnectPolicy, seed: UInt64) {
        self.policy = policy
        generator = SeededGenerator(seed: seed)
    }

    /// Has the jitter start somewhere else.
    package mutating func reseed(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }

    /// The timers that the driver should be running.
    package var runningTimers: Set<TimerID> { Set(timers.values.map(\.id)) }

    /// Takes in what happened and says what to do.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - now: when; moments never go backwards.
    /// - Returns: what to do, in order.
    package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        output.removeAll(keepingCapacity: true)
        expire(before: event, at: now)
        switch event {
        case .connectRequested(let limit): connect(limit: limit, at: now)
        case .dialSucceeded(let number): dialSucceeded(number)
        case .restored(let number): restored(number, at: now)
        case .connectionFailed(let number, let reason, let limit, let isHopeless):
            guard number == generation, phase == .dialing || hasSocket else { break }
            if isHopeless, !hasConnected { end(reason) } else { fail(reason, at: now, retryWithin: limit) }
        case .serverControl(let number, let reason):
            guard number == generation, hasSocket else { break }
            // The administrator's word is final even where this version does not know its code.
            if reason.isUnknown { end(reason) } else if reason.isFinal || reason.isRenewal { fail(reason, at: now) }
        case .readerFellBehind(let number):
            if number == generation, phase == .online { status.slowReaders += 1 }
        case .followingChanged(let failing, let isComplete): followingChanged(failing, isComplete)
        case .timerFired(let id): timerFired(id, at: now)
        case .disconnectRequested: if phase != .resting { end(.closedByUser) }
        case .suspendRequested: suspend(.backgrounded)
        case .restRequested: suspend(nil)
        case .resumeRequested: resume(at: now)
        case .networkLost: networkLost()
        case .networkReturned: networkReturned(at: now)
        case .nudged: if phase == .waiting { hasten(at: now) }
        case .roundTrip(let number, let duration):
            guard number == generation, phase == .online else { break }
            status.roundTripTime = duration
            status.silentSince = nil
        case .silence(let number, let since):
            guard number == generation, phase == .online else { break }
            // An earlier measurement is not current any more.
            if since != nil { status.roundTripTime = nil }
            status.silentSince = since
        case .credentialsRenewed(let number):
            if number == generation, phase == .renewing { dialOrPause(at: now) }
        case .credentialsUnavailable(let number):
            if number == generation, phase == .renewing { end(refusal ?? .tokenExpired) }
        }
        publish()
        return output
    }

    /// Whether the present dial has led to a socket that is still in use.
    var hasSocket: Bool { phase == .restoring || phase == .online }

    /// A limit or window that has passed counts before anything else that happens, even when its timer is late: after a
    /// laptop slept, say. Only an open connection is kept.
    private mutating func expire(before event: Event, at now: ContinuousClock.Instant) {
        if case .restored = event { return }
        if case .disconnectRequested = event { return }
        guard var first = timers[.timeLimit] ?? timers[.window] else { return }
        if let window = timers[.window], window.deadline < first.deadline { first = window }
        guard first.deadline <= now else { return }
        if case .timerFired(let id) = event {
            if id == first.id { return }
            if timers[id.kind]?.id == id { timers[id.kind] = nil }
        }
        output.append(.cancelTimer(first.id))
        timerFired(first.id, at: now)
    }

    private mutating func connect(limit: Duration?, at now: ContinuousClock.Instant) {
        switch phase {
        case .online:
            output.append(.completeConnect(nil))
        case .resting:
            isConnectPending = true
            begin(at: now)
            limitConnect(to: limit, at: now)
            dialOrPause(at: now)
        case .suspended:
            isConnectPending = true
            limitConnect(to: limit, at: now)
            resume(at: now)
        case .waiting:
            isConnectPending = true
            limitConnect(to: limit, at: now)
            hasten(at: now)
        case .dialing, .restoring, .renewing:
            isConnectPending = true
            limitConnect(to: limit, at: now)
        }
    }

    /// All callers of connect share one outcome, so the earliest of their limits holds for all.
    private mutating func limitConnect(to limit: Duration?, at now: ContinuousClock.Instant) {
        guard let limit, limit > .zero else { return }
        let deadline = now + limit
        if let running = timers[.timeLimit], running.deadline <= deadline { return }
        timeLimit = limit
        start(.timeLimit, at: deadline)
    }

    private mutating func dialSucceeded(_ number: UInt64) {
        if number == generation, phase == .dialing {
            phase = .restoring
            output.append(.restore(generation: number))
        } else if number != generation || !hasSocket {
            // A dial that was given up while it succeeded.
            output.append(.closeSocket(generation: number))
        }
    }

    private mutating func restored(_ number: UInt64, at now: ContinuousClock.Instant) {
        guard number == generation, phase == .restoring else { return }
        phase = .online
        connectedAt = now
        let isFirst = !hasConnected
        hasConnected = true
        cancelTimers(TimerID.Kind.allCases)
        status = ConnectionStatus(
            state: .connected, recoveries: isFirst ? 0 : status.recoveries + 1, failingTopics: failing)
        publish()
        if isFirst { output.append(.event(.connected)) } else { isRecoveryUnannounced = true }
        announceRecovery()
        completeConnect(nil)
    }

    private mutating func followingChanged(_ failing: [String], _ isComplete: Bool) {
        (self.failing, isFollowingComplete) = (failing, isComplete)
        guard phase == .online else { return }
        status.failingTopics = failing
        publish()
        announceRecovery()
    }

    /// RECONNECTED comes when nothing is missing that is going to pass by itself.
    private mutating func announceRecovery() {
        guard isRecoveryUnannounced, isFollowingComplete else { return }
        isRecoveryUnannounced = false
        isOutageAnnounced = false
        output.append(.event(.reconnected))
    }

    private mutating func timerFired(_ id: TimerID, at now: ContinuousClock.Instant) {
        guard timers[id.kind]?.id == id else { return }
        timers[id.kind] = nil
        switch id.kind {
        case .retry: dialOrPause(at: now)
        case .timeLimit: end(.timeLimit(timeLimit, after: hindrance))
        case .window: end(.windowExpired)
        case .longOutage: status.isLongOutage = true
        }
    }

    /// What kept the connection from being there in time: the last failure, or what is still waited for.
    private var hindrance: ConnectionReason? {
        switch phase {
        case .resting, .online, .suspended: nil
        case .waiting: status.reason
        case .renewing: status.reason ?? refusal
        case .dialing: status.reason ?? .unreachable("no server has answered yet")
        case .restoring: status.reason ?? .unreachable("the server took the login and has not answered since")
        }
    }

    private mutating func networkLost() {
        isNetworkAvailable = false
        guard phase == .waiting else { return }
        pause()
    }

    private mutating func networkReturned(at now: ContinuousClock.Instant) {
        isNetworkAvailable = true
        switch phase {
        case .waiting:
            resetBackoff()
            dialOrPause(at: now)
        case .dialing, .restoring, .renewing: backoffStep = 0
        case .online: output.append(.probe(generation: generation))
        case .resting, .suspended: break
        }
    }
}
