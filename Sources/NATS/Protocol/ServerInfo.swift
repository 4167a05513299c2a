import Platform

/// What a server says of itself in INFO. It may speak again at any time; the newest counts.
public struct ServerInfo: Sendable, Hashable, Codable {
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
    /// Largest message it takes, in bytes, headers included. An account's limit may lower it after login.
    public var maximumPayload: Int = 1_048_576
    /// Whether the INFO named the limit; otherwise it is the servers' default.
    private var statesMaximumPayload = false
    /// Whether JetStream is on at this server.
    public var hasJetStream: Bool?
    /// Whether credentials are needed.
    public var requiresAuthentication: Bool?
    /// Whether TLS is needed.
    public var requiresTLS: Bool?
    /// Whether TLS can be had.
    public var offersTLS: Bool?
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

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case serverID = "server_id"
        case serverName = "server_name"
        case version, host, port, cluster, domain, nonce
        case supportsHeaders = "headers"
        case maximumPayload = "max_payload"
        case hasJetStream = "jetstream"
        case requiresAuthentication = "auth_required"
        case requiresTLS = "tls_required"
        case offersTLS = "tls_available"
        case clientID = "client_id"
        case clientAddress = "client_ip"
        case connectURLs = "connect_urls"
        case isLameDuck = "ldm"
        case account = "remote_account"
    }

    init() {}

    /// Reads every field leniently: servers of different versions send different ones.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func optional<T: Decodable>(_ key: CodingKeys, _ type: T.Type = T.self) -> T? {
            (try? values.decodeIfPresent(type, forKey: key)) ?? nil
        }
        func text(_ key: CodingKeys) -> String? {
            optional(key, String.self).flatMap { $0.utf8.count <= Self.maximumText ? $0 : nil }
        }
        serverID = text(.serverID) ?? ""
        serverName = text(.serverName)
        version = text(.version) ?? ""
        host = text(.host)
        port = optional(.port)
        supportsHeaders = optional(.supportsHeaders)
        let limit = optional(.maximumPayload, Int.self)
        maximumPayload = limit ?? 1_048_576
        statesMaximumPayload = limit != nil
        hasJetStream = optional(.hasJetStream)
        requiresAuthentication = optional(.requiresAuthentication)
        requiresTLS = optional(.requiresTLS)
        offersTLS = optional(.offersTLS)
        clientID = optional(.clientID)
        clientAddress = text(.clientAddress)
        nonce = text(.nonce)
        cluster = text(.cluster)
        domain = text(.domain)
        connectURLs = Self.urls(in: values)
        isLameDuck = optional(.isLameDuck)
        account = text(.account)
    }

    /// More servers than a client ever tries.
    static let maximumConnectURLs = 128
    /// No name or address is longer, in bytes.
    static let maximumText = 1_024

    private static func urls(in values: KeyedDecodingContainer<CodingKeys>) -> [String]? {
        guard var list = try? values.nestedUnkeyedContainer(forKey: .connectURLs) else { return nil }
        var urls: [String] = []
        // One by one: a list of a million is not made to take the first of them.
        while !list.isAtEnd, urls.count < maximumConnectURLs, let url = try? list.decode(String.self) {
            if url.utf8.count <= maximumText { urls.append(url) }
        }
        return urls
    }

    /// The names of the fields that are read.
    static let fields = Set(CodingKeys.allCases.map(\.rawValue))

    /// Takes in the limit that the INFO names.
    mutating func state(maximumPayload limit: Int) {
        maximumPayload = limit
        statesMaximumPayload = true
    }

    /// Reads an INFO line's JSON.
    static func decode(_ json: [UInt8]) throws(NATSError) -> ServerInfo {
        if let info = InfoReader.read(json) { return info }
        return try decodeAnyForm(json)
    }

    /// Reads JSON of any form.
    static func decodeAnyForm(_ json: [UInt8]) throws(NATSError) -> ServerInfo {
        do {
            return try JSONDecoder().decode(ServerInfo.self, from: Data(json))
        } catch {
            throw .protocolViolation("its INFO is not readable")
        }
    }

    /// Takes over what a later INFO says; what it leaves out stays as it was.
    mutating func update(with newer: ServerInfo) {
        let older = self
        self = newer
        if newer.serverID.isEmpty { serverID = older.serverID }
        if newer.version.isEmpty { version = older.version }
        if !newer.statesMaximumPayload {
            maximumPayload = older.maximumPayload
            statesMaximumPayload = older.statesMaximumPayload
        }
        host = newer.host ?? older.host
        port = newer.port ?? older.port
        if newer.connectURLs?.isEmpty ?? true { connectURLs = older.connectURLs }
        supportsHeaders = newer.supportsHeaders ?? older.supportsHeaders
        hasJetStream = newer.hasJetStream ?? older.hasJetStream
        clientID = newer.clientID ?? older.clientID
        serverName = newer.serverName ?? older.serverName
        account = newer.account ?? older.account
        cluster = newer.cluster ?? older.cluster
        domain = newer.domain ?? older.domain
        clientAddress = newer.clientAddress ?? older.clientAddress
    }
}

extension ServerInfo {
    /// Whether the server is of this version or a later one. One that names no version is taken for a new one.
    public func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        let numbers = version.split(separator: ".").prefix(2).map { Int($0) ?? 0 }
        return numbers.count < 2 || (numbers[0], numbers[1]) >= (major, minor)
    }
}
