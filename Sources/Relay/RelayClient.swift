import NATS
import NIOConcurrencyHelpers
import NIOCore

/// A real-time client: topics, postbox and connection, for one user on one network.
///
/// The connection is kept by pure machines (``ConnectionMachine``, ``LifecycleMachine``, ``Outbox``); this actor
/// carries out what they decide. Calls keep the names of the systems they come from: `connect`, `publish`, `on` and
/// `off` from RelayX, `listMessages` and its companions from Sudo's relay, `connect(timeLimit:)` from Nexconn and
/// RongCloud, `setAppStateActive` from Supabase. When the last reference goes, the socket closes.
public actor RelayClient {
    // What every call may need, from any thread.
    nonisolated let settings: NIOLockedValueBox<Settings>
    nonisolated let publisher: Publisher
    /// The name of this client in every message.
    nonisolated let clientID: String
    nonisolated let surroundings: Surroundings
    nonisolated let log: ClientLog

    // Who hears of what happens.
    private nonisolated let storeBoard = StatusBoard<LocalStore.Opening>(nil, bufferedValues: 4)
    private nonisolated let statusBoard = StatusBoard<ConnectionStatus>(.initialized, bufferedValues: 256)
    private nonisolated let systemEvents = StatusBoard<SystemEvent>(nil, bufferedValues: 64)

    // What decides: values that take events in and return what is to be done. Whatever happens goes through `handle`
    // and its companions below, whichever file it happens in.
    private var machine: ConnectionMachine
    private var lifecycle: LifecycleMachine
    private var idle: IdleRest
    private var signIn: SignIn
    private var following: Following
    private var session: SessionKeeping
    private var presence = PresenceKeeping()
    private var away = LifecycleKeeping()
    private var listeners = Listeners()

    // What is under way for them.
    private var timers = TimerSet<TimerID>()
    /// Waits for the token provider after a refusal.
    private var renewal: Task<Void, Never>?
    /// Gives the session back after the end, and has others told that the user is gone.
    private var sessionRelease: Task<Void, Never>?
    private var connectWaiters = ConnectWaiters()
    /// What happened while an earlier event was being handled.
    private var pendingEvents: [ConnectionMachine.Event] = []

    // What a dial needs, but for the credentials.
    private var pool = ServerPool()
    /// Draws the order of servers that others name.
    private var generator: SeededGenerator
    private var network = WatchedNetwork()
    /// Opens the local store once; every dial waits for it.
    private var storeOpening: Task<LocalStore?, Never>?

    /// Whose the user's postboxes are, as it was last said.
    /// How much readers ask for at once, as cuts have taught.
    private let pullLimit = PullLimit()
    let leftConsumers = LeftConsumers()
    private var personas = Personas()

    /// The present dial, and what it leads to.
    private(set) var link: LiveLink?

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
        log = ClientLog(configuration)
        signIn = SignIn(configuration)
        let seed = configuration.seed ?? UInt64.random(in: 0 ... .max)
        machine = ConnectionMachine(policy: configuration.reconnect, seed: seed)
        generator = SeededGenerator(seed: ~seed)
        lifecycle = LifecycleMachine(policy: configuration.lifecycle, patience: configuration.serverPatience)
        idle = IdleRest(after: configuration.idleTimeout)
        publisher = Publisher(
            policy: configuration.outbox, maximumMessageBytes: configuration.maximumMessageBytes,
            clock: surroundings.clock, location: configuration.store, choice: configuration.keptChoice,
            log: log)
        clientID = configuration.clientID
        following = Following(configuration.namespace)
        session = SessionKeeping(SessionClaim(configuration))
    }

    deinit {
        link?.end()
        link?.connection?.closeNow()
        renewal?.cancel()
        signIn.tokenRequest?.answer.cancel()
        network.end()
        storeOpening?.cancel()
        timers.cancelAll()
        for follower in following.all { follower.end(.success(())) }
        connectWaiters.complete(.cancelled)
        presence.end()
        away.end()
        storeBoard.finish()
        statusBoard.finish()
        systemEvents.finish()
        publisher.end()
    }

    // MARK: Connection

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
    /// - Throws: ``RelayError/notInitialized`` before `prepare`, ``RelayError/connection(_:)`` with the reason the
    ///   session ended for, ``RelayError/cancelled``.
    public func connect(timeLimit: Int = 0) async throws(RelayError) {
        try await connect(within: Self.limit(timeLimit))
    }

    /// A time limit as the calls take it: nil for none, and 31 years at most, which a clock can still wait for.
    static func limit(_ seconds: Int) -> Duration? { seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : nil }

    /// As ``connect(timeLimit:)``, for parts of seconds too; nil for as long as it takes.
    package func connect(within limit: Duration?) async throws(RelayError) {
        let (waiter, key) = try startConnecting(within: limit)
        let error = await waiter.value(onCancel: .cancelled)
        connectWaiters.remove(key)
        if let error { throw error }
    }

    /// Begins or joins the connecting; the waiter is fulfilled exactly once, with nil for success.
    func startConnecting(within limit: Duration?) throws(RelayError) -> (waiter: Completion<RelayError?>, key: UInt64) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        beginSession(timeLimit: limit)
        if machine.isConnectPending { return connectWaiters.add() }
        // Connected already; or an end that the request itself brought about, which was an earlier caller's.
        let waiter = Completion<RelayError?>()
        waiter.fulfil(nil)
        return (waiter, 0)
    }

    /// Begins to connect and returns at once; ``statuses`` reports what comes of it.
    public func beginConnecting() { beginConnecting(within: nil) }

    /// As ``beginConnecting()``, with a time limit for the first connection; nil for none.
    package func beginConnecting(within limit: Duration?) {
        guard settings.withLockedValue(\.isPrepared) else { return }
        beginSession(timeLimit: limit)
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

    /// Ends the session and every subscription. While connected, what is under way has up to a second to be stored;
    /// what still waits in the outbox then ends as its policy says.
    public func close() async {
        let connection = link?.connection
        if machine.status.state == .connected { await publisher.waitUntilEmpty(limits.closing) }
        if publisher.count == 0, let connection { try? await connection.flush(timeout: .milliseconds(500)) }
        disconnect()
        // A session that had ended before may have left something for another one.
        publisher.sessionEnded(.closedByUser)
        await publisher.settle()
        await sessionRelease?.value
        await away.farewell?.value
        handleFollowing(.closed)
        listeners.endTopics()
        // What has arrived is on the disk then. A failure has been reported by ``storeNews()``, and the network has the
        // messages.
        if let store = await storeOpening?.value { try? await store.flush() }
    }

    /// Goes another way to the network from now on: the present connection is left for a new one, at once. What waits
    /// to be sent goes on waiting, and what is followed is brought back. Where there is no session, the next one goes
    /// that way.
    ///
    /// - Parameter seed: where the client's chances come from now on; nil leaves that as it is.
    public func take(_ route: RelayRoute, seed: UInt64? = nil) {
        settings.withLockedValue { settings in
            settings.configuration.route = route
            if let seed { settings.configuration.seed = seed }
        }
        // Those that were told of on the other way are not on this one.
        pool.forgetAdvertised()
        if let seed {
            machine.reseed(seed)
            generator = SeededGenerator(seed: ~seed)
        }
        // What rests goes that way when it comes back.
        guard hasSession, machine.status.state != .suspended else { return }
        watchNetwork()
        reconnect()
    }

    /// Watches the network on the way to the servers, where the configuration wants it.
    private func watchNetwork() {
        network.follow(configuration) { [weak self] change, servers in
            await self?.networkChanged(change, for: servers)
        }
    }

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
        log.note(action, before: statusBoard.current, now: surroundings.clock.now)
        switch action {
        case .dial(let generation, _): startDial(generation)
        case .restore: link?.restore(configuration, known: following.namespace, publisher)
        case .closeSocket(let generation): if link?.generation == generation { endLink() }
        case .probe: probe()
        case .renewCredentials(let generation):
            renewal?.cancel()
            renewal = renewCredentials(generation)
        case .startTimer(let id, let moment): startTimer(.connection(id), at: moment)
        case .cancelTimer(let id): cancelTimer(.connection(id))
        case .publish(let status):
            statusBoard.post(status)
            handleFollowing(.connectionChanged)
            settleRest(by: status)
        case .event(let event): deliver(event)
        case .completeConnect(let error): connectWaiters.complete(error)
        case .discardOutbox(let reason): publisher.sessionEnded(reason)
        }
    }

    func handleLifecycle(_ event: LifecycleMachine.Event) {
        for action in lifecycle.handle(event, at: surroundings.clock.now) {
            switch action {
            case .startTimer(let id, let moment): startTimer(.lifecycle(id), at: moment)
            case .cancelTimer(let id): cancelTimer(.lifecycle(id))
            case .suspend, .resume, .probe, .renew: carryOut(action)
            }
        }
    }

    /// Has decided about what is followed, and carries that out.
    ///
    /// - Returns: for each that begins to be followed, a completion that is fulfilled once nothing of it can be missed.
    @discardableResult
    func handleFollowing(_ event: Following.Event) -> [Completion<Void>] {
        following.handle(event).compactMap { perform($0) }
    }

    /// Has decided about as whom the client connects, and carries that out.
    ///
    /// - Returns: whether anything was to be done.
    @discardableResult
    func handleSignIn(_ event: SignIn.Event) -> Bool {
        let actions = signIn.handle(event)
        for action in actions { perform(action) }
        return !actions.isEmpty
    }

    /// Has decided about the exclusive session and the administrator's word, and carries that out.
    func handleSession(_ event: SessionKeeping.Event) {
        if let reason = session.handle(event) { handle(.serverControl(generation: generation, reason: reason)) }
    }

    /// Has decided about a subscription that is for a view on the screen, and carries that out.
    func handleScreen(_ event: ScreenLeases.Event) {
        for action in away.leases.handle(event, at: surroundings.clock.now) { perform(action) }
        // No timer runs while the connection rests.
        if away.isResting { releaseHidden() }
    }

    /// Lets every subscription go whose view is off the screen.
    private func releaseHidden() {
        for action in away.leases.handle(.connectionRests, at: surroundings.clock.now) { perform(action) }
    }

    /// Has decided about presence, and carries that out over a link; the present one when nil.
    ///
    /// - Returns: whether anything was written that has yet to leave.
    @discardableResult
    func handlePresence(_ event: PresenceKeeping.Event, over link: LiveLink? = nil) -> Bool {
        let actions = presence.handle(event, presenceCircumstances)
        for action in actions { perform(action, over: link ?? self.link) }
        return actions.contains { if case .write = $0 { true } else { false } }
    }

    /// Something is followed, or is to be sent.
    func connectionIsNeeded() {
        perform(idle.needed(isFollowed: isFollowing, at: surroundings.clock.now))
        waitForNothingAtRest()
    }

    /// Has a connection come back that rests.
    ///
    /// - Returns: whether it is on its way, so that the caller is to tell by ``restEnded()`` what became of it.
    func endRest() -> Bool {
        // Where it does not rest, the wait for that begins anew.
        connectionIsNeeded()
        return idle.isReturning
    }

    /// It is known what became of the way back.
    func restEnded() { idle.returned() }

    /// The last subscription has ended, or was let go.
    func subscriptionsEnded() {
        perform(idle.subscriptionsEnded(at: surroundings.clock.now))
        waitForNothingAtRest()
    }

    /// In the background no timer runs; the wait begins with the return.
    private func waitForNothingAtRest() {
        if away.isResting { perform(idle.pause()) }
    }

    /// Has everything rest or run that there is beside the connection, as its status has it.
    private func settleRest(by status: ConnectionStatus) {
        let isResting = status.state == .suspended
        if !hasSession || isResting {
            cancelTimer(.look)
        } else if !timers.isRunning(.look) {
            awaitLook()
        }
        guard away.rest(isResting) else { return }
        if isResting {
            network.rest()
            releaseHidden()
            perform(idle.pause())
        } else if hasSession {
            watchNetwork()
            perform(idle.goOn(isFollowed: isFollowing, at: surroundings.clock.now))
        }
    }

    // MARK: What they tell

    /// What the credentials may do, as the network said at the newest connection; nil where it did not.
    public var accessRights: AccessRights? { namespace?.rights }

    /// The names of the network's topics, as far as they are known.
    var namespace: RelayConfiguration.Namespace? { following.namespace }
    /// Whether anything is followed.
    var isFollowing: Bool { !following.isEmpty }
    /// Where other credentials come from.
    var tokenSupply: SignIn.Supply { signIn.supply }
    /// Whether dialling is of no use before the token provider has given another token.
    var hasExpiredToken: Bool { signIn.isExpired(at: surroundings.clock.secondsSince1970) }
    /// The exclusive session; nil where sessions are shared.
    var sessionClaim: SessionClaim? { session.claim }
    /// Whether the user is to be seen anywhere, or anybody is watched.
    var isPresenceInUse: Bool { presence.isInUse }
    /// The signals of the application's life that are watched.
    var lifecycleSources: [any LifecycleSource] { away.sources }
    /// What they tell and nobody has taken in yet.
    var lifecycleSignals: BoundedChannel<LifecycleEvent> { away.signals }
    /// Watches these signals from now on.
    func keepSources(_ sources: [any LifecycleSource]) { away.sources = sources }
    /// When the signals are looked at next.
    var nextLook: ContinuousClock.Instant? {
        get { away.nextLook }
        set { away.nextLook = newValue }
    }
    /// Whether the connection rests because nobody needs it.
    var isIdle: Bool { idle.isResting }
    /// The last words over a connection that was let go, and its end.
    var farewell: Task<Void, Never>? { away.farewell }
    /// Whether who is in one more topic may be watched.
    func mayWatchPresence(of topic: String) -> Bool { presence.mayWatch(topic) }
    /// When the next entry of a watched topic ends, or its user's typing.
    func nextPresenceEnd(of topic: String) -> ContinuousClock.Instant? { presence.nextEnd(of: topic) }
    /// Whether the network keeps presence; nil while that is not known. It is found out on each connection by the first
    /// entry that is written or watched.
    public var isPresenceAvailable: Bool? { presence.isAvailable }

    // MARK: Timers

    func startTimer(_ id: TimerID, at moment: ContinuousClock.Instant) {
        timers.start(id, at: moment, on: surroundings.clock) { [weak self] in await self?.timerFired(id) }
    }

    func cancelTimer(_ id: TimerID) { timers.cancel(id) }

    private func timerFired(_ id: TimerID) {
        timers.cancel(id)
        switch id {
        case .connection(let id):
            lookForSignals()
            handle(.timerFired(id))
        case .lifecycle(let id): handleLifecycle(.timerFired(id))
        case .idle(let id):
            perform(idle.timerFired(id, isNeeded: isConnectionNeeded, at: surroundings.clock.now))
        case .presence(let id): handlePresence(.timerFired(id))
        case .screen(let id): handleScreen(.timerFired(id))
        case .look: lookAgain()
        }
    }

    // MARK: Listeners

    func addListener(_ entry: Listeners.Entry, isOnly: Bool) -> UInt64 { listeners.add(entry, isOnly: isOnly) }
    func removeListener(_ key: UInt64) { listeners.remove(key) }
    func hasOnlyListener(of topic: String) -> Bool { listeners.hasOnly(topic) }
    func removeOnlyListener(of topic: String) -> Bool { listeners.removeOnly(topic) }
    func listeners(of event: SystemEvent) -> [any MessageListener] { listeners.listeners(of: event) }
    func keepToken(_ token: SubscriptionToken) { listeners.keep(token) }
    func cancelTokens() { listeners.cancelTokens() }

    /// Tells whoever reads ``events``.
    func post(_ event: SystemEvent) { systemEvents.post(event, keepsCurrent: false) }

    // MARK: The link

    private func startDial(_ generation: UInt64) {
        renewal?.cancel()
        endLink()
        personas = Personas(after: personas)
        let link = LiveLink(generation, of: self, personas, pullLimit, leftConsumers, surroundings)
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
        let isFarewell = state == .disconnected || state == .suspended
        let isTelling = handlePresence(.closed(tellsOthers: isFarewell && connection.isOpen), over: link)
        if state == .disconnected {
            let release = endSession(over: link, giving: session.release(), isTelling: isTelling)
            if let release { sessionRelease = release }
        } else if isTelling || state == .suspended {
            away.farewell = Task { await Self.closeBehind(connection) }
        } else {
            connection.closeNow()
        }
        handleFollowing(.connectionLost)
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

    func dialFailed(_ error: NATSError, to address: ServerAddress, generation: UInt64) {
        pool.failed(address)
        let reason = ConnectionReason(error)
        handleSignIn(.failed(reason))
        let explained = signIn.explained(reason, at: surroundings.clock.secondsSince1970)
        let limit = ConnectionReason.retryLimit(after: error)
        // A setting that does not fit the only server there is never will.
        let isHopeless =
            switch error {
            case .tlsFirst, .speaksBeforeTLS: pool.order.count == 1
            default: false
            }
        handle(
            .connectionFailed(
                generation: generation, reason: explained, retryWithin: limit, isHopeless: isHopeless))
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
        guard configuration.followsCluster else { return }
        var needsLogin = false
        if case .none = configuration.credentials.authentication {
            needsLogin = connection.address.authentication != nil
        }
        let servers = (info.connectURLs ?? []).compactMap {
            ServerAddress(discovered: $0, like: connection.address, configured: pool.configured)
        }
        // Those that a login in a URL is not for would refuse this client.
        pool.advertise(servers.filter { !needsLogin || $0.authentication != nil }, using: &generator)
    }

    /// A connection that stood is of no use any more: its server becomes the last choice.
    func linkLost(_ reason: ConnectionReason, from address: ServerAddress?, generation: UInt64) {
        if let address { pool.failed(address) }
        handleSignIn(.failed(reason))
        handle(.connectionFailed(generation: generation, reason: reason))
    }
}
