import NATS
import NIOConcurrencyHelpers

/// A real-time client: topics, postbox and connection, for one user on one network.
///
/// The actor holds the parts that decide and act, all of them in its isolation: a ``ConnectionDriver``,
/// ``Subscriptions``, a ``PresenceDriver``, a ``LifecycleDriver`` and a ``Login``; beside them a ``Publisher``, which
/// any thread may call. Calls keep the names of the systems they come from: `connect`, `publish`, `on` and `off` from
/// RelayX, `listMessages` and its companions from Sudo's relay, `connect(timeLimit:)` from Nexconn and RongCloud,
/// `setAppStateActive` from Supabase. When the last reference goes, the socket closes.
public actor RelayClient {
    nonisolated let settings: NIOLockedValueBox<Settings>
    /// The name of this client in every message.
    nonisolated let clientID: String
    nonisolated let surroundings: Surroundings
    nonisolated let boards = Boards()

    package let connection: ConnectionDriver<RelayClient>
    nonisolated let publisher: Publisher
    let subscriptions: Subscriptions
    let presence = PresenceDriver()
    let lifecycle: LifecycleDriver
    let login: Login
    /// Opens the local store once; every dial waits for it.
    private var storeOpening: Task<LocalStore?, Never>?

    // What connections leave to the next one.
    var personas = Personas()
    let pullLimit = PullLimit()
    let leftConsumers = LeftConsumers()

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
        clientID = configuration.clientID
        self.surroundings = surroundings
        var logger = configuration.logger
        logger[metadataKey: "relay.client"] = "\(clientID)"
        connection = ConnectionDriver(
            policy: configuration.reconnect, seed: configuration.seed ?? UInt64.random(in: 0 ... .max),
            logger: logger, surroundings: surroundings)
        lifecycle = LifecycleDriver(configuration)
        login = Login(configuration)
        subscriptions = Subscriptions(configuration.namespace)
        publisher = Publisher(
            policy: configuration.outbox, maximumMessageBytes: configuration.maximumMessageBytes,
            clock: surroundings.clock, location: configuration.store, choice: configuration.keptChoice,
            log: OutboxLog(logger))
    }

    deinit {
        storeOpening?.cancel()
        boards.finish()
        publisher.end()
    }

    // MARK: Watching

    /// Those who hear of what happens.
    struct Boards: Sendable {
        let statuses = StatusBoard<ConnectionStatus>(.initialized, bufferedValues: 256)
        let events = StatusBoard<SystemEvent>(nil, bufferedValues: 64)
        let stores = StatusBoard<LocalStore.Opening>(nil, bufferedValues: 4)

        func finish() {
            statuses.finish()
            events.finish()
            stores.finish()
        }
    }

    /// The present status.
    public nonisolated var status: ConnectionStatus { boards.statuses.current ?? .initialized }

    /// The status now, then every change; the sequence ends with the client.
    public nonisolated var statuses: AsyncStream<ConnectionStatus> { boards.statuses.watch() }

    /// RelayX's system events from now on.
    public nonisolated var events: AsyncStream<SystemEvent> { boards.events.watch() }

    /// How opening the local store went, as soon as that is known: strictly before the network is touched.
    public nonisolated var storeOpenings: AsyncStream<LocalStore.Opening> { boards.stores.watch() }

    /// Tells whoever reads ``events``.
    func post(_ event: SystemEvent) { boards.events.post(event, keepsCurrent: false) }

    /// What the credentials may do, as the network said at the newest connection; nil where it did not.
    public var accessRights: AccessRights? { namespace?.rights }

    /// The names of the network's topics, as far as they are known.
    var namespace: RelayConfiguration.Namespace? { subscriptions.namespace }

    /// The present dial, and what it leads to.
    var link: LiveLink? { connection.link }

    /// The servers that are known, the next one to try first: the configured ones and those that a server told of.
    public var knownServers: [ServerAddress] { connection.knownServers }

    /// The version of the server, while connected.
    public var serverVersion: String? { link?.connection?.info.version }

    /// The name of the server, while connected.
    public var serverName: String? { link?.connection?.info.serverName }

    // MARK: Connecting

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
        let outcome = try startConnecting(within: limit)
        defer { connection.forget(outcome) }
        if let error = RelayError(await outcome.value(onCancel: .cancelled)) { throw error }
    }

    /// Begins or joins the connecting; the outcome is fulfilled exactly once.
    func startConnecting(within limit: Duration?) throws(RelayError) -> Completion<ConnectOutcome> {
        try begin(within: limit)
        return connection.outcome()
    }

    /// Begins to connect and returns at once; ``statuses`` reports what comes of it.
    public func beginConnecting() { beginConnecting(within: nil) }

    /// As ``beginConnecting()``, with a time limit for the first connection; nil for none.
    package func beginConnecting(within limit: Duration?) { try? begin(within: limit) }

    private func begin(within limit: Duration?) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        publisher.begin()
        lifecycle.begin(for: self)
        // Without a network too: what is kept can be shown at once.
        _ = openingStore()
        connection.connect(within: limit, for: self)
        // Behind what the request brought about, which may be the overdue end of an earlier session.
        lifecycle.handle(.userConnected, for: self)
    }

    /// Leaves the present connection for a new one, at once; where there is no session, begins one. What waits to be
    /// sent goes on waiting.
    public func reconnect() {
        if !connection.reconnect(for: self) { beginConnecting() }
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
        connection.takeAnotherWay(seed: seed, for: self)
    }

    /// A sign that a person is waiting: the next attempt comes at once.
    public func nudge() { connection.handle(.nudged, for: self) }

    /// Tells whether the system has a network at all. Without one, attempts pause; with a new one they begin at once.
    public func setNetworkAvailable(_ isAvailable: Bool) {
        connection.handle(isAvailable ? .networkReturned : .networkLost, for: self)
    }

    /// Something is followed, or is to be sent: an idle connection comes back.
    func connectionIsNeeded() { lifecycle.connectionIsNeeded(for: self) }

    /// Measures the round trip to the server now.
    ///
    /// - Throws: ``RelayError/notConnected``, ``RelayError/timeout(_:)``.
    public func ping() async throws(RelayError) -> Duration {
        let duration: Duration?
        do throws(NATSError) { duration = try await connection.ping(for: self) } catch {
            throw RelayError(error, during: "a ping")
        }
        guard let duration else { throw .notConnected }
        return duration
    }

    // MARK: The end

    /// Ends the session from any state; only another `connect` starts one.
    public func disconnect() {
        lifecycle.handle(.userDisconnected, for: self)
        connection.handle(.disconnectRequested, for: self)
    }

    /// Ends the session and every subscription. While connected, what is under way has up to a second to be stored;
    /// what still waits in the outbox then ends as its policy says.
    public func close() async {
        await connection.restoredLink?.settle(publisher, within: limits.closing)
        disconnect()
        // A session that had ended before may have left something for another one.
        publisher.sessionEnded(.closedByUser)
        await publisher.settle()
        await connection.farewell?.value
        subscriptions.handle(.closed, for: self)
        subscriptions.listeners.endTopics()
        // What has arrived is on the disk then. A failure has been reported by ``storeNews()``, and the network has the
        // messages.
        if let store = await storeOpening?.value { try? await store.flush() }
    }

    /// The opening of the local store, which begins with the first call.
    func openingStore() -> Task<LocalStore?, Never> {
        if let storeOpening { return storeOpening }
        let opening = LocalStore.opening(
            configuration.store, keeping: configuration.retention, while: lifecycle.upkeep, by: surroundings.clock,
            for: publisher, telling: boards.stores)
        storeOpening = opening
        return opening
    }
}
