import NATS

/// What a client keeps for the application's life, besides the machine that decides.
struct LifecycleKeeping: Sendable {
    /// The signals, once they are watched.
    var sources: [any LifecycleSource] = []
    /// What they tell and nobody has taken in yet.
    let inbox = LifecycleInbox()
    /// Closed while the connection rests: nobody waits then for the local store to be tidy.
    let upkeep = RestGate()
    /// The look at the signals, while there is a connection or one is tried.
    var looks = TimerSet<Int>()
    /// Whether the connection rests, so that nothing of the client runs.
    var isResting = false
    /// The last words over a connection that was let go, and its end. The next dial comes behind it: there is one socket
    /// at a time.
    var farewell: Task<Void, Never>?
    /// The subscriptions that are for a view on the screen.
    var leases: [UInt64: ScreenLease] = [:]
    var leaseTimers = TimerSet<ScreenLease.TimerID>()

    /// Ends everything.
    func end() {
        for source in sources { source.end() }
        looks.cancelAll()
        leaseTimers.cancelAll()
    }
}

// The application's life: what is told of it, and what follows.
extension RelayClient {
    /// Tells whether the application is in the foreground. What the background does is the lifecycle policy's matter.
    /// Works whether or not the client watches signals of its own (``RelayConfiguration/handleAppLifecycle``); the last
    /// word counts.
    public func setAppStateActive(_ isActive: Bool) { take(isActive ? .foreground : .background) }

    /// Tells what happens to the application, as a source would.
    ///
    /// Returns once that is done which has to be done now: behind ``LifecycleEvent/stopping`` the connection is closed, or
    /// somewhat more than a second has passed, so that the process may be stopped.
    public func lifecycleChanged(_ event: LifecycleEvent) async {
        take(event)
        if event == .stopping { await away.farewell?.value }
    }

    // MARK: Signals

    /// Watches the application's and the machine's signals from the first session on, where the configuration wants it.
    func watchLifecycle() {
        guard configuration.handleAppLifecycle, away.sources.isEmpty else { return }
        away.sources = configuration.lifecycleSources()
        let receiver = LifecycleReceiver { [inbox = away.inbox, weak self] event in
            guard inbox.add(event) else { return }
            Task { await self?.takeSignals() }
        }
        for source in away.sources { source.begin(receiver) }
    }

    private func takeSignals() {
        for event in away.inbox.takeAll() { take(event) }
    }

    private func take(_ event: LifecycleEvent) {
        guard event == .foreground else { return decide(event) }
        // Whoever comes back may have slept in between, which is nothing to a connection that is made anew.
        let wasSuspended = isInBackground
        let signals = look()
        decide(event)
        if !wasSuspended { for signal in signals { decide(signal) } }
    }

    private func decide(_ event: LifecycleEvent) {
        switch event {
        case .foreground: handleLifecycle(.active(true))
        case .background: handleLifecycle(.active(false))
        case .stopping: handleLifecycle(.stopping)
        case .woke(let asleep): handleLifecycle(.woke(after: asleep))
        case .probe: handleLifecycle(.suspected)
        }
    }

    /// Looks for what can only be noticed by looking: the machine's sleep.
    func lookForSignals() {
        for signal in look() { decide(signal) }
    }

    private func look() -> [LifecycleEvent] { away.sources.compactMap { $0.look() } }

    /// Looks again about as often as the connection is pinged. A moment that passed while the machine slept comes at once
    /// when it is awake.
    private func awaitLook() {
        guard !away.sources.isEmpty, configuration.pingInterval > .zero else { return }
        let moment = surroundings.clock.now + configuration.pingInterval
        away.looks.start(0, at: moment, on: surroundings.clock) { [weak self] in await self?.lookAgain() }
    }

    private func lookAgain() {
        away.looks.cancel(0)
        guard hasSession, !away.isResting else { return }
        lookForSignals()
        awaitLook()
    }

    // MARK: Rest

    /// Carries out what becomes of the connection.
    func carryOut(_ action: LifecycleMachine.Action) {
        for event in action.connectionEvents(generation: generation, isIdle: idle.isResting) { handle(event) }
        if action == .probe { probe() }
    }

    /// Has everything rest or run that there is beside the connection, as its status has it.
    func settleRest(by status: ConnectionStatus) {
        let isResting = status.state == .suspended
        if !hasSession {
            away.looks.cancel(0)
        } else if !isResting, !away.looks.isRunning(0) {
            awaitLook()
        }
        guard isResting != away.isResting else { return }
        away.isResting = isResting
        away.upkeep.set(isOpen: !isResting)
        if isResting {
            away.looks.cancel(0)
            ignoreNetwork()
            releaseHidden()
            perform(idle.pause())
        } else if hasSession {
            watchNetwork()
            perform(idle.goOn(isFollowed: !following.isEmpty, at: surroundings.clock.now))
        }
    }

    /// Lets a connection go that is to say its last words first.
    func bidFarewell(over connection: NATSConnection) {
        away.farewell = Task { await Self.closeBehind(connection) }
    }
}
