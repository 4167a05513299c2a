import Logging

/// The actor that holds a ``ConnectionDriver``. Everything here runs in its isolation.
package protocol ConnectionOwner: Actor {
    /// What the owner keeps for each connection.
    associatedtype Attachment: Sendable

    var connection: ConnectionDriver<Self> { get }
    /// The servers whose network is watched; nil watches none.
    var watchedServers: [ServerAddress]? { get }

    /// Waits for everything that must precede a dial; nil if no dial is wanted. Throws the reason why dialling is
    /// useless now.
    static func dialPlan(for link: ConnectionLink<Self>) async throws(ConnectionReason) -> DialPlan?

    func makeAttachment() -> Attachment
    /// A dial or a connection has failed. Returns the reason in the owner's terms, and whether the next attempt needs
    /// other credentials.
    func failed(_ reason: ConnectionReason) -> (reason: ConnectionReason, needsCredentials: Bool)
    /// The server has accepted the login. Precedes ``restore(over:)``.
    func connectionOpened(_ link: ConnectionLink<Self>)
    /// Restores everything on the connection, then calls ``ConnectionDriver/restored(_:over:for:)``.
    func restore(over link: ConnectionLink<Self>)
    /// Asks for other credentials, then reports the answer by one of the machine's two events for that.
    func renewCredentials(generation: UInt64)
    /// The status has changed; the two are never equal.
    func statusChanged(to status: ConnectionStatus, from earlier: ConnectionStatus)
    func connectionEvent(_ event: ConnectionEvent)
    /// The connection is about to be closed, with last words if this side ends it. Returns work to do over it first,
    /// which may take a second or so; nil if there is none.
    func connectionCloses(_ link: ConnectionLink<Self>, isFarewell: Bool) -> (@Sendable () async -> Void)?
    func connectionLost()
    func sessionEnded(_ reason: ConnectionReason)
    func connectionWoke()
}

package struct DialPlan: Sendable {
    package var servers: [ServerAddress]
    package var options: ConnectOptions
    /// Whether to try servers that another server advertises.
    package var followsCluster: Bool

    package init(servers: [ServerAddress], options: ConnectOptions, followsCluster: Bool) {
        (self.servers, self.options, self.followsCluster) = (servers, options, followsCluster)
    }
}

package enum ConnectOutcome: Sendable {
    case connected
    /// The session ended first, for this reason.
    case ended(ConnectionReason)
    /// The caller was cancelled, or the owner is gone.
    case cancelled
}

