/// The life of one client's connection, as a pure value: an event and the present moment in, actions out.
///
/// A session begins with `connect` and ends exactly once: by `disconnect`, a final reason, a passed limit or a passed
/// window. Within it the machine dials, waits, restores, suspends and resumes. There is at most one dial or socket at a
/// time, each with its own generation number, and reports of a replaced one are ignored. The state is connected only
/// after everything on the connection has been restored.
///
/// The driver feeds events one at a time and carries out the actions in order.
package struct ConnectionMachine: Sendable {
    private struct Session {
        var phase: Phase
        /// Whether callers of `connect` wait for a connection.
        var isAwaited = false
        /// The earliest limit of these callers.
        var limit: Duration?
        /// The last event of this session.
        var told: ConnectionEvent?
        var recoveries = 0
        /// How many waits of the schedule the present backoff has used.
        var backoffStep = 0
        var lastDialAt: ContinuousClock.Instant?
    }

    private enum Phase {
        case down(Outage)
        case online(Online)
        /// In the background, or, without a reason, idle.
        case suspended(ConnectionReason?)
    }

    private struct Outage {
        enum Step {
            case dialing
            /// The socket is open, and everything on it is being restored.
            case restoring(Followed)
            /// Between two attempts; without a timer until there is a network.
            case waiting
            /// The token provider was asked.
            case renewing(ConnectionReason)
        }

        let began: ContinuousClock.Instant
        var step = Step.waiting
        var attempt = 0
        var reason: ConnectionReason?
        var isLong = false
    }

    private struct Online {
        let since: ContinuousClock.Instant
        var followed: Followed
        var roundTrip: Duration?
        var silentSince: ContinuousClock.Instant?
        var slowReaders = 0
    }

    private struct Followed: Equatable {
        /// Those that are not live, by name.
        var failing: [String] = []
        /// Whether all others are expected to recover only with help.
        var isComplete = true
    }

    /// The number of the newest dial; 0 before the first.
    package private(set) var generation: UInt64 = 0
    package let policy: ReconnectPolicy

    private var session: Session?
    /// The status outside a session: before the first, or after the last.
    private var outside = ConnectionStatus.initialized
    private var isNetworkAvailable = true
    private var generator: SeededGenerator
    /// The timers that the driver should be running.
    private var timers: [TimerID.Kind: (id: TimerID, deadline: ContinuousClock.Instant)] = [:]
    private var timerSerial: UInt64 = 0
    private var published = ConnectionStatus.initialized
    private var output: [Action] = []

    /// A machine without a session. Equal seeds and events give equal actions.
    package init(policy: ReconnectPolicy, seed: UInt64) {
        self.policy = policy
        generator = SeededGenerator(seed: seed)
    }

    package mutating func reseed(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }

    package var hasSession: Bool { session != nil }
    package var isConnectPending: Bool { session?.isAwaited == true }

    package var runningTimers: Set<TimerID> { Set(timers.values.map(\.id)) }

    package var status: ConnectionStatus {
        guard let session else { return outside }
        switch session.phase {
        case .suspended(let reason):
            return ConnectionStatus(state: .suspended, reason: reason, recoveries: session.recoveries)
        case .online(let online):
            return ConnectionStatus(
                state: .connected, roundTripTime: online.roundTrip, silentSince: online.silentSince,
                recoveries: session.recoveries, failingSubscriptions: online.followed.failing,
                slowReaders: online.slowReaders)
        case .down(let outage):
            return ConnectionStatus(
                state: session.told == nil ? .connecting : .reconnecting, reason: outage.reason,
                attempt: outage.attempt, nextRetryAt: timers[.retry]?.deadline, outageBegan: outage.began,
                isLongOutage: outage.isLong, recoveries: session.recoveries)
        }
    }

    /// Handles an event and returns the actions, in order. Moments never go backwards.
    package mutating func handle(_ event: Event, at now: ContinuousClock.Instant) -> [Action] {
        output.removeAll(keepingCapacity: true)
        expire(before: event, at: now)
        switch event {
        case .connectRequested(let limit): connect(limit: limit, at: now)
        case .dialSucceeded(let number): dialSucceeded(number)
        case .restored(let number): if number == generation { restored(at: now) }
        case .connectionFailed(let number, let reason, let limit, let isHopeless):
            guard number == generation, isDialing || hasSocket else { break }
            if isHopeless, session?.told == nil { end(reason) } else { fail(reason, at: now, retryWithin: limit) }
        case .credentialsNeeded(let number, let reason):
            guard number == generation, isDialing || hasSocket else { break }
            leaveConnection(reason, at: now)
            outage?.step = .renewing(reason)
            output.append(.renewCredentials(generation: generation))
        case .serverControl(let number, let reason):
            guard number == generation, hasSocket else { break }
            switch reason {
            // The administrator's word is final even where this version does not know its code.
            case .unknown: end(reason)
            case .permissionsChanged: fail(reason, at: now)
            default: if reason.isFinal { fail(reason, at: now) }
            }
        case .followingChanged(let failing, let isComplete):
            followingChanged(Followed(failing: failing, isComplete: isComplete))
        case .timerFired(let id): timerFired(id, at: now)
        case .disconnectRequested: if session != nil { end(.closedByUser) }
        case .suspendRequested: suspend(.backgrounded)
        case .restRequested: suspend(nil)
        case .resumeRequested: resume(at: now)
        case .networkLost:
            isNetworkAvailable = false
            if case .waiting? = outage?.step { pause() }
        case .networkReturned: networkReturned(at: now)
        case .nudged: hasten(at: now)
        case .roundTrip(let number, let duration):
            guard number == generation else { break }
            online?.roundTrip = duration
            online?.silentSince = nil
        case .silence(let number, let since):
            guard number == generation else { break }
            // An earlier measurement is no longer current.
            if since != nil { online?.roundTrip = nil }
            online?.silentSince = since
        case .readerFellBehind(let number): if number == generation { online?.slowReaders += 1 }
        case .credentialsRenewed(let number):
            if number == generation, case .renewing? = outage?.step { dialOrPause(at: now) }
        case .credentialsUnavailable(let number):
            if number == generation, case .renewing(let reason)? = outage?.step { end(reason) }
        }
        publish()
        return output
    }

    // MARK: The state

    private var outage: Outage? {
        get { if case .down(let outage)? = session?.phase { outage } else { nil } }
        set { if let newValue, outage != nil { session?.phase = .down(newValue) } }
    }

    private var online: Online? {
        get { if case .online(let online)? = session?.phase { online } else { nil } }
        set { if let newValue, online != nil { session?.phase = .online(newValue) } }
    }

    private var isDialing: Bool { if case .dialing? = outage?.step { true } else { false } }

    /// Whether the present dial has led to a socket that is still in use.
    private var hasSocket: Bool {
        if case .restoring? = outage?.step { return true }
        return online != nil
    }

    // MARK: The session

    private mutating func connect(limit: Duration?, at now: ContinuousClock.Instant) {
        guard online == nil else { return output.append(.completeConnect(nil)) }
        let isNew = session == nil
        if isNew {
            start(.longOutage, at: now + policy.longOutage)
            session = Session(phase: .down(Outage(began: now)))
        }
        session?.isAwaited = true
        limitConnect(to: limit, at: now)
        if isNew {
            dialOrPause(at: now)
        } else if case .suspended? = session?.phase {
            resume(at: now)
        } else {
            hasten(at: now)
        }
    }

    /// All callers of connect share one outcome, so the earliest of their limits holds for all.
    private mutating func limitConnect(to limit: Duration?, at now: ContinuousClock.Instant) {
        guard let limit, limit > .zero else { return }
        if let running = timers[.timeLimit], running.deadline <= now + limit { return }
        start(.timeLimit, at: now + limit)
        session?.limit = limit
    }

    private mutating func completeConnect(_ reason: ConnectionReason?) {
        guard session?.isAwaited == true else { return }
        cancel(.timeLimit)
        session?.isAwaited = false
        output.append(.completeConnect(reason))
    }

    private mutating func end(_ reason: ConnectionReason) {
        guard let session else { return }
        closeSocket()
        for kind in TimerID.Kind.allCases { cancel(kind) }
        self.session = nil
        outside = ConnectionStatus(state: .disconnected, reason: reason, recoveries: session.recoveries)
        publish()
        if reason == .windowExpired { output.append(.event(.reconnectFailed)) }
        output.append(.event(.disconnected))
        if session.isAwaited { output.append(.completeConnect(reason)) }
        output.append(.ended(reason))
    }

    private mutating func suspend(_ reason: ConnectionReason?) {
        guard let phase = session?.phase else { return }
        if case .suspended = phase { return }
        closeSocket()
        // A caller of connect still waits, so its limit still runs.
        for kind in TimerID.Kind.allCases where kind != .timeLimit { cancel(kind) }
        session?.phase = .suspended(reason)
    }

    private mutating func resume(at now: ContinuousClock.Instant) {
        if case .suspended? = session?.phase {
            session?.backoffStep = 0
            openOutage(nil, at: now)
            dialOrPause(at: now)
        } else {
            tryAnew(at: now)
        }
    }

    private mutating func networkReturned(at now: ContinuousClock.Instant) {
        isNetworkAvailable = true
        if online != nil { output.append(.probe(generation: generation)) }
        tryAnew(at: now)
    }

    /// Restarts the schedule, and dials at once if it was only waiting.
    private mutating func tryAnew(at now: ContinuousClock.Instant) {
        guard let step = outage?.step else { return }
        session?.backoffStep = 0
        guard case .waiting = step else { return }
        outage?.attempt = 0
        dialOrPause(at: now)
    }

    // MARK: Attempts

    /// Dials at once, or waits for a network if there is none.
    private mutating func dialOrPause(at now: ContinuousClock.Instant) {
        guard isNetworkAvailable else { return pause() }
        guard var outage else { return }
        cancel(.retry)
        generation += 1
        outage.step = .dialing
        outage.attempt += 1
        if outage.reason == .networkUnavailable { outage.reason = nil }
        self.outage = outage
        session?.lastDialAt = now
        output.append(.dial(generation: generation, attempt: outage.attempt))
    }

    /// Waits for a network without a timer; the attempt count stays.
    private mutating func pause() {
        cancel(.retry)
        outage?.step = .waiting
        outage?.reason = .networkUnavailable
    }

    /// Brings the next attempt forward for a person, as far as the policy's spacing of dials allows.
    private mutating func hasten(at now: ContinuousClock.Instant) {
        guard isNetworkAvailable, case .waiting? = outage?.step else { return }
        let earliest = session?.lastDialAt.map { $0 + policy.nudgeSpacing } ?? now
        if earliest <= now {
            dialOrPause(at: now)
        } else if let retry = timers[.retry], retry.deadline > earliest {
            start(.retry, at: earliest)
        }
    }

    private mutating func dialSucceeded(_ number: UInt64) {
        if number == generation, isDialing {
            outage?.step = .restoring(Followed())
            output.append(.restore(generation: number))
        } else if number != generation || !hasSocket {
            // A dial that was given up while it succeeded.
            output.append(.closeSocket(generation: number))
        }
    }

    private mutating func restored(at now: ContinuousClock.Instant) {
        guard let outage, case .restoring(let followed) = outage.step, let told = session.map(\.told) else { return }
        for kind in [TimerID.Kind.longOutage, .window] { cancel(kind) }
        if told != nil { session?.recoveries += 1 }
        session?.phase = .online(Online(since: now, followed: followed))
        publish()
        if told == nil { tell(.connected) }
        announceRecovery()
        completeConnect(nil)
    }

    private mutating func followingChanged(_ followed: Followed) {
        if case .restoring? = outage?.step { outage?.step = .restoring(followed) }
        guard online != nil else { return }
        online?.followed = followed
        publish()
        announceRecovery()
    }

    /// The recovery is complete once nothing is missing that should recover without help.
    private mutating func announceRecovery() {
        guard online?.followed.isComplete == true, session?.told == .reconnecting else { return }
        tell(.reconnected)
    }

    /// Ends the session after a failed dial or a lost socket, or schedules another attempt.
    private mutating func fail(
        _ reason: ConnectionReason, at now: ContinuousClock.Instant, retryWithin limit: Duration? = nil
    ) {
        guard !reason.isFinal else { return end(reason) }
        leaveConnection(reason, at: now)
        guard isNetworkAvailable else { return pause() }
        session?.backoffStep += 1
        let delay = policy.delay(attempt: session?.backoffStep ?? 1, using: &generator)
        start(.retry, at: now + min(delay, limit ?? delay))
        outage?.step = .waiting
    }

    /// Lets go of the failed dial or socket, and opens an outage if it was connected.
    private mutating func leaveConnection(_ reason: ConnectionReason, at now: ContinuousClock.Instant) {
        // A connection that never lasts must not be retried at the pace of one that does.
        if let online, now - online.since >= policy.stableAfter { session?.backoffStep = 0 }
        if hasSocket { output.append(.closeSocket(generation: generation)) }
        if online != nil { openOutage(reason, at: now) }
        outage?.reason = reason
    }

    private mutating func openOutage(_ reason: ConnectionReason?, at now: ContinuousClock.Instant) {
        let isRecovery = session?.told != nil
        session?.phase = .down(Outage(began: now, reason: reason))
        start(.longOutage, at: now + policy.longOutage)
        if isRecovery, let window = policy.window { start(.window, at: now + window) }
        // An outage that begins before the last recovery was complete counts as the same one.
        guard isRecovery, session?.told != .reconnecting else { return }
        publish()
        tell(.reconnecting)
    }

    private mutating func closeSocket() {
        if isDialing || hasSocket { output.append(.closeSocket(generation: generation)) }
    }

    // MARK: Timers

    /// A limit or window that has passed takes precedence over any other event, even if its timer is late, as after a
    /// laptop's sleep. Only an open connection is kept.
    private mutating func expire(before event: Event, at now: ContinuousClock.Instant) {
        if case .restored = event { return }
        if case .disconnectRequested = event { return }
        let limits = [timers[.timeLimit], timers[.window]].compactMap(\.self)
        guard let first = limits.min(by: { $0.deadline < $1.deadline }), first.deadline <= now else { return }
        if case .timerFired(let id) = event {
            if id == first.id { return }
            if timers[id.kind]?.id == id { timers[id.kind] = nil }
        }
        output.append(.cancelTimer(first.id))
        timerFired(first.id, at: now)
    }

    private mutating func timerFired(_ id: TimerID, at now: ContinuousClock.Instant) {
        guard timers[id.kind]?.id == id else { return }
        timers[id.kind] = nil
        switch id.kind {
        case .retry: dialOrPause(at: now)
        case .timeLimit: end(.timeLimit(session?.limit ?? .zero, after: hindrance))
        case .window: end(.windowExpired)
        case .longOutage: outage?.isLong = true
        }
    }

    /// Why there was no connection in time: the last failure, or what is still awaited.
    private var hindrance: ConnectionReason? {
        guard let outage else { return nil }
        if let reason = outage.reason { return reason }
        switch outage.step {
        case .waiting: return nil
        case .renewing(let reason): return reason
        case .dialing: return .unreachable("no server has answered yet")
        case .restoring: return .unreachable("the server took the login and has not answered since")
        }
    }

    /// Starts a timer, replacing any of its kind.
    private mutating func start(_ kind: TimerID.Kind, at deadline: ContinuousClock.Instant) {
        cancel(kind)
        timerSerial += 1
        let id = TimerID(kind: kind, serial: timerSerial)
        timers[kind] = (id, deadline)
        output.append(.startTimer(id, at: deadline))
    }

    private mutating func cancel(_ kind: TimerID.Kind) {
        if let timer = timers.removeValue(forKey: kind) { output.append(.cancelTimer(timer.id)) }
    }

    // MARK: Output

    private mutating func tell(_ event: ConnectionEvent) {
        session?.told = event
        output.append(.event(event))
    }

    private mutating func publish() {
        let status = status
        guard status != published else { return }
        published = status
        output.append(.publish(status))
    }
}
