import Logging
import NATS
import Platform

/// Everything a client needs to know before it connects. Creating one does no I/O.
public struct RelayConfiguration: Sendable {
    /// The servers of a network.
    public enum Servers: Sendable {
        /// These: the first until it fails, then the others, including those that a server advertises.
        case fixed([ServerAddress])
        /// Discovered before every dial, as for a network that starts its server on demand.
        case discovered(@Sendable () async throws(RelayError) -> [ServerAddress])
    }

    /// The subject prefix and stream of a network's topics.
    public struct Namespace: Sendable, Hashable {
        /// The name of the stream (`<name>_stream`) and the key-value bucket.
        public var name: String
        /// The first token of every topic's subject.
        public var hash: String
        /// The prefix of JetStream's API subjects.
        public var apiPrefix: String
        /// The topics granted to the user; nil if the network does not say.
        public var topics: [String]?
        /// The rights of the credentials; nil if the network does not say.
        public var rights: AccessRights?
        /// When the stream of topics was created, in nanoseconds since 1970; nil if the network does not say.
        public var streamCreated: UInt64?
        /// Whether stored messages can be read in batches without a consumer, from servers that have batches: the
        /// network's exports then let more than one answer through.
        public var readsBatches: Bool

        /// Creates a namespace.
        public init(
            name: String, hash: String, apiPrefix: String = JetStream.standardPrefix, topics: [String]? = nil,
            rights: AccessRights? = nil, streamCreated: UInt64? = nil, readsBatches: Bool = false
        ) {
            self.name = name
            self.hash = hash
            self.apiPrefix = apiPrefix
            self.topics = topics
            self.rights = rights
            self.streamCreated = streamCreated
            self.readsBatches = readsBatches
        }

        var stream: String { NetworkNames.topicStream(of: name) }
    }

    /// The servers.
    public var servers: Servers
    /// The credentials.
    public var credentials: RelayCredentials
    /// The user's name, for credentials that do not contain it.
    public var user: String?
    /// The namespace to use on a network without a namespace service.
    public var namespace: Namespace?
    /// The namespace to use while the network's namespace service does not answer and none was learned since the client
    /// was created.
    public var rememberedNamespace: Namespace?
    /// The name of this client in envelopes and in the server's monitoring.
    public var clientID: String
    /// When to retry.
    public var reconnect: ReconnectPolicy
    /// How often a token provider is asked for another token, and how long it may take.
    public var tokenRenewal = TokenRenewalPolicy()
    /// What the background does, once ``handleAppLifecycle`` or ``RelayClient/setAppStateActive(_:)`` reports it.
    public var lifecycle: LifecyclePolicy
    /// Whether the client itself watches the application's life and the machine's sleep (``lifecycleSources``). If not,
    /// it installs no observer and relies on ``RelayClient/setAppStateActive(_:)``, which works in either case.
    public var handleAppLifecycle = false
    /// Creates the sources that a client watches, by default the system's. Each client calls it once, at its first
    /// `connect`.
    public var lifecycleSources: @Sendable () -> [any LifecycleSource] = { SystemLifecycle.sources() }
    /// How long a server keeps a silent connection: the time between its pings, times the pings that may go unanswered.
    /// After a longer sleep the connection is replaced without a check. nats-server has two minutes and two pings by
    /// default.
    public var serverPatience = Duration.seconds(240)
    /// How long a view may be off the screen before its subscription is ended (``Subscription/setOnScreen(_:)``).
    public var offScreenGrace = Duration.seconds(30)
    /// The limits of the outbox.
    public var outbox: OutboxPolicy
    /// Whether the user may have more than one session.
    public var sessions: SessionPolicy
    /// What a subscription to letters does when the connection is lost.
    public var subscriptions = SubscriptionPolicy.resubscribe
    /// How long the connection stays after the last subscription has ended, or was ended with its view, if nothing else
    /// needs it: nothing to send, no presence, no exclusive session. It is then `suspended`, without a reason, until
    /// the next subscription, publish or connect; Supabase uses 50 s. Nil keeps it.
    public var idleTimeout: Duration?
    /// The limits and intervals of presence.
    public var presence: PresencePolicy
    /// The name of this device, shown to another one that it displaces.
    public var device: String
    /// The location of the local store.
    public var store: LocalStore.Location
    /// The identifiers of the messages of earlier runs to send from the local store; nil for all.
    package var keptChoice: Set<String>?
    /// How long messages and letters stay in a store that is a file. Others are deleted in the background, in small
    /// steps.
    public var retention: RetentionPolicy
    /// Whether the system's network changes pause and hasten attempts.
    public var followsNetwork: Bool
    /// Whether to try servers that another server advertises. Otherwise the client uses only its own servers.
    public var followsCluster = true
    /// The seed of the client's random choices, such as jitter; equal seeds give equal ones. Nil draws one.
    public var seed: UInt64?
    /// The logger of the client and its connections: changes of state, dials, refusals, and lost, resent or recovered
    /// messages at `debug`, and every check of the server's liveness at `trace`. By default nothing is logged. No entry
    /// contains a message's text or a secret.
    public var logger: Logger = .silent
    /// The largest message in bytes that `publish` accepts, not counting its envelope; the server's own limit applies
    /// as well.
    public var maximumMessageBytes: Int
    /// TLS settings beyond those in the servers' addresses.
    public var tls: TLSOptions?
    /// The proxy to the servers; nil dials them directly.
    public var proxy: ProxyAddress?
    /// The time limit of one dial including its login.
    public var dialTimeout: Duration
    /// After a dial that timed out, the time in which a server is asked whether it expects TLS.
    package var timeToAnswer = Duration.seconds(2)
    /// The time between two pings. A server counts as silent two seconds after an unanswered ping: with the default of
    /// 8 s, at most ten seconds after it was last heard if nothing is in flight.
    public var pingInterval: Duration
    /// The time limit of the answer to a ping before the connection counts as dead.
    public var pongTimeout: Duration

