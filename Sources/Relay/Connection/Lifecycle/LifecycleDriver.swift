import NATS

/// The application's life and the rest of an idle connection: drives ``LifecycleMachine`` and ``IdleRest``. Belongs to
/// the client's isolation.
final class LifecycleDriver {
    private enum TimerID: Hashable {
        case lifecycle(LifecycleMachine.TimerID)
        case idle(IdleRest.TimerID)
        /// The next look at the signals.
        case look
    }

    /// Closed while the connection is suspended: upkeep of the local store waits then.
    let upkeep = RestGate()
    private var machine: LifecycleMachine
    private var idle: IdleRest
    private var timers = TimerSet<TimerID>()
    /// The signals, once they are watched.
    private var sources: [any LifecycleSource] = []
    /// Signals that were not taken in yet, repetitions apart. More than this wait only while the client does nothing.
    let signals = BoundedChannel<LifecycleEvent>(
        capacity: 64, weight: { _ in ChannelWeight() }, join: { $0 == $1 })
    /// When the signals are looked at next.
    private var nextLook: ContinuousClock.Instant?

    init(_ configuration: RelayConfiguration) {
        machine = LifecycleMachine(policy: configuration.lifecycle, patience: configuration.serverPatience)
        idle = IdleRest(after: configuration.idleTimeout)
    }

    deinit {
        timers.cancelAll()
        for source in sources { source.end() }
    }

    /// Whether the background has suspended the connection.
    var isSuspended: Bool { machine.isSuspended }
    /// Whether the connection is let go when nobody needs it.
    var hasIdleTimeout: Bool { idle.time != nil }

    // MARK: The user and the connection

    /// The user asks for a connection.
    func sessionBegins(for client: isolated RelayClient) {
        perform(idle.reset(), for: client)
        watch(for: client)
    }

    /// The user ends the session.
    func sessionEnds(for client: isolated RelayClient) {
        perform(idle.reset(), for: client)
        handle(.userDisconnected, for: client)
    }

    /// Something is followed, or is to be sent.
    ///
    /// - Returns: whether an idle connection is on its way back; ``returned()`` is to be called when that is over.
    @discardableResult
    func connectionIsNeeded(for client: isolated RelayClient) -> Bool {
        let isFollowing = client.subscriptions.isFollowing
        perform(idle.needed(isFollowed: isFollowing, at: client.surroundings.clock.now), for: client)
        waitForNothingAtRest(for: client)
        return idle.isReturning
    }

    /// It is known what became of the way back.
    func returned() { idle.returned() }

    /// The last subscription has ended, or was let go.
    func subscriptionsEnded(for client: isolated RelayClient) {
        perform(idle.subscriptionsEnded(at: client.surroundings.clock.now), for: client)
        waitForNothingAtRest(for: client)
    }

    /// While the connection is suspended no timer runs; the wait begins with the return.
    private func waitForNothingAtRest(for client: isolated RelayClient) {
        if client.status.state == .suspended { perform(idle.pause(), for: client) }
    }

    /// Has everything rest or run that there is beside the connection.
    func statusChanged(
        to status: ConnectionStatus, from earlier: ConnectionStatus, for client: isolated RelayClient
    ) {
        let isSuspended = status.state == .suspended
        let hasSession = client.connection.hasSession
        if !hasSession || isSuspended {
            timers.cancel(.look)
        } else if !timers.isRunning(.look) {
            awaitLook(for: client)
        }
        guard isSuspended != (earlier.state == .suspended) else { return }
        upkeep.set(isOpen: !isSuspended)
        if isSuspended {
            perform(idle.pause(), for: client)
        } else if hasSession {
            let isFollowing = client.subscriptions.isFollowing
            perform(idle.goOn(isFollowed: isFollowing, at: client.surroundings.clock.now), for: client)
        }
    }

    // MARK: The machines

    /// Has the lifecycle's machine decide about an event, and carries out its actions.
    func handle(_ event: LifecycleMachine.Event, for client: isolated RelayClient) {
        for action in machine.handle(event, at: client.surroundings.clock.now) {
            switch action {
            case .startTimer(let id, let moment): startTimer(.lifecycle(id), at: moment, for: client)
            case .cancelTimer(let id): timers.cancel(.lifecycle(id))
            case .suspend, .resume, .probe, .renew:
                let events = action.connectionEvents(
                    generation: client.connection.generation, isIdle: idle.isResting)
                for event in events { client.connection.handle(event, for: client) }
                if action == .probe { client.connection.probe() }
            }
        }
    }

    private func perform(_ actions: [IdleRest.Action], for client: isolated RelayClient) {
        for action in actions {
            switch action {
            case .startTimer(let id, let moment): startTimer(.idle(id), at: moment, for: client)
            case .cancelTimer(let id): timers.cancel(.idle(id))
            case .rest: client.connection.handle(.restRequested, for: client)
            case .resume:
                // In the background it stays away; the foreground brings it back.
                if !isSuspended { client.connection.handle(.resumeRequested, for: client) }
            }
        }
    }

    private func startTimer(_ id: TimerID, at moment: ContinuousClock.Instant, for client: isolated RelayClient) {
        timers.start(id, at: moment, on: client.surroundings.clock, for: client) {
            $0.lifecycle.timerFired(id, for: $0)
        }
    }

