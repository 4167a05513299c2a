/// What a server says of itself in INFO. It may speak again at any time; the newest counts.
public struct ServerInfo: Sendable, Hashable {
    /// Identity of this server process.
    public var serverID: String = ""
    /// Its configured or generated name.
    public var serverName: String?
    /// Version, such as "2.9.10".
    public var version: String = ""
    /// The address it listens at.
    public var host: String?
    /// The port it listens at.
    public var port: Int?
    /// Whether messages may carry headers.
    public var supportsHeaders: Bool?
    /// Largest message it takes, in bytes, headers included; 64 MiB where it has no limit. An account's limit may lower
    /// it after login.
    public var maximumPayload: Int = 1_048_576
    /// Whether JetStream is on at this server.
    public var hasJetStream: Bool?
    /// Whether credentials are needed.
    public var requiresAuthentication: Bool?
    /// Whether TLS is needed.
    public var requiresTLS: Bool?
    /// Whether TLS can be had.
    public var offersTLS: Bool?
    /// Whether TLS begins with a certificate of the client's.
    public var asksForCertificate: Bool?
    /// The server's number for this connection.
    public var clientID: UInt64?
    /// Our address as the server sees it.
    public var clientAddress: String?
    /// To be signed at login.
    public var nonce: String?
    /// Name of its cluster.
    public var cluster: String?
    /// JetStream domain.
    public var domain: String?
    /// Other servers of the cluster, `host:port`; at most 128 are taken in.
    public var connectURLs: [String]?
    /// Whether it is about to close and asks clients to move on.
    public var isLameDuck: Bool?
    /// The account this connection belongs to; newer servers name it after the login.
    public var account: String?

    /// More servers than a client ever tries.
    static let maximumConnectURLs = 128
    /// No name or address is longer, in bytes.
    static let maximumText = 1_024

    init() {}

    /// Reads INFO. What a later one leaves out stays as it was, but for what concerns the login and the server's end.
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

    /// Whether the server is of this version or a later one. One that names no version is taken for a new one.
    public func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        let numbers = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
        return numbers.count < 2 || (numbers[0], numbers[1]) >= (major, minor)
    }
}
