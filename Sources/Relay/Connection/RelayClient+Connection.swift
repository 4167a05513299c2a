import NATS

// What the machines decide, and what the present link reports.
extension RelayClient {
    /// Runs `body`, unless the link is no longer the present one.
    func run<Value: Sendable>(_ body: @Sendable (isolated RelayClient) -> Value, for link: LiveLink) -> Value? {
        guard self.link === link else { return nil }
        return body(self)
    }

    // MARK: Machines

    func handle(_ event: ConnectionMachine.Event) {
        pendingEvents.append(event)
        // What an action leads to comes after the actions that follow it, so that the last status is the present one.
        guard pendingEvents.count == 1 else { return }
        while let next = pendingEvents.first {
            for action in machine.handle(next, at: surroundings.clock.now) { perform(action) }
            pendingEvents.removeFirst()
        }
    }

    private func perform(_ action: ConnectionMachine.Action) {
        switch action {
        case .dial(let generation, _): startDial(generation)
        case .restore: link?.restore(configuration, known: namespace, publisher)
        case .closeSocket(let generation): if link?.generation == generation { endLink() }
        case .probe: probe()
        case .renewCredentials(let generation): renewCredentials(generation)
        case .startTimer(let id, let moment):
            connectionTimers.start(id, at: moment, on: surroundings.clock) { [weak self] in
                await self?.connectionTimerFired(id)
            }
        case .cancelTimer(let id): connectionTimers.cancel(id)
        case .publish(let status): statusBoard.post(status)
        case .event(let event): deliver(event)
        case .completeConnect(let error):
            for waiter in connectWaiters.values { waiter.fulfil(error) }
            connectWaiters = [:]
        case .discardOutbox(let reason): publisher.sessionEnded(reason)
        }
    }

    private func connectionTimerFired(_ id: ConnectionMachine.TimerID) {
        connectionTimers.cancel(id)
        handle(.timerFired(id))
    }

    func handleLifecycle(_ event: LifecycleMachine.Event) {
        for action in lifecycle.handle(event, at: surroundings.clock.now) {
            switch action {
            case .startTimer(let id, let moment):
                lifecycleTimers.start(id, at: moment, on: surroundings.clock) { [weak self] in
                    await self?.lifecycleTimerFired(id)
                }
            case .cancelTimer(let id): lifecycleTimers.cancel(id)
            case .suspend: handle(.suspendRequested)
            case .resume: handle(.resumeRequested)
            case .probe: probe()
            }
        }
    }

    private func lifecycleTimerFired(_ id: LifecycleMachine.TimerID) {
        lifecycleTimers.cancel(id)
        handleLifecycle(.timerFired(id))
    }

    private func deliver(_ event: SystemEvent) {
        systemEvents.post(event, keepsCurrent: false)
        tell(event.rawValue, ofEvent: event)
        if event == .connected || event == .reconnected { reportResent() }
        if event == .disconnected { handleLifecycle(.userDisconnected) }
    }

    // MARK: The link

    private func startDial(_ generation: UInt64) {
        renewal?.cancel()
        endLink()
        let link = LiveLink(generation, of: self, surroundings)
        self.link = link
        link.dial(behind: openingStore(), limits)
    }

    /// Ends the present link: what was under way goes back to its place, and nothing of it is heard again.
    private func endLink() {
        guard let link else { return }
        self.link = nil
        link.end()
        guard let connection = link.connection else { return }
        if machine.status.state == .disconnected { releaseSession(link) } else { connection.closeNow() }
        following.pause()
        publisher.connectionLost()
    }

    /// Whether dialling is of no use before the token provider has given another token.
    var hasExpiredToken: Bool { signIn.isExpired(at: surroundings.clock.secondsSince1970) }

    /// Where to dial next; nil when no server is known.
    func nextServer(of servers: [ServerAddress]) -> ServerAddress? {
        pool.configure(servers)
        return pool.next
    }

    /// How to dial.
    var connectOptions: ConnectOptions {
        let configuration = configuration
        return ConnectOptions(
            name: configuration.clientID, authentication: configuration.credentials.authentication,
            tls: configuration.tls, proxy: configuration.proxy, connectTimeout: configuration.dialTimeout,
            pingInterval: configuration.pingInterval, pongTimeout: configuration.pongTimeout)
    }

    func dialFailed(_ reason: ConnectionReason, to address: ServerAddress, generation: UInt64) {
        pool.failed(address)
        signIn.wasRefused(for: reason)
        let explained = signIn.explained(reason, at: surroundings.clock.secondsSince1970)
        handle(.connectionFailed(generation: generation, reason: explained))
    }

    func dialSucceeded(_ link: LiveLink, _ connection: NATSConnection, to address: ServerAddress) {
        pool.connected(to: address)
        advertised(by: connection, connection.info)
        link.follow(connection)
        if let user, user.isSubjectToken { link.followControl(connection, for: user) }
        handle(.dialSucceeded(generation: link.generation))
    }

    /// Takes in which other servers the network has.
    func advertised(by connection: NATSConnection, _ info: ServerInfo) {
        let servers = (info.connectURLs ?? []).compactMap { ServerAddress(discovered: $0, like: connection.address) }
        pool.advertise(servers, using: &generator)
    }

    /// Lets what waits leave over this link.
    func openOutbox(over link: LiveLink, _ namespace: RelayConfiguration.Namespace) {
        guard let jetStream = link.jetStream else { return }
        // Credentials that name nobody have been accepted; what waited for a name goes under this client's.
        signLines(as: user ?? clientID)
        publisher.open(jetStream, namespace)
    }

    func restored(_ roundTrip: Duration, generation: UInt64) {
        handle(.restored(generation: generation))
        handle(.roundTrip(generation: generation, roundTrip))
    }

    /// A connection that stood is of no use any more: its server becomes the last choice.
    func linkLost(_ reason: ConnectionReason, from address: ServerAddress?, generation: UInt64) {
        if let address { pool.failed(address) }
        signIn.wasRefused(for: reason)
        handle(.connectionFailed(generation: generation, reason: reason))
    }

    /// Finds out at once whether the connection lives: a person has come back, or another network has.
    private func probe() { link?.connection?.probe(within: .seconds(2)) }
}
