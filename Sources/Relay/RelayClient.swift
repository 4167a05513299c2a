import NATS
import NIOConcurrencyHelpers
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A real-time client: topics, postbox and connection, for one user on one network.
///
/// The connection is kept by pure machines (``ConnectionMachine``, ``LifecycleMachine``, ``Outbox``); this actor carries
/// out what they decide. Calls keep the names of the systems they come from: `connect`, `publish`, `on` and `off` from
/// RelayX, `listMessages` and its companions from Sudo's relay, `connect(timeLimit:)` from Nexconn and RongCloud,
/// `setAppStateActive` from Supabase. When the last reference goes, the socket closes.
public actor RelayClient {
    // What every call may need, from any thread.
    nonisolated let settings: NIOLockedValueBox<Settings>
    nonisolated let publisher: Publisher
    /// The name of this client in every message.
    nonisolated let clientID: String
    nonisolated let surroundings: Surroundings

    // Who hears of what happens.
    private nonisolated let storeBoard = StatusBoard<LocalStore.Opening>(nil, bufferedValues: 4)
    private nonisolated let statusBoard = StatusBoard<ConnectionStatus>(.initialized, bufferedValues: 256)
    private nonisolated let systemEvents = StatusBoard<SystemEvent>(nil, bufferedValues: 64)

    // What decides about the connection, and the timers that it runs.
    private var machine: ConnectionMachine
    private var lifecycle: LifecycleMachine
    private var connectionTimers = TimerSet<ConnectionMachine.TimerID>()
    private var lifecycleTimers = TimerSet<LifecycleMachine.TimerID>()
    var idle: IdleRest
    var idleTimers = TimerSet<IdleRest.TimerID>()
    private var connectWaiters: [UInt64: Completion<RelayError?>] = [:]
    private var nextWaiter: UInt64 = 0
    /// What happened while an earlier event was being handled.
    private var pendingEvents: [ConnectionMachine.Event] = []

    // What a dial needs, but for the credentials.
    private var pool = ServerPool()
    /// A generator with a state: the system's has no bytes and so no address that the thread sanitizer could watch.
    private var generator = RandomWords()
    private var network = WatchedNetwork()
    /// Opens the local store once; every dial waits for it.
    private var storeOpening: Task<LocalStore?, Never>?

    /// The present dial, and what it leads to.
    private(set) var link: LiveLink?

    // As whom the client connects: a concern of `RelayClient+SignIn`. What a dial tells of it is taken in here.
    var signIn: SignIn
    /// Waits for the token provider after a refusal.
    var renewal: Task<Void, Never>?

    // What is followed and heard through all connections: a concern of the extensions in `Topics` and `Postbox`.
    /// The names of the network's topics, which another user's sign-in takes away.
    var namespace: RelayConfiguration.Namespace?
    var following = Following()
    var listeners = Listeners()

    // The exclusive session, and what the administrator has said: a concern of `RelayClient+Session`.
    var claim: SessionClaim?
    /// The proofs of control messages that were believed, so that none counts twice; the oldest are dropped.
    var provedControls: [String] = []
    /// Gives the session back after the end, and has others told that the user is gone.
    var sessionRelease: Task<Void, Never>?

    // Who is where: a concern of `RelayClient+Presence`.
    var presence = PresenceKeeping()

    // The application's life: a concern of `RelayClient+Lifecycle`.
    var away = LifecycleKeeping()

    /// What a client was made and prepared with.
    struct Settings: Sendable {
        var configuration: RelayConfiguration
        /// Whether the client knows its servers, so that it may connect.
        var isPrepared = true
        var limits = Limits()
    }

    /// Creates a client; nothing is dialled before ``connect(timeLimit:)``.
    public init(configuration: RelayConfiguration) {
        self.init(Settings(configuration: configuration))
    }

    /// As the public form, in other surroundings than the system's.
    package init(configuration: RelayConfiguration, surroundings: Surroundings) {
        self.init(Settings(configuration: configuration), surroundings)
    }

    init(_ settings: Settings, _ surroundings: Surroundings = Surroundings()) {
        let configuration = settings.configuration
        self.settings = NIOLockedValueBox(settings)
        self.surroundings = surroundings
        signIn = SignIn(configuration)
        machine = ConnectionMachine(policy: configuration.reconnect, seed: UInt64.random(in: 0 ... .max))
        lifecycle = LifecycleMachine(policy: configuration.lifecycle, patience: configuration.serverPatience)
        idle = IdleRest(after: configuration.idleTimeout)
        publisher = Publisher(
            policy: configuration.outbox, maximumMessageBytes: configuration.maximumMessageBytes,
            clock: surroundings.clock,
            keeper: OutboxKeeper(
                for: configuration.store, choice: configuration.keptChoice, clock: surroundings.clock))
        clientID = configuration.clientID
        namespace = configuration.namespace
        if case .exclusive(let policy) = configuration.sessions {
            claim = SessionClaim(session: RandomText.uuid(), device: configuration.device, policy: policy)
        }
    }

    deinit {
        link?.end()
        link?.connection?.closeNow()
        renewal?.cancel()
        signIn.tokenRequest?.answer.cancel()
        network.end()
        storeOpening?.cancel()
        connectionTimers.cancelAll()
        lifecycleTimers.cancelAll()
        idleTimers.cancelAll()
        for (_, follower) in following.all { follower.end(.success(())) }
        for waiter in connectWaiters.values { waiter.fulfil(.cancelled) }
        presence.end()
        away.end()
        storeBoard.finish()
        statusBoard.finish()
        systemEvents.finish()
        publisher.end()
    }

    /// How long calls wait.
    struct Limits: Sendable {
        /// ``publish(topic:message:)``, for the server.
        var publish = Duration.seconds(10)
        /// ``close()``, for what is under way.
        var closing = Duration.seconds(1)
        /// A token provider.
        var provider = Duration.seconds(30)
        /// Finding out where the servers are, which includes a start of theirs.
        var discovery = Duration.seconds(60)
    }

    nonisolated var limits: Limits { settings.withLockedValue(\.limits) }

    // MARK: Connection

    /// The configuration from the initializer and from `prepare`, with the newest credentials.
    public nonisolated var configuration: RelayConfiguration { settings.withLockedValue(\.configuration) }

    /// The client's user name on the network; nil when neither credentials nor configuration have it.
    public nonisolated var user: String? { configuration.user }

    /// The present status.
    public nonisolated var status: ConnectionStatus { statusBoard.current ?? .initialized }

    /// The status now, then every change; the sequence ends with the client.
    public nonisolated var statuses: AsyncStream<ConnectionStatus> { statusBoard.watch() }

    /// RelayX's system events from now on.
    public nonisolated var events: AsyncStream<SystemEvent> { systemEvents.watch() }

    /// How opening the local store went, as soon as that is known: strictly before the network is touched.
    public nonisolated var storeOpenings: AsyncStream<LocalStore.Opening> { storeBoard.watch() }

    /// Connects. Several calls at the same time share one connection and one outcome.
    ///
    /// The local store opens first. A store that cannot be opened does not prevent the connection.
    ///
    /// - Parameter timeLimit: seconds after which the attempt is given up; zero or less tries until it succeeds
    ///   or a reason is final (Nexconn's and RongCloud's `timeLimit`).
    /// - Throws: ``RelayError/notInitialized`` before `prepare`, ``RelayError/connection(_:)`` with the reason the session
    ///   ended for, ``RelayError/cancelled``.
    public func connect(timeLimit: Int = 0) async throws(RelayError) {
        let (waiter, key) = try startConnecting(timeLimit: timeLimit)
        let error = await waiter.value(onCancel: .cancelled)
        connectWaiters[key] = nil
        if let error { throw error }
    }

    /// Begins or joins the connecting; the waiter is fulfilled exactly once, with nil for success.
    func startConnecting(timeLimit: Int) throws(RelayError) -> (waiter: Completion<RelayError?>, key: UInt64) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        let waiter = Completion<RelayError?>()
        let key = nextWaiter
        nextWaiter += 1
        beginSession(timeLimit: timeLimit > 0 ? .seconds(timeLimit) : nil)
        // An end that the request itself brought about was an earlier caller's.
        if machine.isConnectPending { connectWaiters[key] = waiter } else { waiter.fulfil(nil) }
        return (waiter, key)
    }

    /// Begins to connect and returns at once; ``statuses`` reports what comes of it.
    public func beginConnecting() {
        guard settings.withLockedValue(\.isPrepared) else { return }
        beginSession(timeLimit: nil)
    }

    private func beginSession(timeLimit: Duration?) {
        applyPolicy()
        perform(idle.reset())
        if idle.time != nil {
            publisher.whenSubmitted { [weak self] in
                Task { await self?.connectionIsNeeded() }
            }
        }
        publisher.begin()
        watchNetwork()
        watchLifecycle()
        // Without a network too: what is kept can be shown at once.
        _ = openingStore()
        handle(.connectRequested(timeLimit: timeLimit))
        // Behind what the request brought about, which may be the overdue end of an earlier session.
        handleLifecycle(.userConnected)
    }

    func applyPolicy() {
        machine.policy = configuration.reconnect
        // Without a provider there is no one to ask, and a refused token is the end at once.
        if signIn.credentials.provider == nil { machine.policy.tokenRenewals = 0 }
    }

    /// Whether a session runs, connected or not.
    var hasSession: Bool { machine.status.state != .initialized && machine.status.state != .disconnected }

    /// Whether the background has put the connection to rest.
    var isInBackground: Bool { lifecycle.isSuspended }

    /// The number of the newest dial.
    var generation: UInt64 { machine.generation }

    /// Ends the session from any state; only another `connect` starts one.
    public func disconnect() {
        perform(idle.reset())
        handleLifecycle(.userDisconnected)
        handle(.disconnectRequested)
    }

    /// Ends the session and every subscription. While connected, what is under way has up to a second to be stored; what
    /// still waits in the outbox then ends as its policy says.
    public func close() async {
        let connection = link?.connection
        if machine.status.state == .connected { await publisher.waitUntilEmpty(limits.closing) }
        if publisher.count == 0, let connection { try? await connection.flush(timeout: .milliseconds(500)) }
        disconnect()
        // A session that had ended before may have left something for another one.
        publisher.sessionEnded(.closedByUser)
        await publisher.keeper?.settle()
        await sessionRelease?.value
        await away.farewell?.value
        following.end()
        listeners.endTopics()
        // What has arrived outlives the process then. What cannot be kept has been told, and is on the network.
        if let store = await storeOpening?.value { try? await store.flush() }
    }

    /// Watches the network on the way to the servers, where the configuration wants it.
    func watchNetwork() {
        network.follow(configuration) { [weak self] change, servers in
            await self?.networkChanged(change, for: servers)
        }
    }

    /// Watches it no more until ``watchNetwork()``.
    func ignoreNetwork() { network.rest() }

    private func networkChanged(_ change: NetworkPath.Change, for servers: [ServerAddress]) {
        guard network.isWatching(servers) else { return }
        setNetworkAvailable(change != .unavailable)
    }

    // MARK: Machines

    /// Has the machine decide about what has happened, and carries out what it decides.
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
        case .publish(let status):
            statusBoard.post(status)
            following.connectionChanged(status)
            settleRest(by: status)
        case .event(let event): deliver(event)
        case .completeConnect(let error):
            for waiter in connectWaiters.values { waiter.fulfil(error) }
            connectWaiters = [:]
        case .discardOutbox(let reason): publisher.sessionEnded(reason)
        }
    }

    private func connectionTimerFired(_ id: ConnectionMachine.TimerID) {
        connectionTimers.cancel(id)
        lookForSignals()
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
            case .suspend, .resume, .probe, .renew: carryOut(action)
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

    /// Tells the listener of ``SystemEvent/messageResend``, with an array of ``ResentMessage``, and whoever reads
    /// ``events``.
    private func reportResent() {
        let messages = publisher.takeResent()
        guard !messages.isEmpty else { return }
        systemEvents.post(.messageResend, keepsCurrent: false)
        tell(messages, ofEvent: .messageResend)
    }

    // MARK: The link

    private func startDial(_ generation: UInt64) {
        renewal?.cancel()
        endLink()
        let link = LiveLink(generation, of: self, surroundings)
        self.link = link
        link.dial(behind: openingStore(), away.farewell, limits)
    }

    /// Ends the present link: what was under way goes back to its place, and nothing of it is heard again.
    private func endLink() {
        guard let link else { return }
        self.link = nil
        link.end()
        guard let connection = link.connection else { return }
        let state = machine.status.state
        let isTelling = endPresence(over: link, isFarewell: state == .disconnected || state == .suspended)
        if state == .disconnected {
            releaseSession(link, isTelling: isTelling)
        } else if isTelling || state == .suspended {
            bidFarewell(over: connection)
        } else {
            connection.closeNow()
        }
        following.pause()
        publisher.connectionLost()
    }

    /// The opening of the local store, which begins with the first call.
    func openingStore() -> Task<LocalStore?, Never> {
        if let storeOpening { return storeOpening }
        let opening = LocalStore.opening(
            configuration.store, keeping: configuration.retention, while: away.upkeep, by: surroundings.clock,
            for: publisher, telling: storeBoard)
        storeOpening = opening
        return opening
    }

    /// Finds out at once whether the connection lives: a person has come back, or another network has.
    func probe() { link?.connection?.probe(within: .seconds(2)) }

    // MARK: Servers

    /// The servers that are known, the next one to try first: the configured ones and those that a server told of.
    public var knownServers: [ServerAddress] { pool.order }

    /// Where to dial next; nil when no server is known.
    func nextServer(of servers: [ServerAddress]) -> ServerAddress? {
        pool.configure(servers)
        return pool.next
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

    /// A connection that stood is of no use any more: its server becomes the last choice.
    func linkLost(_ reason: ConnectionReason, from address: ServerAddress?, generation: UInt64) {
        if let address { pool.failed(address) }
        signIn.wasRefused(for: reason)
        handle(.connectionFailed(generation: generation, reason: reason))
    }
}
