import Logging

/// How a client proves who it is. The secrets are held in memory only and never printed.
public enum Authentication: Sendable, CustomStringConvertible, CustomReflectable {
    /// Nothing is presented.
    case none
    /// A shared token.
    case token(String)
    /// User name and password.
    case user(String, password: String)
    /// An nkey: its public half is named, the server's nonce is signed.
    case nkey(NKeyPair)
    /// A user JWT whose nkey signs the server's nonce: RelayX's API key and secret.
    case jwt(String, NKeyPair)
    /// A bearer JWT: an access token that needs no signature.
    case bearer(String)

    /// The pair that a credentials file holds.
    public init(_ credentials: Credentials) {
        self = .jwt(credentials.jwt, credentials.keyPair)
    }

    /// The kind alone.
    public var description: String {
        switch self {
        case .none: return "none"
        case .token: return "token"
        case .user: return "user and password"
        case .nkey: return "nkey"
        case .jwt: return "user JWT with nkey"
        case .bearer: return "bearer JWT"
        }
    }

    /// No children: dumps and failed expectations must not show a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Where the user JWT lets answers arrive: under `_INBOX` without a JWT, or when it cannot be read.
    var permittedInboxPrefix: String {
        switch self {
        case .jwt(let jwt, _), .bearer(let jwt): (try? UserClaims.decode(jwt))?.inboxPrefix ?? "_INBOX"
        case .none, .token, .user, .nkey: "_INBOX"
        }
    }
}

/// What a TLS connection trusts and presents.
public struct TLSOptions: Sendable, Hashable {
    /// A PEM file of authorities to trust instead of the system's.
    public var authorityFile: String?
    /// A PEM file with this client's certificate, and the authorities between it and the root.
    public var certificateFile: String?
    /// The PEM file of the certificate's private key.
    public var privateKeyFile: String?
    /// Whether the handshake comes before the server's first word (`handshake_first` of server 2.10.4 and later).
    public var handshakesFirst: Bool

    /// Creates options; without any, the system's authorities are trusted and nothing is presented.
    public init(
        authorityFile: String? = nil, certificateFile: String? = nil, privateKeyFile: String? = nil,
        handshakesFirst: Bool = false
    ) {
        self.authorityFile = authorityFile
        self.certificateFile = certificateFile
        self.privateKeyFile = privateKeyFile
        self.handshakesFirst = handshakesFirst
    }
}

/// How one connection is made and kept.
public struct ConnectOptions: Sendable {
    /// The name shown in the server's monitoring.
    public var name: String
    /// The credentials; an address that carries its own wins.
    public var authentication: Authentication
    /// TLS settings; also used when only the server asks for TLS.
    public var tls: TLSOptions?
    /// The proxy through which the server is reached; `nil` dials the server itself.
    public var proxy: ProxyAddress?
    /// Where answers to requests arrive: `<prefix>.<connection>.<request>`. `nil` takes what the user JWT permits:
    /// `_INBOX` where it may, else its own `_INBOX_<user>`.
    public var inboxPrefix: String?
    /// The time that dialling, the proxy, TLS and login may take together.
    public var connectTimeout: Duration
    /// How long a server has to answer a question about TLS once the time for the login is over: so much longer a login
    /// that got no word takes to fail.
    package var timeToAnswer = Duration.seconds(2)
    /// The time between two pings; zero sends none, and a peer that has gone silently is then never noticed.
    public var pingInterval: Duration
    /// How long after a ping the peer may be silent before the connection counts as dead. Anything it sends counts, and
    /// while it reads a long queue of bytes ahead of the ping, however slowly, it counts as alive.
    public var pongTimeout: Duration
    /// Whether messages that this connection publishes come back to its own subscriptions.
    public var echo: Bool
    /// From this many unsent bytes on, `publish` answers false.
    public var outboundHighWaterMark: Int
    /// With this many unsent bytes, `publish` throws `outboundBufferFull`.
    public var outboundLimit: Int
    /// Where the connection logs what happens to it, at `trace` and `debug`, without payloads or secrets.
    public var logger: Logger

    /// Creates options; the defaults suit an interactive client. Without a logger nothing is logged.
    public init(
        name: String = "parley", authentication: Authentication = .none, tls: TLSOptions? = nil,
        proxy: ProxyAddress? = nil, inboxPrefix: String? = nil, connectTimeout: Duration = .seconds(5),
        pingInterval: Duration = .seconds(20),
        pongTimeout: Duration = .seconds(5), echo: Bool = true, outboundHighWaterMark: Int = 1 << 20,
        outboundLimit: Int = 64 << 20, logger: Logger? = nil
    ) {
        self.name = name
        self.authentication = authentication
        self.tls = tls
        self.proxy = proxy
        self.inboxPrefix = inboxPrefix
        self.connectTimeout = connectTimeout
        self.pingInterval = pingInterval
        self.pongTimeout = pongTimeout
        self.echo = echo
        self.outboundHighWaterMark = outboundHighWaterMark
        self.outboundLimit = outboundLimit
        self.logger = logger ?? .silent
    }
}

extension Duration {
    /// Whole nanoseconds, for the event loop's clock; saturates.
    var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}
