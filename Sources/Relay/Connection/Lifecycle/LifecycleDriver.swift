import NATS

/// The application's life and the rest of an idle connection: drives ``LifecycleMachine``. Belongs to the client's
/// isolation.
final class LifecycleDriver {
    private enum TimerID: Hashable {
        case machine(LifecycleMachine.TimerID)
        /// The next look at the signals.
        case look
    }

    /// Closed while the connection is suspended: upkeep of the local store waits then.
    let upkeep = RestGate()
    private var machine: LifecycleMachine
    private var timers = TimerSet<TimerID>()
    /// The signals, once they are watched.
    private var sources: [any LifecycleSource] = []
    /// Signals that were not taken in yet, repetitions apart. More than this wait only while the client does nothing.
    let signals = BoundedChannel<LifecycleEvent>(
        capacity: 64, weight: { _ in ChannelWeight() }, join: { $0 == $1 })
    /// When the signals are looked at next.
    private var nextLook: ContinuousClock.Instant?

    init(_ configuration: RelayConfiguration) {
        machine = LifecycleMachine(
            policy: configuration.lifecycle, patience: configuration.serverPatience,
            idleTimeout: configuration.idleTimeout)
    }

    deinit {
        timers.cancelAll()
        for source in sources { source.end() }
    }

    /// Whether the background has suspended the connection.
    var isSuspended: Bool { machine.isSuspended }

    // MARK: The user and the connection

    /// Something is followed, or is to be sent.
    ///
    /// - Returns: whether an idle connection is on its way back; ``LifecycleMachine/Event/returned`` is to be reported
    ///   when that is over.
    @discardableResult
    func connectionIsNeeded(for client: isolated RelayClient) -> Bool {
        handle(.needed(isFollowed: client.subscriptions.isFollowing), for: client)
        return machine.isReturning
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
            handle(.connectionSuspended, for: client)
        } else if hasSession {
            handle(.connectionResumed(isFollowed: client.subscriptions.isFollowing), for: client)
        }
    }

    // MARK: The machine

    /// Has the machine decide about an event, and carries out its actions.
    func handle(_ event: LifecycleMachine.Event, for client: isolated RelayClient) {
        for action in machine.handle(event, at: client.surroundings.clock.now) {
            switch action {
            case .startTimer(let id, let moment): startTimer(.machine(id), at: moment, for: client)
            case .cancelTimer(let id): timers.cancel(.machine(id))
            case .suspend, .rest, .resume, .probe, .replace:
                for event in action.connectionEvents(generation: client.connection.generation) {
                    client.connection.handle(event, for: client)
                }
                if action == .probe { client.connection.probe() }
            }
        }
        // While the connection is suspended no timer runs; the wait for its rest begins with the return.
        if client.status.state == .suspended, event != .connectionSuspended {
            handle(.connectionSuspended, for: client)
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
        case .machine(let id): handle(.timerFired(id, isNeeded: client.isConnectionNeeded), for: client)
        case .look: lookAgain(for: client)
        }
    }

    // MARK: Signals

    /// Watches the application's and the machine's signals from the first session on, where the configuration wants
    /// it, and what is sent, where the connection is let go when nobody needs it.
    func begin(for client: isolated RelayClient) {
        if machine.idleTimeout != nil {
            client.publisher.whenSubmitted { [weak client] in
                Task { await client?.connectionIsNeeded() }
            }
        }
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
        let (wasSuspended, wasActive) = (isSuspended, machine.isActive)
        let signals = sources.compactMap { $0.look() }
        decide(event, for: client)
        if !wasSuspended { for signal in signals { decide(signal, for: client) } }
        // A person is here again, and waits.
        if !wasActive { client.nudge() }
    }

    private func decide(_ event: LifecycleEvent, for client: isolated RelayClient) {
        // The wait for the next look is late for the same reason.
        if case .woke = event { nextLook = nil }
        handle(.signal(event), for: client)
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
    /// foreground connects again, and has the next attempt of an outage come at once (``nudge()``). Works whether or
    /// not the client watches signals of its own (``RelayConfiguration/handleAppLifecycle``); the last call or signal
    /// counts.
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
        if !Task.isCancelled { lifecycle.handle(.returned, for: self) }
    }

    /// Whether anything needs the connection now. An exclusive session is held by being connected. Who waits for a
    /// connection, or for an answer over it, needs it.
    var isConnectionNeeded: Bool {
        subscriptions.isFollowing || publisher.count > 0 || presence.isInUse || login.claim != nil
            || status.state != .connected || link?.connection?.hasOpenRequests == true
    }
}
