import NIOCore

/// The address of a server, as a URL writes it: `nats://host:port`, `tls://host:port`, or `host:port`.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// Host name or IP address; IPv6 without brackets.
    public var host: String
    /// TCP port, 1 to 65,535.
    public var port: Int
    /// Whether the connection must be encrypted.
    public var usesTLS: Bool
    /// The name that the server's certificate must carry, if it differs from `host`, as at a discovered address.
    public var certificateName: String?
    /// A PEM file of authorities to trust at this address instead of those in the options.
    public var authorityFile: String?
    /// User name and password, or a token alone, as the URL held them. Never printed.
    var userInfo: String?

    /// Creates an address.
    public init(
        host: String, port: Int = 4222, usesTLS: Bool = false, certificateName: String? = nil,
        authorityFile: String? = nil
    ) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.certificateName = certificateName
        self.authorityFile = authorityFile
    }

    /// Parses a URL. Throws `invalidArgument` if it is none, or one of another protocol.
    public init(parsing text: String) throws(NATSError) {
        let text = text.trimmingBlanks()
        var rest = text[...]
        var usesTLS = false
        if let split = URLAuthority.splitScheme(text) {
            usesTLS = try Self.usesTLS(scheme: split.scheme)
            rest = split.rest
        } else if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
        } else if let scheme = URLAuthority.schemeWithoutSlashes(text) {
            // An unsupported protocol is reported first.
            _ = try Self.usesTLS(scheme: scheme)
            throw .invalidArgument(
                "In a server address a colon and two slashes follow \(scheme), as in \(scheme)://host:port.")
        }
        let authority = try URLAuthority(parsing: rest, kind: "server address", example: "nats://host:port")
        self.init(host: authority.host, port: authority.port ?? 4222, usesTLS: usesTLS)
        userInfo = authority.userInfo
    }

    private static func usesTLS(scheme: String) throws(NATSError) -> Bool {
        switch scheme {
        case "nats": return false
        case "tls": return true
        case "ws", "wss":
            throw .invalidArgument(
                "A WebSocket address cannot be used. Write nats:// or tls:// and the server's port for clients.")
        default: throw .invalidArgument("A server address begins with nats:// or tls://.")
        }
    }

    /// Parses an entry of `ServerInfo.connectURLs`, another server of the cluster that `known` belongs to; nil if it is
    /// no `host:port`.
    ///
    /// It uses TLS if `known` does. An IP address does not show which names its certificate carries, so the certificate
    /// must carry the name that `known` has. Whoever answers at `known` may name any server, so a login in the URL of
    /// `known` or of a `configured` server is sent to that URL's own host only.
    public init?(discovered entry: String, like known: ServerAddress, configured: [ServerAddress] = []) {
        guard URLAuthority.splitScheme(entry) == nil, !entry.contains("@"),
            let authority = try? URLAuthority(parsing: entry[...], kind: "server address", example: "host:port")
        else { return nil }
        self.init(host: authority.host, port: authority.port ?? 4222, usesTLS: known.usesTLS)
        if Self.isIPAddress(host) {
            certificateName = known.certificateName ?? (Self.isIPAddress(known.host) ? nil : known.host)
        }
        authorityFile = known.authorityFile
        let name = host.lowercased()
        userInfo = ([known] + configured).first { $0.host.lowercased() == name }?.userInfo
    }

    private static func isIPAddress(_ host: String) -> Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }

    /// The name that the server's certificate must carry, without the root's dot, which no certificate has.
    var expectedCertificateName: String {
        let name = certificateName ?? host
        return name.hasSuffix(".") ? String(name.dropLast()) : name
    }

    /// The address as a URL, without user name, password or token.
    public var description: String {
        "\(usesTLS ? "tls" : "nats")://\(URLAuthority.text(host: host, port: port))"
    }

    /// The login that the URL itself held, if any.
    public var authentication: Authentication? {
        guard let userInfo, !userInfo.isEmpty else { return nil }
        let (user, password) = URLAuthority.credentials(in: userInfo)
        return password.map { .user(user, password: $0) } ?? .token(user)
    }
}

extension ServerAddress: CustomReflectable {
    /// The address alone, so that dumps and failed expectations show no password.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
