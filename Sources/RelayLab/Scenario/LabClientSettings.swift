import JSON5
import Relay

/// A scenario's settings of the client under test. Times are in real time; a run divides them by its speed.
public struct LabClientSettings: Hashable, Sendable {
    /// The name of its reconnection policy, as in ``Relay/ReconnectPolicy/named(_:)``.
    public var reconnect = "parley"
    /// How long an outage may last before it gives up; nil for the policy's limit.
    public var window: Duration?
    /// How long it may be in the background before it is suspended; nil keeps the connection.
    public var suspendAfter: Duration?
    /// `shared`, `take-over` or `yield`.
    public var session = "shared"
    /// The interval between pings.
    public var ping: Duration?
    /// The timeout of a ping.
    public var pong: Duration?
    /// The lifetime of its tokens, not divided by the speed, as servers count whole seconds; nil if unlimited.
    public var tokenLifetime: Duration?
    /// Whether it gets a new token when one has expired.
    public var renewsToken = true

    /// Makes the default settings.
    public init() {}

    /// Its reconnection policy, with all times divided by the speed.
    public func reconnectPolicy(speed: Double) -> ReconnectPolicy {
        var policy = ReconnectPolicy.named(reconnect) ?? .parley
        policy.schedule = policy.schedule.map { $0 / speed }
        policy.cap = policy.cap / speed
        policy.window = (window ?? policy.window).map { $0 / speed }
        policy.longOutage = policy.longOutage / speed
        policy.stableAfter = policy.stableAfter / speed
        return policy
    }

    /// The configuration of such a client.
    ///
    /// - Parameters:
    ///   - servers: the only servers it connects to: others that a server names would bypass the link.
    ///   - speed: the speed-up factor over real time.
    ///   - seed: the random seed; nil draws one.
    public func configuration(
        _ servers: [ServerAddress], _ credentials: RelayCredentials, speed: Double, seed: UInt64? = nil
    ) -> RelayConfiguration {
        var configuration = RelayConfiguration(
            servers: .fixed(servers), credentials: credentials, reconnect: reconnectPolicy(speed: speed))
        configuration.followsCluster = false
        configuration.seed = seed
        // The proxy makes the link's faults; news from the system must not hasten a rehearsal.
        configuration.followsNetwork = false
        configuration.lifecycle = suspendAfter.map { .suspend(after: $0 / speed) } ?? .ignore
        if let policy = KickPolicy(rawValue: session) { configuration.sessions = .exclusive(policy) }
        if let ping { configuration.pingInterval = ping / speed }
        if let pong { configuration.pongTimeout = pong / speed }
        if reconnect == "relayx" { configuration.outbox = .relayx }
        return configuration
    }

    var value: MessageValue {
        let plain = LabClientSettings()
        var map = MessageMap()
        if reconnect != plain.reconnect { map["reconnect"] = .string(reconnect) }
        if session != plain.session { map["session"] = .string(session) }
        for (key, path) in Self.lengths {
            if let time = self[keyPath: path] { map[key.rawValue] = .string(LabDuration.text(time)) }
        }
        if !renewsToken { map["renewsToken"] = false }
        return .map(map)
    }
}

extension LabClientSettings: Decodable {
    private enum Keys: String, CodingKey, CaseIterable {
        case reconnect, window, suspendAfter, session, ping, pong, tokenLifetime, renewsToken
    }

    private static var lengths: [(key: Keys, path: WritableKeyPath<LabClientSettings, Duration?>)] {
        [
            (.window, \.window), (.suspendAfter, \.suspendAfter), (.ping, \.ping), (.pong, \.pong),
            (.tokenLifetime, \.tokenLifetime),
        ]
    }

    /// Reads the settings.
    public init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: Keys.allCases.map(\.rawValue), kind: "setting of the client")
        let values = try decoder.container(keyedBy: Keys.self)
        let policies = ["parley", "relayx", "rongcloud", "supabase"]
        reconnect = try values.choice(.reconnect, of: policies, kind: "reconnection policy") ?? reconnect
        let sessions = ["shared", "take-over", "yield"]
        session = try values.choice(.session, of: sessions, kind: "session") ?? session
        for (key, path) in Self.lengths { self[keyPath: path] = try values.length(key) }
        if let tokenLifetime, tokenLifetime < .seconds(1) {
            throw SettingMistake(values.codingPath + [Keys.tokenLifetime], "it takes at least a second")
        }
        renewsToken = try values.decodeIfPresent(Bool.self, forKey: .renewsToken) ?? true
    }
}
