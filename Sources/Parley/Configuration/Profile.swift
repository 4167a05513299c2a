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
    /// What the subjects of JetStream's calls begin with on a network whose namespace service tells the two above,
    /// which are gone by only while it does not answer.
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
    /// How long messages stay in the local store; nil for what the file says of all profiles.
    var retention: RetentionSetting?
    /// How the screen is coloured; nil for what the file says of all profiles.
    var theme: ThemeSetting?
    /// Which characters the screen is drawn with; nil for what the file says of all profiles.
    var symbols: SymbolSetting?
    /// Topics to join at each start; nil for what the file says of all profiles.
    var join: TopicList?
    /// Topics that are muted; nil for what the file says of all profiles.
    var mutes: TopicList?
    /// Words that call for the person; nil for what the file says of all profiles.
    var highlights: Highlights?
    /// What rings the bell; nil for what the file says of all profiles.
    var bell: BellSetting?
    /// Of what the person is notified, and by what; nil for what the file says of all profiles.
    var notifications: NotificationSetting?
    /// Whether typing is told and shown; nil for what the file says of all profiles.
    var typing: Bool?
    /// How long somebody may do nothing until they count as away; nil for what the file says of all profiles.
    var idleAfter: IdleSetting?
    /// How much unread of a topic out of view is followed; nil for what the file says of all profiles.
    var followUnread: FollowingSetting?
    /// Whether letters are followed while no letter is in view; nil for what the file says of all profiles.
    var followLetters: Bool?
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
        servers = try values.decodeIfPresent([String].self, forKey: .servers) ?? []
        creds = try values.decodeIfPresent(String.self, forKey: .creds)
        user = try values.decodeIfPresent(String.self, forKey: .user)
        reconnect = try values.decodeIfPresent(String.self, forKey: .reconnect)
        connectTimeout = try values.decodeIfPresent(Double.self, forKey: .connectTimeout)
        suspendAfter = try values.decodeIfPresent(Double.self, forKey: .suspendAfter)
        handleAppLifecycle = try values.decodeIfPresent(Bool.self, forKey: .handleAppLifecycle)
        namespace = try values.decodeIfPresent(String.self, forKey: .namespace)
        hash = try values.decodeIfPresent(String.self, forKey: .hash)
        api = try values.decodeIfPresent(String.self, forKey: .api)
        tlsAuthority = try values.decodeIfPresent(String.self, forKey: .tlsAuthority)
        tlsCertificate = try values.decodeIfPresent(String.self, forKey: .tlsCertificate)
        tlsKey = try values.decodeIfPresent(String.self, forKey: .tlsKey)
        tlsFirst = try values.decodeIfPresent(Bool.self, forKey: .tlsFirst)
        tokenCommand = try values.decodeIfPresent(String.self, forKey: .tokenCommand)
        if let other = try values.decodeIfPresent(String.self, forKey: .tokenCommandInSnakeCase) {
            guard tokenCommand == nil else {
                throw SettingMistake(
                    values.codingPath + [CodingKeys.tokenCommandInSnakeCase], isKey: true,
                    "tokenCommand and token_command are the same setting; keep one")
            }
            tokenCommand = other
        }
        if tokenCommand != nil, creds != nil {
            throw SettingMistake(
                values.codingPath + [CodingKeys.creds], isKey: true,
                "creds and token_command exclude each other; keep one")
        }
        proxy = try values.decodeIfPresent(String.self, forKey: .proxy)
        session = try values.decodeIfPresent(String.self, forKey: .session)
        device = try values.decodeIfPresent(String.self, forKey: .device)
        retention = try values.decodeIfPresent(RetentionSetting.self, forKey: .retention)
        theme = try values.decodeIfPresent(ThemeSetting.self, forKey: .theme)
        symbols = try values.decodeIfPresent(SymbolSetting.self, forKey: .symbols)
        join = try values.decodeIfPresent(TopicList.self, forKey: .join)
        mutes = try values.decodeIfPresent(TopicList.self, forKey: .mutes)
        highlights = try values.decodeIfPresent(Highlights.self, forKey: .highlights)
        bell = try values.decodeIfPresent(BellSetting.self, forKey: .bell)
        notifications = try values.decodeIfPresent(NotificationSetting.self, forKey: .notifications)
        typing = try values.decodeIfPresent(Bool.self, forKey: .typing)
        idleAfter = try values.decodeIfPresent(IdleSetting.self, forKey: .idleAfter)
        followUnread = try values.decodeIfPresent(FollowingSetting.self, forKey: .followUnread)
        followLetters = try values.decodeIfPresent(Bool.self, forKey: .followLetters)
        if let mistake = mistake(below: values.codingPath) { throw mistake }
    }

    /// What is said of credentials that no server takes: the private network has its own.
    static let needsServers = "it is for other servers, and the profile names none: add servers"

    /// Whether a first connection can be given so many seconds.
    static func isConnectTimeout(_ seconds: Double) -> Bool { seconds > 0 && seconds < 1e9 }

    /// What a value cannot be, although it is of the right type.
    private func mistake(below path: [any CodingKey]) -> SettingMistake? {
        func wrong(_ key: CodingKeys, _ words: String) -> SettingMistake { SettingMistake(path + [key], words) }
        for (index, server) in servers.enumerated() {
            do throws(RelayError) { _ = try RelayConfiguration.addresses([server]) } catch {
                return SettingMistake(path + [CodingKeys.servers, PathKey(index)], error.words)
            }
        }
        if let connectTimeout, !Self.isConnectTimeout(connectTimeout) {
            return wrong(.connectTimeout, "it takes a number of seconds above 0")
        }
        if let suspendAfter, !(suspendAfter >= 0 && suspendAfter < 1e9) {
            return wrong(.suspendAfter, "it takes a number of seconds, 0 or more")
        }
        if let reconnect, ReconnectPolicy.named(reconnect) == nil {
            return wrong(
                .reconnect, "“\(reconnect)” is no reconnection policy; these are: parley, relayx, rongcloud, supabase")
        }
        if let session, session != "shared", KickPolicy(rawValue: session) == nil {
            return wrong(.session, "“\(session)” is no session; these are: shared, take-over, yield")
        }
        if let proxy, !proxy.isEmpty {
            // The parser's words do not repeat the text, which may hold a password.
            do { _ = try ProxyAddress(parsing: proxy) } catch { return wrong(.proxy, "\(error)") }
        }
        return nil
    }
}
