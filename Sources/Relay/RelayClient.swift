import NATS
import NIOConcurrencyHelpers

/// A real-time client: topics, postbox and connection, for one user on one network.
///
/// Calls keep the names of the systems they come from: `connect`, `publish`, `on` and `off` from RelayX, `listMessages`
/// and its companions from Sudo's relay, `connect(timeLimit:)` from Nexconn and RongCloud, `setAppStateActive` from
/// Supabase. The socket closes with the last reference.
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

    // State that outlives a connection.
    var personas = Personas()
    let pullLimit = PullLimit()
    let leftConsumers = LeftConsumers()

    /// Creates a client; nothing is dialled before ``connect(timeLimit:)``.
    public init(configuration: RelayConfiguration) { self.init(Settings(configuration: configuration)) }

    /// As the public form, with surroundings other than the system's.
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

    /// The outcome of opening the local store, always before the network is touched.
    public nonisolated var storeOpenings: AsyncStream<LocalStore.Opening> { boards.stores.watch() }

    func post(_ event: SystemEvent) { boards.events.post(event, keepsCurrent: false) }

    /// The rights of the credentials, as the network stated on the newest connection; nil if it did not.
    public var accessRights: AccessRights? { namespace?.rights }

    /// The names of the network's topics, if known.
    var namespace: RelayConfiguration.Namespace? { subscriptions.namespace }

    /// The present dial and its connection.
    var link: LiveLink? { connection.link }

    /// The known servers, the next one to try first: the configured ones and those that a server advertised.
    public var knownServers: [ServerAddress] { connection.knownServers }

    /// The version of the server, while connected.
    public var serverVersion: String? { link?.connection?.info.version }

    /// The name of the server, while connected.
    public var serverName: String? { link?.connection?.info.serverName }

    // MARK: Connecting

    /// Connects. Simultaneous calls share one connection and one outcome.
    ///
    /// The local store opens first. A store that cannot be opened does not prevent the connection.
    ///
    /// - Parameter timeLimit: Seconds after which the attempt is given up; zero or less keeps trying until it succeeds
    ///   or a reason is final (Nexconn's and RongCloud's `timeLimit`).
    /// - Throws: ``RelayError/notInitialized`` before `prepare`, ``RelayError/connection(_:)`` with the reason why the
    ///   session ended, ``RelayError/cancelled``.
    public func connect(timeLimit: Int = 0) async throws(RelayError) {
        try await connect(within: Self.limit(timeLimit))
    }

    /// A time limit as calls take it: nil for none, and at most 31 years, which a clock can still wait for.
    static func limit(_ seconds: Int) -> Duration? { seconds > 0 ? .seconds(min(seconds, 1_000_000_000)) : nil }

    /// As ``connect(timeLimit:)``, with fractions of seconds; nil for no limit.
    package func connect(within limit: Duration?) async throws(RelayError) {
        let outcome = try startConnecting(within: limit)
        defer { connection.forget(outcome) }
        if let error = RelayError(await outcome.value(onCancel: .cancelled)) { throw error }
    }

    /// Starts or joins connecting; the outcome is fulfilled exactly once.
    func startConnecting(within limit: Duration?) throws(RelayError) -> Completion<ConnectOutcome> {
        try begin(within: limit)
        return connection.outcome()
    }

    /// Starts to connect and returns at once; ``statuses`` reports the outcome.
    public func beginConnecting() { beginConnecting(within: nil) }

    /// As ``beginConnecting()``, with a time limit for the first connection; nil for none.
    package func beginConnecting(within limit: Duration?) { try? begin(within: limit) }

    private func begin(within limit: Duration?) throws(RelayError) {
        guard settings.withLockedValue(\.isPrepared) else { throw .notInitialized }
        publisher.begin()
        lifecycle.begin(for: self)
        // Stored messages can be shown at once, even without a network.
        _ = openingStore()
        connection.connect(within: limit, for: self)
        // After the request's own effects, which may include the overdue end of an earlier session.
        lifecycle.handle(.userConnected, for: self)
    }

    /// Replaces the present connection by a new one at once; without a session, begins one. Queued messages stay
    /// queued.
    public func reconnect() { if !connection.reconnect(for: self) { beginConnecting() } }

    /// Changes the route to the network: the present connection is replaced at once. Queued messages stay queued, and
    /// subscriptions are restored. Without a session, the next one takes that route.
    ///
    /// - Parameter seed: A new random seed for the client; nil leaves it as it is.
    public func take(_ route: RelayRoute, seed: UInt64? = nil) {
        settings.withLockedValue { settings in
            settings.configuration.route = route
            if let seed { settings.configuration.seed = seed }
        }
        connection.takeAnotherWay(seed: seed, for: self)
    }

    /// A person is waiting: retry at once.
    public func nudge() { connection.handle(.nudged, for: self) }

    /// Reports whether the system has a network at all. Without one, attempts pause; with a new one they start at once.
    public func setNetworkAvailable(_ isAvailable: Bool) {
        connection.handle(isAvailable ? .networkReturned : .networkLost, for: self)
    }

    /// Something is followed or about to be sent: an idle connection returns.
    func connectionIsNeeded() { lifecycle.connectionIsNeeded(for: self) }

    /// Measures the round trip to the server.
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

    /// Ends the session and every subscription. While connected, messages in flight have up to a second to be stored;
    /// the policy decides about those that still wait in the outbox.
    public func close() async {
        await connection.restoredLink?.settle(publisher, within: limits.closing)
        disconnect()
        // An earlier session may have left messages for another one.
        publisher.sessionEnded(.closedByUser)
        await publisher.settle()
        await connection.farewell?.value
        subscriptions.handle(.closed, for: self)
        subscriptions.listeners.endTopics()
        // Puts received messages on the disk. ``storeNews()`` reports a failure, and the network has the messages.
        if let store = await storeOpening?.value { try? await store.flush() }
    }

    /// The opening of the local store, which the first call starts.
    func openingStore() -> Task<LocalStore?, Never> {
        if let storeOpening { return storeOpening }
        let opening = beginOpeningStore()
        storeOpening = opening
        return opening
    }
}