    private func timerFired(_ id: TimerID, for client: isolated RelayClient) {
        timers.cancel(id)
        switch id {
        case .lifecycle(let id): handle(.timerFired(id), for: client)
        case .idle(let id):
            let isNeeded = client.isConnectionNeeded
            perform(idle.timerFired(id, isNeeded: isNeeded, at: client.surroundings.clock.now), for: client)
        case .look: lookAgain(for: client)
        }
    }

    // MARK: Signals

    /// Watches the application's and the machine's signals from the first session on, where the configuration wants it.
    private func watch(for client: isolated RelayClient) {
        let configuration = client.configuration
        guard configuration.handleAppLifecycle, sources.isEmpty else { return }
        sources = configuration.lifecycleSources()
        let receiver = LifecycleReceiver { [signals, weak client] event in
            // Whoever takes in what waits takes this in, too.
            guard signals.markWithRoom(event) else { return }
            Task { await client?.run { $0.lifecycle.takeSignals(for: $0) } }
        }
        for source in sources { source.begin(receiver) }
    }

    private func takeSignals(for client: isolated RelayClient) {
        while let event = signals.take() { take(event, for: client) }
    }

    /// Takes in a signal, or a call that stands for one.
    func take(_ event: LifecycleEvent, for client: isolated RelayClient) {
        guard event == .foreground else { return decide(event, for: client) }
        // Whoever comes back may have slept in between, which is nothing to a connection that is made anew.
        let wasSuspended = isSuspended
        let signals = sources.compactMap { $0.look() }
        decide(event, for: client)
        if !wasSuspended { for signal in signals { decide(signal, for: client) } }
    }

    private func decide(_ event: LifecycleEvent, for client: isolated RelayClient) {
        switch event {
        case .foreground: handle(.active(true), for: client)
        case .background: handle(.active(false), for: client)
        case .stopping: handle(.stopping, for: client)
        case .woke(let asleep):
            // The wait for the next look is late for the same reason.
            nextLook = nil
            handle(.woke(after: asleep), for: client)
        case .probe: handle(.suspected, for: client)
        }
    }

    /// Looks for what can only be noticed by looking: the machine's sleep.
    func look(for client: isolated RelayClient) {
        for signal in sources.compactMap({ $0.look() }) { decide(signal, for: client) }
    }

    /// Looks again about as often as the connection is pinged. A moment that passed while the machine slept comes at
    /// once when it is awake.
    private func awaitLook(for client: isolated RelayClient) {
        let interval = client.configuration.pingInterval
        guard !sources.isEmpty, interval > .zero else { return }
        let moment = client.surroundings.clock.now + interval
        nextLook = moment
        startTimer(.look, at: moment, for: client)
    }

    private func lookAgain(for client: isolated RelayClient) {
        guard client.connection.hasSession, client.status.state != .suspended else { return }
        look(for: client)
        // Whoever stood still for longer than the server waits, stopped by SIGSTOP say, has no connection any more.
        // Less is no reason: a busy machine is late as well.
        let late = nextLook.map { $0.duration(to: client.surroundings.clock.now) } ?? .zero
        if late >= client.configuration.serverPatience { decide(.woke(after: late), for: client) }
        awaitLook(for: client)
    }
}

extension RelayClient {
    /// Tells whether the application is in the foreground.
    ///
    /// The background disconnects after a second, unless ``RelayConfiguration/lifecycle`` says otherwise; the
    /// foreground connects again. Works whether or not the client watches signals of its own
    /// (``RelayConfiguration/handleAppLifecycle``); the last call or signal counts.
    public func setAppStateActive(_ isActive: Bool) { lifecycle.take(isActive ? .foreground : .background, for: self) }

    /// Tells what happens to the application, as a source would.
    ///
    /// Returns once that is done which has to be done now: behind ``LifecycleEvent/stopping`` the connection is closed,
    /// or somewhat more than a second has passed, so that the process may be stopped.
    public func lifecycleChanged(_ event: LifecycleEvent) async {
        lifecycle.take(event, for: self)
        if event == .stopping { await connection.farewell?.value }
    }

    /// Changes what the background does to the connection, from now on; ``RelayConfiguration/lifecycle`` says what it
    /// does at first. In the background, the wait begins anew. What is suspended stays so until the foreground.
    public func setLifecyclePolicy(_ policy: LifecyclePolicy) { lifecycle.handle(.policyChanged(policy), for: self) }

    /// Brings a connection back that rests because nobody needed it, for a question over it. Waits until it stands, or
    /// until there is something that keeps it from that.
    func wake() async {
        guard !lifecycle.isSuspended, lifecycle.connectionIsNeeded(for: self) else { return }
        for await status in statuses {
            let isOnItsWay = status.state == .connecting || status.state == .reconnecting
            guard isOnItsWay, status.reason == nil, status.nextRetryAt == nil else { break }
        }
        // Who is cancelled does not know.
        if !Task.isCancelled { lifecycle.returned() }
    }

    /// Whether anything needs the connection now. An exclusive session is held by being connected. Who waits for a
    /// connection, or for an answer over it, needs it.
    var isConnectionNeeded: Bool {
        subscriptions.isFollowing || publisher.count > 0 || presence.isInUse || login.claim != nil
            || status.state != .connected || link?.connection?.hasOpenRequests == true
    }
}
