import NATS

/// The application's life, and the suspension of an idle connection: drives ``LifecycleMachine``. Belongs to the
/// client's isolation.
final class LifecycleDriver {
    private enum TimerID: Hashable {
        case machine(LifecycleMachine.TimerID)
        /// The next poll of the sources.
        case look
    }

    /// Closed while the connection is suspended; maintenance of the local store then waits.
    let upkeep = RestGate()
    private var machine: LifecycleMachine
    private var timers = TimerSet<TimerID>()
    /// The sources, once they are watched.
    private var sources: [any LifecycleSource] = []
    /// Signals not handled yet, without repetitions. More than the capacity can wait only if the client is blocked.
    let signals = BoundedChannel<LifecycleEvent>(capacity: 64, weight: { _ in ChannelWeight() }, join: { $0 == $1 })
    /// When the sources are polled next.
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

    var isSuspended: Bool { machine.isSuspended }

    // MARK: The user and the connection

    /// Something is followed, or about to be sent.
    ///
    /// - Returns: Whether an idle connection is returning; report ``LifecycleMachine/Event/returned`` when that is
    ///   over.
    @discardableResult
    func connectionIsNeeded(for client: isolated RelayClient) -> Bool {
        handle(.needed(isFollowed: client.subscriptions.isFollowing), for: client)
        return machine.isReturning
    }

    /// Stops or restarts everything that depends on the connection.
    func statusChanged(to status: ConnectionStatus, from earlier: ConnectionStatus, for client: isolated RelayClient) {
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

    /// Feeds the machine an event and carries out its actions.
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
        // No timer runs while the connection is suspended; idling is timed again from its return.
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

    /// Starts watching the signals with the first session, if configured, and watches for messages to send, if an idle
    /// connection is to be suspended.
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
            // If others wait already, whoever handles those handles this one too.
            guard signals.markWithRoom(event) else { return }
            Task { await client?.run { $0.lifecycle.takeSignals(for: $0) } }
        }
        for source in sources { source.begin(receiver) }
    }

    private func takeSignals(for client: isolated RelayClient) {
        while let event = signals.take() { take(event, for: client) }
    }

    /// Handles a signal, or a call that stands for one.
    func take(_ event: LifecycleEvent, for client: isolated RelayClient) {
        guard event == .foreground else { return decide(event, for: client) }
        // The machine may have slept meanwhile, which does not matter to a connection that is opened anew.
        let (wasSuspended, wasActive) = (isSuspended, machine.isActive)
        let signals = sources.compactMap { $0.look() }
        decide(event, for: client)
        if !wasSuspended { for signal in signals { decide(signal, for: client) } }
        // A person is back and waiting.
        if !wasActive { client.nudge() }
    }

    private func decide(_ event: LifecycleEvent, for client: isolated RelayClient) {
        // The next poll is late for the same reason.
        if case .woke = event { nextLook = nil }
        handle(.signal(event), for: client)
    }

    /// Polls for what only polling reveals: the machine's sleep.
    func look(for client: isolated RelayClient) {
        for signal in sources.compactMap({ $0.look() }) { decide(signal, for: client) }
    }

    /// Polls about as often as the connection is pinged. A poll that fell into the machine's sleep comes as soon as it
    /// wakes.
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
        // A process that was stopped, as by SIGSTOP, for longer than the server waits has lost its connection. A
        // shorter delay proves nothing: a busy machine is late too.
        let late = nextLook.map { $0.duration(to: client.surroundings.clock.now) } ?? .zero
        if late >= client.configuration.serverPatience { decide(.woke(after: late), for: client) }
        awaitLook(for: client)
    }
}

extension RelayClient {
    /// Reports whether the application is in the foreground.
    ///
    /// The background disconnects after a second unless ``RelayConfiguration/lifecycle`` says otherwise; the foreground
    /// reconnects, and retries at once during an outage (``nudge()``). It works whether or not the client watches
    /// signals of its own (``RelayConfiguration/handleAppLifecycle``); the last call or signal counts.
    public func setAppStateActive(_ isActive: Bool) { lifecycle.take(isActive ? .foreground : .background, for: self) }

    /// Reports an event of the application, as a source would.
    ///
    /// Returns once the urgent part is done: after ``LifecycleEvent/stopping`` the connection is closed, or somewhat
    /// more than a second has passed, so that the process may be stopped.
    public func lifecycleChanged(_ event: LifecycleEvent) async {
        lifecycle.take(event, for: self)
        if event == .stopping { await connection.farewell?.value }
    }

    /// Changes what the background does to the connection; ``RelayConfiguration/lifecycle`` is the initial policy. In
    /// the background, the grace period starts again. A suspended connection stays suspended until the foreground.
    public func setLifecyclePolicy(_ policy: LifecyclePolicy) { lifecycle.handle(.policyChanged(policy), for: self) }

    /// Brings back a connection that was suspended as idle, for a question over it. Waits until it is connected, or
    /// something prevents that.
    func wake() async {
        guard !lifecycle.isSuspended, lifecycle.connectionIsNeeded(for: self) else { return }
        for await status in statuses {
            let isOnItsWay = status.state == .connecting || status.state == .reconnecting
            guard isOnItsWay, status.reason == nil, status.nextRetryAt == nil else { break }
        }
        // A cancelled caller does not know the outcome.
        if !Task.isCancelled { lifecycle.handle(.returned, for: self) }
    }

    /// Whether anything needs the connection now, which includes an exclusive session and anyone who waits for a
    /// connection or an answer.
    var isConnectionNeeded: Bool {
        subscriptions.isFollowing || publisher.count > 0 || presence.isInUse || login.claim != nil
            || status.state != .connected || link?.connection?.hasOpenRequests == true
    }
}
