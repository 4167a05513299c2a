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
    nonisolated let settings: NIOLockedValueBox<Settings>
    nonisolated let storeBoard = StatusBoard<LocalStore.Opening>(nil, bufferedValues: 4)
    nonisolated let statusBoard = StatusBoard<ConnectionStatus>(.initialized, bufferedValues: 256)
    nonisolated let systemEvents = StatusBoard<SystemEvent>(nil, bufferedValues: 64)
    nonisolated let publisher: Publisher
    /// The name of this client in every message.
    nonisolated let clientID: String

    nonisolated let surroundings: Surroundings

    // What decides about the connection, and the timers that it runs.
    var machine: ConnectionMachine
    var lifecycle: LifecycleMachine
    var connectionTimers = TimerSet<ConnectionMachine.TimerID>()
    var lifecycleTimers = TimerSet<LifecycleMachine.TimerID>()
    var connectWaiters: [UInt64: Completion<RelayError?>] = [:]
    private var nextWaiter: UInt64 = 0
    /// What happened while an earlier event was being handled.
    var pendingEvents: [ConnectionMachine.Event] = []

    // What the next dial needs.
    var signIn: SignIn
    /// Waits for the token provider after a refusal.
    var renewal: Task<Void, Never>?
    var pool = ServerPool()
    var generator = SystemRandomNumberGenerator()

    /// The present dial, and what it leads to.
    var link: LiveLink?

    // What outlives each connection.
    var namespace: RelayConfiguration.Namespace?
    var following = Following()
    var listeners = Listeners()
    var claim: SessionClaim?
    /// The proofs of control messages that were believed, so that none counts twice; the oldest give way.
    var provedControls: [String] = []
    /// Gives the session back after the end.
    var sessionRelease: Task<Void, Never>?

    /// Opens the local store once; every dial waits for it.
    var storeOpening: Task<LocalStore?, Never>?
    var networkWatcher: Task<Void, Never>?
    /// The servers, or the proxy, whose network is watched.
    var watchedServers: [ServerAddress]?

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
        lifecycle = LifecycleMachine(policy: configuration.lifecycle)
        publisher = Publisher(
            policy: configuration.outbox, maximumMessageBytes: configuration.maximumMessageBytes,
            clock: surroundings.clock)
        clientID = configuration.clientID
        namespace = configuration.namespace
        if case .exclusive(let policy) = configuration.sessions {
            claim = SessionClaim(session: UUIDText.random(), device: configuration.device, policy: policy)
        }
    }

    deinit {
        link?.end()
        link?.connection?.closeNow()
        renewal?.cancel()
        signIn.question?.answer.cancel()
        networkWatcher?.cancel()
        storeOpening?.cancel()
        connectionTimers.cancelAll()
        lifecycleTimers.cancelAll()
        for (_, follower) in following.all { follower.end(.success(())) }
        for waiter in connectWaiters.values { waiter.fulfil(.cancelled) }
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

    /// What the client was made and prepared with, with the newest credentials.
    public nonisolated var configuration: RelayConfiguration { settings.withLockedValue(\.configuration) }

    /// Who this client is on the network; nil when neither credentials nor configuration tell.
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
    /// The local store opens first. A store that cannot be opened keeps nobody from connecting.
    ///
    /// - Parameter timeLimit: seconds after which the attempt is given up for good; zero or less tries until it succeeds
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

    /// Begins to connect and returns at once; ``statuses`` tells what comes of it.
    public func beginConnecting() {
        guard settings.withLockedValue(\.isPrepared) else { return }
        beginSession(timeLimit: nil)
    }

    private func beginSession(timeLimit: Duration?) {
        applyPolicy()
        publisher.begin()
        followNetwork(configuration)
        // Without a network too: what is kept can be shown at once.
        _ = openingStore()
        handle(.connectRequested(timeLimit: timeLimit))
        // Behind what the request brought about, which may be the overdue end of an earlier session.
        handleLifecycle(.userConnected)
    }

    func applyPolicy() {
        machine.policy = configuration.reconnect
        // Without a provider there is nobody to ask, and a refused token is the end at once.
        if signIn.credentials.provider == nil { machine.policy.tokenRenewals = 0 }
    }

    /// Whether a session runs, connected or not.
    var hasSession: Bool { machine.status.state != .initialized && machine.status.state != .disconnected }

    /// The number of the newest dial.
    var generation: UInt64 { machine.generation }

    /// Ends the session for good, from any state; only another `connect` starts one.
    public func disconnect() {
        handleLifecycle(.userDisconnected)
        handle(.disconnectRequested)
    }

    /// Leaves the present connection for a new one, at once; where there is no session, begins one. What waits to be sent
    /// goes on waiting.
    public func reconnect() {
        switch status.state {
        case .initialized, .disconnected, .suspended: beginConnecting()
        case .connecting, .connected, .reconnecting:
            handle(
                .connectionFailed(
                    generation: machine.generation, reason: .connectionLost("a new connection was asked for")))
            nudge()
        }
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
        await sessionRelease?.value
        following.end()
        listeners.endTopics()
    }

    /// Tells whether the application is in the foreground. What the background does is the lifecycle policy's matter.
    public func setAppStateActive(_ isActive: Bool) { handleLifecycle(.active(isActive)) }

    /// A sign that a person is waiting: the next attempt comes at once.
    public func nudge() { handle(.nudged) }

    /// Tells whether the system has a network at all. Without one, attempts pause; with a new one they begin at once.
    public func setNetworkAvailable(_ isAvailable: Bool) {
        handle(isAvailable ? .networkReturned : .networkLost)
    }

    /// Measures the round trip to the server now.
    ///
    /// - Throws: ``RelayError/notConnected``, ``RelayError/timeout(_:)``.
    public func ping() async throws(RelayError) -> Duration {
        guard let link, let connection = link.connection else { throw .notConnected }
        do throws(NATSError) {
            let duration = try await connection.ping()
            handle(.roundTrip(generation: link.generation, duration))
            return duration
        } catch { throw RelayError(error, during: "a ping") }
    }

    /// The version of the server, while connected.
    public var serverVersion: String? { link?.connection?.info.version }

    /// The name of the server, while connected.
    public var serverName: String? { link?.connection?.info.serverName }

    /// The servers that are known, the next one to try first: the configured ones and those that a server told of.
    public var knownServers: [ServerAddress] { pool.order }
}
