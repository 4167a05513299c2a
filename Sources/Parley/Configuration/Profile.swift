import JSON5
import Relay

/// A named way to connect, as the configuration file describes it.
struct Profile: Hashable, Sendable {
    /// Server addresses; none means the private network.
    var servers: [String] = []
    /// A credentials file; `~/` is the home folder.
    var creds: String?
    /// A command line whose output is an access token.
    var tokenCommand: String?
    /// A user of the private network; elsewhere the user's name for credentials that do not have it.
    var user: String?
    /// The name of a reconnection policy.
    var reconnect: String?
    /// Seconds after which chat, watch and tail give up the first connection.
    var connectTimeout: Double?
    /// Seconds out of focus after which the connection is suspended; 0 keeps it.
    var suspendAfter: Double?
    /// Whether the terminal's background and foreground, and the machine's sleep, are watched; nil for at a terminal
    /// alone.
    var handleAppLifecycle: Bool?
    /// Names the topics' stream, on networks without a namespace service.
    var namespace: String?
    /// The first token of every topic's subject, on networks without a namespace service.
    var hash: String?
    /// The first tokens of JetStream's subjects, on a network whose namespace service names the two above; these count
    /// only while it does not answer.
    var api: String?
    /// A PEM file of authorities to trust.
    var tlsAuthority: String?
    /// A PEM file with the client's certificate.
    var tlsCertificate: String?
    /// The PEM file of its private key.
    var tlsKey: String?
    /// Whether TLS comes before the server's first word.
    var tlsFirst: Bool?
    /// The URL of a proxy; empty for none, whatever the environment says.
    var proxy: String?
    /// Whether the user may be connected more than once: `shared`, `take-over` or `yield`.
    var session: String?
    /// This device's name for the user's other devices.
    var device: String?
    var shared = SharedSettings()

    /// Why credentials without a server are refused: the private network has its own.
    static let needsServers = "it is for other servers, and the profile names none: add servers"

    /// Whether the first connection can be given this many seconds.
    static func isConnectTimeout(_ seconds: Double) -> Bool { seconds > 0 && seconds < 1e9 }
}

extension Profile: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case servers, creds, user, reconnect, connectTimeout, suspendAfter, handleAppLifecycle, namespace, hash, api
        case tlsAuthority, tlsCertificate, tlsKey, tlsFirst, tokenCommand, proxy, session, device, retention
        case theme, symbols, join, mutes, highlights, bell
        case notifications, typing, idleAfter, followUnread, followLetters
        case tokenCommandInSnakeCase = "token_command"
    }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String? { try values.decodeIfPresent(String.self, forKey: key) }
        func mistake(_ key: CodingKeys, isKey: Bool = false, _ words: String) -> SettingMistake {
            SettingMistake(values.codingPath + [key], isKey: isKey, words)
        }
        servers = try values.decodeIfPresent([String].self, forKey: .servers) ?? []
        creds = try text(.creds)
        user = try text(.user)
        reconnect = try text(.reconnect)
        connectTimeout = try values.decodeIfPresent(Double.self, forKey: .connectTimeout)
        suspendAfter = try values.decodeIfPresent(Double.self, forKey: .suspendAfter)
        handleAppLifecycle = try values.decodeIfPresent(Bool.self, forKey: .handleAppLifecycle)
        namespace = try text(.namespace)
        hash = try text(.hash)
        api = try text(.api)
        tlsAuthority = try text(.tlsAuthority)
        tlsCertificate = try text(.tlsCertificate)
        tlsKey = try text(.tlsKey)
        tlsFirst = try values.decodeIfPresent(Bool.self, forKey: .tlsFirst)
        tokenCommand = try text(.tokenCommand)
        if let other = try text(.tokenCommandInSnakeCase) {
            guard tokenCommand == nil else {
                throw mistake(
                    .tokenCommandInSnakeCase, isKey: true,
                    "tokenCommand and token_command are the same setting; keep one")
            }
            tokenCommand = other
        }
        guard tokenCommand == nil || creds == nil else {
            throw mistake(.creds, isKey: true, "creds and token_command exclude each other; keep one")
        }
        proxy = try text(.proxy)
        session = try text(.session)
        device = try text(.device)
        shared = try SharedSettings(from: decoder)

        for (index, server) in servers.enumerated() {
            do throws(RelayError) { _ = try RelayConfiguration.addresses([server]) } catch {
                throw SettingMistake(values.codingPath + [CodingKeys.servers, PathKey(index)], error.words)
            }
        }
        if let connectTimeout, !Self.isConnectTimeout(connectTimeout) {
            throw mistake(.connectTimeout, "it takes a number of seconds above 0")
        }
        if let suspendAfter, !(suspendAfter >= 0 && suspendAfter < 1e9) {
            throw mistake(.suspendAfter, "it takes a number of seconds, 0 or more")
        }
        if let reconnect, ReconnectPolicy.named(reconnect) == nil {
            throw mistake(
                .reconnect, "“\(reconnect)” is no reconnection policy; these are: parley, relayx, rongcloud, supabase")
        }
        if let session, session != "shared", KickPolicy(rawValue: session) == nil {
            throw mistake(.session, "“\(session)” is no session; these are: shared, take-over, yield")
        }
        if let proxy, !proxy.isEmpty {
            // The parser's words do not repeat the text, which may hold a password.
            do { _ = try ProxyAddress(parsing: proxy) } catch { throw mistake(.proxy, "\(error)") }
        }
    }
}