/// Keeps one connection through outages: drives ``ConnectionMachine`` in its owner's isolation. It knows servers, dials
/// and waits, but nothing of what is said over the connection.
package final class ConnectionDriver<Owner: ConnectionOwner> {
    package let surroundings: Surroundings
    package private(set) var link: ConnectionLink<Owner>?
    /// The last words over a connection that was let go. The next dial waits for it: there is one socket at a time.
    package private(set) var farewell: Task<Void, Never>?

    private var machine: ConnectionMachine
    private var published = ConnectionStatus.initialized
    private var timers = TimerSet<ConnectionMachine.TimerID>()
    private var waiters: [ObjectIdentifier: Completion<ConnectOutcome>] = [:]
    /// The event being handled, and those that arrived meanwhile.
    private var pendingEvents: [ConnectionMachine.Event] = []
    private var pool = ServerPool()
    private var generator: SeededGenerator
    private var network = WatchedNetwork()
    private var plan: DialPlan?
    private let log: StatusLog

    /// Creates a driver without a session. The seed is for random choices such as jitter.
    package init(policy: ReconnectPolicy, seed: UInt64, logger: Logger, surroundings: Surroundings) {
        machine = ConnectionMachine(policy: policy, seed: seed)
        generator = SeededGenerator(seed: ~seed)
        log = StatusLog(logger: logger)
        self.surroundings = surroundings
    }

    deinit {
        link?.end()
        link?.connection?.closeNow()
        network.rest()
        timers.cancelAll()
        completeConnect(.cancelled)
    }

    package var status: ConnectionStatus { machine.status }
    /// The present link, once everything on its connection is restored.
    package var restoredLink: ConnectionLink<Owner>? { status.state == .connected ? link : nil }
    package var hasSession: Bool { machine.hasSession }
    package var generation: UInt64 { machine.generation }
    /// The known servers, the next one to try first.
    package var knownServers: [ServerAddress] { pool.order }

    // MARK: Calls

    /// Begins a session, or joins the connecting of the present one.
    package func connect(within limit: Duration?, for owner: isolated Owner) {
        watchNetwork(for: owner)
        handle(.connectRequested(timeLimit: limit), for: owner)
    }

    /// The outcome of the connecting that has begun, for a caller that waits for it. It is fulfilled exactly once.
    package func outcome() -> Completion<ConnectOutcome> {
        let outcome = Completion<ConnectOutcome>()
        if machine.isConnectPending {
            waiters[ObjectIdentifier(outcome)] = outcome
        } else {
            // Connected already, or ended by the request itself, on behalf of an earlier caller.
            outcome.fulfil(.connected)
        }
        return outcome
    }

    package func forget(_ outcome: Completion<ConnectOutcome>) { waiters[ObjectIdentifier(outcome)] = nil }

    /// Replaces the present connection by a new one at once; false if nothing is or becomes connected.
    package func reconnect(for owner: isolated Owner) -> Bool {
        guard hasSession, status.state != .suspended else { return false }
        handle(.connectionFailed(generation: generation, reason: .replacementRequested), for: owner)
        handle(.nudged, for: owner)
        return true
    }

    /// Takes another route from now on, on which advertised servers may not exist.
    package func takeAnotherWay(seed: UInt64?, for owner: isolated Owner) {
        pool.forgetAdvertised()
        if let seed {
            machine.reseed(seed)
            generator = SeededGenerator(seed: ~seed)
        }
        // A suspended connection takes that route when it resumes.
        if reconnect(for: owner) { watchNetwork(for: owner) }
    }

    /// Measures the round trip to the server; nil without a connection.
    package func ping(for owner: isolated Owner) async throws(NATSError) -> Duration? {
        guard let link, let connection = link.connection else { return nil }
        let duration = try await connection.ping()
        handle(.roundTrip(generation: link.generation, duration), for: owner)
        return duration
    }

    package func probe() { link?.connection?.probe(within: .seconds(2)) }

    /// Everything on the link's connection is restored.
    package func restored(_ roundTrip: Duration, over link: ConnectionLink<Owner>, for owner: isolated Owner) {
        handle(.restored(generation: link.generation), for: owner)
        handle(.roundTrip(generation: link.generation, roundTrip), for: owner)
    }

    // MARK: The machine

    /// Feeds the machine an event and carries out its actions.
    package func handle(_ event: ConnectionMachine.Event, for owner: isolated Owner) {
        pendingEvents.append(event)
        // An event that an action raises is handled after the remaining actions, so that the last status is current.
        guard pendingEvents.count == 1 else { return }
        while let next = pendingEvents.first {
            for action in machine.handle(next, at: surroundings.clock.now) { perform(action, for: owner) }
            pendingEvents.removeFirst()
        }
    }

    private func perform(_ action: ConnectionMachine.Action, for owner: isolated Owner) {
        log.note(action, before: published, now: surroundings.clock.now)
        switch action {
        case .dial(let generation, _):
            endLink(for: owner)
            let link = ConnectionLink(generation, of: owner, owner.makeAttachment(), surroundings)
            self.link = link
            link.dial(after: farewell)
        case .restore: if let link { owner.restore(over: link) }
        case .closeSocket(let generation): if link?.generation == generation { endLink(for: owner) }
        case .probe: probe()
        case .renewCredentials(let generation): owner.renewCredentials(generation: generation)
        case .startTimer(let id, let moment):
            timers.start(id, at: moment, on: surroundings.clock, for: owner) { $0.connection.timerFired(id, for: $0) }
        case .cancelTimer(let id): timers.cancel(id)
        case .publish(let status): publish(status, for: owner)
        case .event(let event): owner.connectionEvent(event)
        case .completeConnect(let reason): completeConnect(reason.map { .ended($0) } ?? .connected)
        case .ended(let reason): owner.sessionEnded(reason)
        }
    }

    private func timerFired(_ id: ConnectionMachine.TimerID, for owner: isolated Owner) {
        timers.cancel(id)
        owner.connectionWoke()
        handle(.timerFired(id), for: owner)
    }

    private func publish(_ status: ConnectionStatus, for owner: isolated Owner) {
        let earlier = published
        published = status
        if status.state == .suspended {
            network.rest()
        } else if earlier.state == .suspended, hasSession {
            watchNetwork(for: owner)
        }
        owner.statusChanged(to: status, from: earlier)
    }

    private func completeConnect(_ outcome: ConnectOutcome) {
        for waiter in waiters.values { waiter.fulfil(outcome) }
        waiters = [:]
    }

    /// Ends the present link, which reports nothing from then on.
    private func endLink(for owner: isolated Owner) {
        guard let link else { return }
        self.link = nil
        link.end()
        guard let connection = link.connection else { return }
        let isSuspended = status.state == .suspended
        let lastWords = owner.connectionCloses(link, isFarewell: isSuspended || !hasSession)
        if isSuspended || lastWords != nil {
            farewell = Task {
                await lastWords?()
                try? await connection.flush(timeout: .seconds(1))
                await connection.closed(within: .milliseconds(500))
            }
        } else {
            connection.closeNow()
        }
        owner.connectionLost()
    }

    private func watchNetwork(for owner: isolated Owner) {
        guard let servers = owner.watchedServers else {
            if network.end() { handle(.networkReturned, for: owner) }
            return
        }
        network.follow(servers) { [weak owner] change, servers in
            await owner?.run { $0.connection.networkChanged(change, for: servers, of: $0) }
        }
    }

    private func networkChanged(_ change: NetworkPath.Change, for servers: [ServerAddress], of owner: isolated Owner) {
        guard network.isWatching(servers) else { return }
        handle(change == .unavailable ? .networkLost : .networkReturned, for: owner)
    }

    // MARK: The link

    func nextServer(of plan: DialPlan) -> ServerAddress? {
        self.plan = plan
        pool.configure(plan.servers)
        return pool.next
    }

    /// The present dial or its connection has failed: its server becomes the last choice.
    func failed(_ failure: LinkFailure, at address: ServerAddress?, for owner: isolated Owner) {
        if let address { pool.failed(address) }
        let (reason, needsCredentials) = owner.failed(failure.reason)
        guard !needsCredentials else {
            return handle(.credentialsNeeded(generation: generation, reason: reason), for: owner)
        }
        handle(
            .connectionFailed(
                generation: generation, reason: reason, retryWithin: failure.retryLimit,
                // Settings that do not fit the only server never will.
                isHopeless: failure.isOfSettings && pool.order.count == 1),
            for: owner)
    }

    func dialSucceeded(_ link: ConnectionLink<Owner>, _ connection: NATSConnection, for owner: isolated Owner) {
        pool.connected(to: connection.address)
        advertised(connection.info, by: connection)
        link.follow(connection)
        owner.connectionOpened(link)
        handle(.dialSucceeded(generation: link.generation), for: owner)
    }

    func advertised(_ info: ServerInfo, by connection: NATSConnection) {
        guard let plan, plan.followsCluster else { return }
        var needsLogin = false
        if case .none = plan.options.authentication { needsLogin = connection.address.authentication != nil }
        let servers = (info.connectURLs ?? []).compactMap {
            ServerAddress(discovered: $0, like: connection.address, configured: pool.configured)
        }
        // A login in a URL is for its own host, so other servers would refuse this client.
        pool.advertise(servers.filter { !needsLogin || $0.authentication != nil }, using: &generator)
    }
}
