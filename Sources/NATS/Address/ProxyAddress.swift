import Platform

/// A proxy to the server: `http://[user:password@]host:port` (HTTP CONNECT, RFC 9110, 9.3.6) or `socks5://host:port`
/// (RFC 1928). The proxy resolves the server's name.
public struct ProxyAddress: Sendable, Hashable, CustomStringConvertible {
    /// The protocol that the proxy speaks.
    public enum Kind: String, Sendable, Hashable {
        /// The CONNECT method of HTTP/1.1.
        case http
        /// SOCKS version 5, without authentication.
        case socks5
    }

    /// The protocol that the proxy speaks.
    public var kind: Kind
    /// Host name or IP address; IPv6 without brackets.
    public var host: String
    /// TCP port, 1 to 65,535.
    public var port: Int
    /// May hold a password: never printed.
    private var userInfo: String?

    /// Creates an address without user name and password.
    public init(_ kind: Kind, host: String, port: Int) {
        self.kind = kind
        self.host = host
        self.port = port
    }

    /// Parses a URL. Without a scheme it is an HTTP proxy; `socks5h://` means the same as `socks5://`, whose default
    /// port is 1080. HTTP proxies have no default, because curl and browsers disagree on one.
    ///
    /// - Throws: `invalidArgument` if the text is no URL, lacks the port, or asks for what this kind of proxy cannot
    ///   do.
    public init(parsing text: String) throws(NATSError) {
        let text = text.trimmingBlanks()
        let bare = URLAuthority.schemeWithoutSlashes(text)
        let split =
            URLAuthority.splitScheme(text)
            ?? (scheme: bare ?? "http", rest: text.hasPrefix("//") ? text.dropFirst(2) : text[...])
        let kind: Kind
        switch split.scheme {
        case "http": kind = .http
        case "socks5", "socks5h": kind = .socks5
        case "https":
            throw .invalidArgument("Proxies over TLS are not supported; write http://host:port.")
        case "socks", "socks4", "socks4a":
            throw .invalidArgument("Only version 5 of SOCKS is supported; write socks5://host:port.")
        default: throw .invalidArgument("A proxy's address begins with http:// or socks5://.")
        }
        let example = "\(kind.rawValue)://host:port"
        if let bare {
            throw .invalidArgument(
                "In a proxy's address a colon and two slashes follow \(bare), as in \(bare)://host:port.")
        }
        let authority = try URLAuthority(parsing: split.rest, kind: "proxy's address", example: example)
        guard let port = authority.port ?? (kind == .socks5 ? 1_080 : nil) else {
            throw .invalidArgument("The proxy's address has no port; write \(example).")
        }
        let userInfo = authority.userInfo.flatMap { $0.isEmpty ? nil : $0 }
        guard kind == .http || userInfo == nil else {
            throw .invalidArgument("A SOCKS proxy takes no user name and password here; leave them out.")
        }
        self.init(kind, host: authority.host, port: port)
        self.userInfo = userInfo
    }

    /// The address as a URL, without user name and password.
    public var description: String { "\(kind.rawValue)://\(URLAuthority.text(host: host, port: port))" }

    /// The value of `Proxy-Authorization` (RFC 7617), when the URL carried a user name. A secret.
    var authorization: String? {
        guard let userInfo else { return nil }
        let (user, password) = URLAuthority.credentials(in: userInfo)
        return "Basic " + Data("\(user):\(password ?? "")".utf8).base64EncodedString()
    }
}

extension ProxyAddress: CustomReflectable {
    /// The address alone, so that dumps and failed expectations show no password.
    public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
