import Logging

/// The credentials that a client presents. They are held in memory only and never printed.
public enum Authentication: Sendable, CustomStringConvertible, CustomReflectable {
    /// No credentials.
    case none
    /// A shared token.
    case token(String)
    /// User name and password.
    case user(String, password: String)
    /// An nkey: the public key is sent, and the private one signs the server's nonce.
    case nkey(NKeyPair)
    /// A user JWT whose nkey signs the server's nonce: RelayX's API key and secret.
    case jwt(String, NKeyPair)
    /// A bearer JWT: an access token that needs no signature.
    case bearer(String)

    /// Presents the JWT and the key pair of a credentials file.
    public init(_ credentials: Credentials) { self = .jwt(credentials.jwt, credentials.keyPair) }

    /// The kind of credentials, without their values.
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

    /// The inbox prefix that the user JWT permits; `_INBOX` without a JWT, or with one that cannot be read.
    var permittedInboxPrefix: String {
        switch self {
        case .jwt(let jwt, _), .bearer(let jwt): (try? UserClaims.decode(jwt))?.inboxPrefix ?? "_INBOX"
        case .none, .token, .user, .nkey: "_INBOX"
        }
    }
}

/// The authorities that a TLS connection trusts, and the certificate that it presents.
public struct TLSOptions: Sendable, Hashable {
    /// A PEM file of authorities to trust instead of the system's.
    public var authorityFile: String?
    /// A PEM file with this client's certificate, and the authorities between it and the root.
    public var certificateFile: String?
    /// The PEM file of the certificate's private key.
    public var privateKeyFile: String?
    /// Whether TLS begins before the server's INFO (`handshake_first` of server 2.10.4 and later).
    public var handshakesFirst: Bool

    /// Creates options; by default the system's authorities are trusted and no certificate is presented.
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

/// The settings of one connection.
public struct ConnectOptions: Sendable {
    /// The name shown in the server's monitoring.
    public var name: String
    /// The credentials; an address that carries its own wins.
    public var authentication: Authentication
    /// TLS settings; also used when only the server asks for TLS.
    public var tls: TLSOptions?
    /// The proxy to the server, or `nil` to dial it directly.
    public var proxy: ProxyAddress?
    /// The prefix of the subjects on which answers to requests arrive: `<prefix>.<connection>.<request>`. `nil` uses
    /// the one that the user JWT permits: `_INBOX` where it may, else its own `_INBOX_<user>`.
    public var inboxPrefix: String?
    /// The time that dialling, the proxy, TLS and login may take together.
    public var connectTimeout: Duration
    /// After a login that timed out, the time in which the server is asked whether it expects TLS. Such a login fails
    /// later by up to this long.
    package var timeToAnswer = Duration.seconds(2)
    /// The time between two pings. Zero sends none, so that a peer which vanishes silently is never noticed.
    public var pingInterval: Duration
    /// How long after a ping the peer may stay silent before the connection counts as dead. Anything it sends counts as
    /// life, and so does reading, however slowly, a long queue of bytes ahead of the ping.
    public var pongTimeout: Duration
    /// Whether messages that this connection publishes come back to its own subscriptions.
    public var echo: Bool
    /// From this many unsent bytes on, `publish` returns false.
    public var outboundHighWaterMark: Int
    /// With this many unsent bytes, `publish` throws `outboundBufferFull`.
    public var outboundLimit: Int
    /// The logger of the connection's events, at `trace` and `debug`, without payloads or secrets.
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
