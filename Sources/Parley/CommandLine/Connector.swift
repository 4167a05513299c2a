import Platform
import Relay
import RelayLab
import RelayNetwork

/// Makes clients for a plan, and keeps the private network alive while it exists.
struct Connector: Sendable {
    let configuration: RelayConfiguration
    let user: String
    /// Whether the user is known; otherwise `user` is a placeholder.
    let isNamed: Bool
    /// The network's name as shown after the user's, as in `alice@local`.
    let network: String
    private let plan: ConnectionPlan
    private let lease: LeaseKeeper?
    /// The private network's server side; nil on other networks.
    private let labServer: LabHostedNetwork?

    var tokenCommand: TokenCommand? { plan.tokenCommand }
    var connectTimeout: Duration? { plan.connectTimeout }
    var reconnectName: String { plan.reconnectName }

    /// The network as the lab sees it. Servers behind a proxy are not taken for this machine's cluster.
    var labSite: LabSite {
        if let labServer { return .network(labServer) }
        let cluster = LocalCluster.standard()
        guard configuration.proxy == nil, case .fixed(let addresses) = configuration.servers,
            let places = cluster.places(ifAmong: addresses)
        else { return .elsewhere }
        return .cluster(cluster, places)
    }

    enum Purpose: Sendable {
        /// One piece of work, next to any other connections of its user.
        case work
        /// Sending many lines, with at most this many in flight.
        case lines(underWay: Int)
        /// Staying connected, subject to the rule of one session per user.
        case presence
        /// Staying connected for an interactive user, with a local store.
        case chat(LifecyclePolicy)
        /// Sending what the user's chats left in the local outbox: the messages with these identifiers, or all.
        case outbox(only: Set<String>?)
    }

    /// Checks quickly whether a plan can be prepared at all, before a screen is shown.
    static func check(_ plan: ConnectionPlan) throws {
        guard case .privateNetwork(let user, _) = plan.target else { return }
        _ = try UserName(user)
        try NetworkDirectory.standard().checkServer()
    }

    /// Prepares a plan: reads or makes files, but does not connect.
    init(_ plan: ConnectionPlan, for purpose: Purpose = .work) throws {
        var prepared: RelayConfiguration
        self.plan = plan
        let identity = plan.identity
        (user, isNamed, network) = (identity.user, identity.isNamed, identity.network)
        switch plan.target {
        case .privateNetwork(let user, let credentials):
            let directory = NetworkDirectory.standard()
            try directory.checkServer()
            let keeper = LeaseKeeper(directory: directory)
            lease = keeper
            labServer = LabHostedNetwork(directory: directory, user: user) { _ = try await keeper.addresses() }
            prepared = RelayConfiguration(
                servers: .discovered { () throws(RelayError) in
                    do throws(NetworkError) { return try await keeper.addresses() } catch {
                        // The reason becomes part of a sentence.
                        var words = error.description
                        if words.hasSuffix(".") { words.removeLast() }
                        throw RelayError.connection(.unreachable(words))
                    }
                },
                credentials: try credentials ?? RelayCredentials(directory.credentials(for: user)), user: user)
        case .servers(let addresses, let credentials, let user):
            lease = nil
            labServer = nil
            prepared = RelayConfiguration(servers: .fixed(addresses), credentials: credentials, user: user)
        }
        prepared.reconnect = plan.reconnect
        // RelayX's window empties the queue and keeps its messages as not sent.
        if plan.reconnectName == "relayx" { prepared.outbox = .relayx }
        prepared.namespace = plan.namespace
        prepared.rememberedNamespace = plan.rememberedNamespace
        prepared.tls = plan.tls
        prepared.proxy = plan.proxy
        if let log = plan.log { prepared.logger = try LibraryLog.logger(appendingTo: log) }
        if let device = plan.device { prepared.device = device }
        switch purpose {
        case .work: break
        case .lines(let underWay):
            prepared.outbox.maximumInFlight = underWay
            prepared.outbox.maximumInFlightPerDestination = underWay
        case .presence: prepared.sessions = plan.sessions
        case .chat(let lifecycle):
            prepared.sessions = plan.sessions
            prepared.lifecycle = lifecycle
            prepared.handleAppLifecycle = plan.watchesLifecycle
            if let store = plan.store {
                prepared.store = .file(store)
                prepared.retention = plan.retention
                // Messages still queued when the chat ends are sent at the next start.
                prepared.outbox.discardsOnClose = false
            }
        case .outbox(let choice):
            if let store = plan.store { prepared.store = .file(store) }
            prepared.outbox.discardsOnClose = false
            prepared.keptChoice = choice
        }
        configuration = prepared
    }

    /// A connected client. The private network is started first, so that its own failure is reported. Without a
    /// deadline, the network has 30 seconds to start and the connection 10.
    func connect(by deadline: ContinuousClock.Instant? = nil) async throws -> RelayClient {
        let client = try await client(by: deadline)
        do {
            try await client.connect(within: deadline.map { max(.milliseconds(1), $0 - .now) } ?? .seconds(10))
        } catch {
            tokenCommand?.end()
            throw explained(error)
        }
        return client
    }

    /// Replaces a server's refusal of an anonymous user by advice on the command line's credentials options.
    func explained(_ error: any Error) -> any Error {
        guard plan.isAnonymous, case .connection(.authenticationFailed)? = error as? RelayError else { return error }
        return CommandFailure(
            .refused,
            "\(network) asks for credentials, and none were given. Add --creds FILE, or set PARLEY_API_KEY and "
                + "PARLEY_SECRET, or PARLEY_TOKEN.")
    }

    /// A client that is not connected yet. Starts the private network first, by default within 30 seconds.
    func client(by deadline: ContinuousClock.Instant? = nil) async throws -> RelayClient {
        try await lease?.acquire(within: deadline.map { max(.zero, $0 - .now) } ?? .seconds(30))
        return RelayClient(configuration: configuration)
    }

    static var hostCommand: [String] { [executablePath, "network", "host"] }

    static var executablePath: String {
        #if os(Linux)
            if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
        #elseif canImport(Darwin)
            if let path = Bundle.main.executablePath { return path }
        #endif
        return CommandLine.arguments.first ?? "parley"
    }
}

/// Holds this process's share of the private network.
actor LeaseKeeper {
    private let directory: NetworkDirectory
    private var lease: NetworkLease?

    init(directory: NetworkDirectory) { self.directory = directory }

    func acquire(within limit: Duration = .seconds(30)) async throws(NetworkError) {
        guard lease == nil else { return }
        let acquired = try await NetworkLease.acquire(
            directory: directory, hostCommand: Connector.hostCommand, timeout: limit)
        // Another caller may have acquired one meanwhile.
        if lease == nil { lease = acquired } else { acquired.release() }
    }

    /// Where the network's server listens, once it runs.
    func addresses() async throws(NetworkError) -> [ServerAddress] {
        if let lease { return [try await lease.ensureRunning().address()] }
        try await acquire()
        guard let lease else { throw .cancelled }
        return [try lease.description.address()]
    }
}
