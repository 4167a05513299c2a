// The application's life: what is told of it, and what follows.
extension RelayClient {
    /// Tells whether the application is in the foreground.
    ///
    /// The background disconnects after a second, unless ``RelayConfiguration/lifecycle`` says otherwise; the
    /// foreground connects again. Works whether or not the client watches signals of its own
    /// (``RelayConfiguration/handleAppLifecycle``); the last call or signal counts.
    public func setAppStateActive(_ isActive: Bool) { take(isActive ? .foreground : .background) }

    /// Tells what happens to the application, as a source would.
    ///
    /// Returns once that is done which has to be done now: behind ``LifecycleEvent/stopping`` the connection is closed,
    /// or somewhat more than a second has passed, so that the process may be stopped.
    public func lifecycleChanged(_ event: LifecycleEvent) async {
        take(event)
        if event == .stopping { await farewell?.value }
    }

    // MARK: Signals

    /// Watches the application's and the machine's signals from the first session on, where the configuration wants it.
    func watchLifecycle() {
        guard configuration.handleAppLifecycle, lifecycleSources.isEmpty else { return }
        keepSources(configuration.lifecycleSources())
        let receiver = LifecycleReceiver { [signals = lifecycleSignals, weak self] event in
            // Whoever takes in what waits takes this in, too.
            guard signals.markWithRoom(event) else { return }
            Task { await self?.takeSignals() }
        }
        for source in lifecycleSources { source.begin(receiver) }
    }

    private func takeSignals() {
        while let event = lifecycleSignals.take() { take(event) }
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
        case .woke(let asleep):
            // The wait for the next look is late for the same reason.
            nextLook = nil
            handleLifecycle(.woke(after: asleep))
        case .probe: handleLifecycle(.suspected)
        }
    }

    /// Looks for what can only be noticed by looking: the machine's sleep.
    func lookForSignals() {
        for signal in look() { decide(signal) }
    }

    private func look() -> [LifecycleEvent] { lifecycleSources.compactMap { $0.look() } }

    /// Looks again about as often as the connection is pinged. A moment that passed while the machine slept comes at
    /// once when it is awake.
    func awaitLook() {
        guard !lifecycleSources.isEmpty, configuration.pingInterval > .zero else { return }
        let moment = surroundings.clock.now + configuration.pingInterval
        nextLook = moment
        startTimer(.look, at: moment)
    }

    /// The moment for the next look has come.
    func lookAgain() {
        guard hasSession, status.state != .suspended else { return }
        lookForSignals()
        // Who stood still for longer than the server waits, stopped by SIGSTOP say, has no connection any more. Less is
        // no reason: a busy machine is late as well.
        let late = nextLook.map { $0.duration(to: surroundings.clock.now) } ?? .zero
        if late >= configuration.serverPatience { decide(.woke(after: late)) }
        awaitLook()
    }

    /// Carries out what becomes of the connection.
    func carryOut(_ action: LifecycleMachine.Action) {
        for event in action.connectionEvents(generation: generation, isIdle: isIdle) { handle(event) }
        if action == .probe { probe() }
    }
}