    /// Creates a configuration.
    public init(
        servers: Servers, credentials: RelayCredentials = .none, user: String? = nil, namespace: Namespace? = nil,
        clientID: String? = nil, reconnect: ReconnectPolicy = .parley, lifecycle: LifecyclePolicy = .immediate,
        outbox: OutboxPolicy = .parley, sessions: SessionPolicy = .shared, presence: PresencePolicy = PresencePolicy(),
        device: String? = nil,
        store: LocalStore.Location = .nowhere, retention: RetentionPolicy = .parley, followsNetwork: Bool = true,
        maximumMessageBytes: Int = 128 << 10, tls: TLSOptions? = nil, proxy: ProxyAddress? = nil,
        dialTimeout: Duration = .seconds(5), pingInterval: Duration = .seconds(8),
        pongTimeout: Duration = .seconds(5)
    ) {
        self.servers = servers
        self.credentials = credentials
        self.user = credentials.user ?? user
        self.namespace = namespace
        self.clientID = clientID ?? "parley_" + UniqueToken.next()
        self.reconnect = reconnect
        self.lifecycle = lifecycle
        self.outbox = outbox
        self.sessions = sessions
        self.presence = presence
        self.device = device ?? Self.hostName
        self.store = store
        self.retention = retention
        self.followsNetwork = followsNetwork
        self.maximumMessageBytes = maximumMessageBytes
        self.tls = tls
        self.proxy = proxy
        self.dialTimeout = dialTimeout
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
    }

    /// Parses server URLs (`nats://` or `tls://`). One text may contain several, separated by commas.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the first invalid one, or if there is none at all.
    public static func addresses(_ urls: [String]) throws(RelayError) -> [ServerAddress] {
        guard !urls.isEmpty else { throw .invalidArgument("At least one server address is needed") }
        var addresses: [ServerAddress] = []
        for url in urls.flatMap(parts) {
            do throws(NATSError) { addresses.append(try ServerAddress(parsing: url)) } catch {
                throw .invalidArgument("\(error)")
            }
        }
        return addresses
    }
}

extension RelayConfiguration {
    /// The addresses in a list; a comma in a password does not separate.
    private static func parts(of list: String) -> [String] {
        let pieces = list.split(separator: ",").filter { $0.contains { !$0.isWhitespace } }
        guard pieces.count > 1 else { return pieces.isEmpty ? [list] : [String(pieces[0])] }
        var parts: [String] = []
        for piece in pieces {
            if let last = parts.last, list.contains("@"), !last.contains("@"), last.contains(":"),
                !piece.contains("://")
            {
                parts[parts.count - 1] = "\(last),\(piece)"
            } else {
                parts.append(String(piece))
            }
        }
        return parts
    }

    /// This machine's name, the default name of the device.
    static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        let result = gethostname(&bytes, bytes.count - 1)
        let name = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return result == 0 && !name.isEmpty ? name : "a device"
    }
}

/// A server's address, as the configuration names it.
public typealias ServerAddress = NATS.ServerAddress
package typealias IPLiteral = NATS.IPLiteral
/// A proxy's address, as the configuration names it.
public typealias ProxyAddress = NATS.ProxyAddress
/// The authorities that a TLS connection trusts, and the certificate that it presents.
public typealias TLSOptions = NATS.TLSOptions
/// The connection's status at one moment.
public typealias ConnectionStatus = NATS.ConnectionStatus
/// Why the connection is not simply connected.
public typealias ConnectionReason = NATS.ConnectionReason
/// When to retry after a connection failed, and when to give up.
public typealias ReconnectPolicy = NATS.ReconnectPolicy
package typealias Timekeeper = NATS.Timekeeper
package typealias SystemTime = NATS.SystemTime
package typealias Surroundings = NATS.Surroundings
