/// A server's INFO. It may be sent again at any time; the newest counts.
public struct ServerInfo: Sendable, Hashable {
    /// The identity of this server process.
    public var serverID: String = ""
    /// Its configured or generated name.
    public var serverName: String?
    /// Version, such as "2.9.10".
    public var version: String = ""
    /// The address it listens on.
    public var host: String?
    /// The port it listens on.
    public var port: Int?
    /// Whether messages may carry headers.
    public var supportsHeaders: Bool?
    /// The largest message it accepts, in bytes, headers included; 64 MiB if it has no limit. After login, an account's
    /// limit may lower it.
    public var maximumPayload: Int = 1_048_576
    /// Whether JetStream is enabled on this server.
    public var hasJetStream: Bool?
    /// Whether credentials are required.
    public var requiresAuthentication: Bool?
    /// Whether TLS is required.
    public var requiresTLS: Bool?
    /// Whether TLS is available.
    public var offersTLS: Bool?
    /// Whether TLS requires a client certificate.
    public var asksForCertificate: Bool?
    /// The server's number for this connection.
    public var clientID: UInt64?
    /// The client's address as the server sees it.
    public var clientAddress: String?
    /// The nonce to sign at login.
    public var nonce: String?
    /// Name of its cluster.
    public var cluster: String?
    /// JetStream domain.
    public var domain: String?
    /// Other servers of the cluster, `host:port`, at most 128.
    public var connectURLs: [String]?
    /// Whether it is about to close and asks clients to leave.
    public var isLameDuck: Bool?
    /// The account of this connection; newer servers name it after the login.
    public var account: String?

    /// More servers than a client ever tries.
    static let maximumConnectURLs = 128
    /// The longest name or address accepted, in bytes.
    static let maximumText = 1_024

    init() {}

    /// Decodes INFO. Fields that a later INFO leaves out stay as they were, except those about login and shutdown.
    static func decode(_ json: [UInt8], after known: ServerInfo = ServerInfo()) throws(NATSError) -> ServerInfo {
        var info = known
        info.nonce = nil
        info.isLameDuck = nil
        info.requiresAuthentication = nil
        info.requiresTLS = nil
        info.offersTLS = nil
        info.asksForCertificate = nil
        guard InfoReader.read(json, into: &info) else { throw .protocolViolation("its INFO is not readable") }
        return info
    }

    /// Whether the server has this version or a later one. A server without a version counts as new.
    public func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        let numbers = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
        return numbers.count < 2 || (numbers[0], numbers[1]) >= (major, minor)
    }
}
