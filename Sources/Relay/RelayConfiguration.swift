import Logging
import NATS
import Platform

/// Everything a client needs to know before it connects. Making one does no I/O.
public struct RelayConfiguration: Sendable {
    /// Where the servers are.
    public enum Servers: Sendable {
        /// These: the first until it fails, then the others, with those that a server names added.
        case fixed([ServerAddress])
        /// Asked for before every dial: a network that starts its server on demand answers here.
        case discovered(@Sendable () async throws(RelayError) -> [ServerAddress])
    }

    /// The subject prefix and stream of a network's topics.
    public struct Namespace: Sendable, Hashable {
        /// Names the stream (`<name>_stream`) and the key-value bucket.
        public var name: String
        /// The first token of every topic's subject.
        public var hash: String
        /// What the subjects of JetStream's calls begin with.
        public var apiPrefix: String
        /// The topics that the user was granted; nil if the network does not say.
        public var topics: [String]?
        /// What the credentials may do; nil if the network does not say.
        public var rights: AccessRights?
        /// When the stream of topics was made, in nanoseconds since 1970; nil if the network does not say.
        public var streamCreated: UInt64?
        /// Whether stored messages come in batches without a consumer, from servers that have batches: what the network
        /// exports lets more than one answer through then.
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

    /// Where the servers are.
    public var servers: Servers
    /// Who this is.
    public var credentials: RelayCredentials
    /// The user's name, for credentials that do not have it.
    public var user: String?
    /// The namespace to use where the network has no namespace service.
    public var namespace: Namespace?
    /// The namespace to go by while the network's namespace service does not answer, and nobody has told another one
    /// since this client was made.
    public var rememberedNamespace: Namespace?
    /// The name of this client in envelopes and in the server's monitoring.
    public var clientID: String
    /// When to try again.
    public var reconnect: ReconnectPolicy
    /// How often a token provider is asked for another token, and how long it may take.
    public var tokenRenewal = TokenRenewalPolicy()
    /// What the background does, once ``handleAppLifecycle`` or ``RelayClient/setAppStateActive(_:)`` tells of it.
    public var lifecycle: LifecyclePolicy
    /// Whether the client itself watches the signals of the application's life and of the machine's sleep
    /// (``lifecycleSources``). Without it no observer is installed, and ``RelayClient/setAppStateActive(_:)`` alone
    /// says what there is to say; it works with it too.
    public var handleAppLifecycle = false
    /// Makes the signals that a client watches: those of the system, unless others are named. Each client asks once, at
    /// its first `connect`.
    public var lifecycleSources: @Sendable () -> [any LifecycleSource] = { SystemLifecycle.sources() }
    /// How long a server keeps a connection over which nothing is heard of the client: the time between its pings,
    /// times the pings that may be without an answer. After a longer sleep the connection is not asked any more but
    /// replaced. nats-server has two minutes and two pings, unless it is configured otherwise.
    public var serverPatience = Duration.seconds(240)
    /// How long a view may be off the screen before its subscription is let go (``Subscription/setOnScreen(_:)``).
    public var offScreenGrace = Duration.seconds(30)
    /// What may wait to be sent.
    public var outbox: OutboxPolicy
    /// Whether this user may be connected more than once.
    public var sessions: SessionPolicy
    /// What a subscription to letters does when the connection is lost.
    public var subscriptions = SubscriptionPolicy.resubscribe
    /// How long the connection stays after the last subscription has ended, or was let go with its view, where nothing
    /// else needs it: nothing to send, no presence, no exclusive session. Then it rests, as `suspended` without a
    /// reason, until somebody subscribes, publishes or connects; Supabase takes 50 s. Nil keeps it.
    public var idleTimeout: Duration?
    /// How it is shown who is where.
    public var presence: PresencePolicy
    /// How this device is called when it displaces another one.
    public var device: String
    /// Where the local store is.
    public var store: LocalStore.Location
    /// The identifiers of those messages that earlier runs left in the local store and this client is to send; nil for
    /// all.
    package var keptChoice: Set<String>?
    /// How long messages and letters stay in a store that is a file. What is not to stay is deleted in the background,
    /// in small steps.
    public var retention: RetentionPolicy
    /// Whether the system's news about its networks pause and hasten the attempts.
    public var followsNetwork: Bool
    /// Whether servers that a server tells of are tried too. Without it the client goes to its own servers alone.
    public var followsCluster = true
    /// Where the client's chances come from, such as the jitter of its waits: equal seeds give equal ones. Nil draws
    /// one.
    public var seed: UInt64?
    /// Where the client and its connections log what happens: changes of state, dials, refusals, what was lost, sent
    /// again or recovered, at `debug`, and every question to the server's liveness at `trace`. Nothing is logged unless
    /// a logger is given. No entry has a message's text or a secret in it.
    public var logger: Logger = .silent
    /// The largest message in bytes that `publish` takes, without what is put around it for the way; the server's own
    /// limit applies as well.
    public var maximumMessageBytes: Int
    /// TLS settings, when the servers' addresses alone don't say it all.
    public var tls: TLSOptions?
    /// The proxy through which the servers are reached; nil dials them directly.
    public var proxy: ProxyAddress?
    /// The time that one dial with its login may take.
    public var dialTimeout: Duration
    /// How much longer than a dial a server that said nothing has to answer whether it waits for TLS.
    package var timeToAnswer = Duration.seconds(2)
    /// The time between two pings. A server counts as silent two seconds after one that it does not answer: with the
    /// default of 8 s ten seconds after it was heard at most, where nothing is under way.
    public var pingInterval: Duration
    /// The time that an answer to a ping may take before the connection counts as dead.
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

    /// Reads server URLs (`nats://` or `tls://`). One text may hold several, with commas between them.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the first that is none, or when there is none at all.
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
    /// The addresses in a list; a comma in a password parts nothing.
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

    /// This machine's name, which is a device's name unless another one is given.
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
/// What a TLS connection trusts and presents.
public typealias TLSOptions = NATS.TLSOptions
/// The connection's status at one moment.
public typealias ConnectionStatus = NATS.ConnectionStatus
/// Why the connection is not simply connected.
public typealias ConnectionReason = NATS.ConnectionReason
/// When to try again after a connection failed, and whether to stop.
public typealias ReconnectPolicy = NATS.ReconnectPolicy
package typealias Timekeeper = NATS.Timekeeper
package typealias SystemTime = NATS.SystemTime
package typealias Surroundings = NATS.Surroundings
