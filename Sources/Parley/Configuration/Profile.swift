import JSON5
import Relay

/// A named way to connect. ``DefaultConfiguration`` explains its settings.
struct Profile: Hashable, Sendable {
    /// Empty for the private network.
    var servers: [String] = []
    var creds: String?
    var tokenCommand: String?
    var user: String?
    var reconnect: String?
    var connectTimeout: Double?
    var suspendAfter: Double?
    var handleAppLifecycle: Bool?
    var namespace: String?
    var hash: String?
    var api: String?
    var tlsAuthority: String?
    var tlsCertificate: String?
    var tlsKey: String?
    var tlsFirst: Bool?
    /// Empty for none, whatever the environment says.
    var proxy: String?
    var session: String?
    var device: String?
    var shared = SharedSettings()

    /// Why credentials without a server are refused: the private network has its own.
    static let needsServers = "it is for other servers, and the profile names none: add servers"

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
        guard (namespace == nil) == (hash == nil) else {
            throw mistake(
                namespace == nil ? .hash : .namespace, isKey: true,
                "namespace and hash go together; add the other one, or remove this one")
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
            // The parser's message does not repeat the text, which may contain a password.
            do { _ = try ProxyAddress(parsing: proxy) } catch { throw mistake(.proxy, "\(error)") }
        }
    }
}
