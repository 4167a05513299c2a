import JSON5
import Relay

/// How the client under test is, as far as a scenario says it. Times are as in earnest; a run divides them by its
/// speed.
public struct LabClientSettings: Hashable, Sendable {
    /// The name of the policy by which it tries again, as ``Relay/ReconnectPolicy/named(_:)`` has it.
    public var reconnect = "parley"
    /// How long an outage may last until it gives up; nil for what the policy says.
    public var window: Duration?
    /// How long it may be in the background until it is suspended; nil keeps the connection.
    public var suspendAfter: Duration?
    /// `shared`, `take-over` or `yield`.
    public var session = "shared"
    /// How much time is between two pings.
    public var ping: Duration?
    /// How long the answer to a ping may take.
    public var pong: Duration?
    /// How long each of its tokens holds, not divided by the speed, since the server counts in whole seconds; nil for
    /// credentials without an end.
    public var tokenLifetime: Duration?
    /// Whether it is given a new token when one has ended.
    public var renewsToken = true

    /// What counts where nothing is said.
    public init() {}

    /// The policy by which it tries again, with all times divided.
    public func reconnectPolicy(speed: Double) -> ReconnectPolicy {
        var policy = ReconnectPolicy.named(reconnect) ?? .parley
        policy.schedule = policy.schedule.map { $0 / speed }
        policy.cap = policy.cap / speed
        policy.window = (window ?? policy.window).map { $0 / speed }
        policy.longOutage = policy.longOutage / speed
        policy.stableAfter = policy.stableAfter / speed
        return policy
    }

    /// How a client is configured that is so.
    ///
    /// - Parameters:
    ///   - servers: where it goes, and nowhere else: what a server tells of others leads around the link.
    ///   - speed: the speed-up factor over real time.
    ///   - seed: the random seed; nil draws one.
    public func configuration(
        _ servers: [ServerAddress], _ credentials: RelayCredentials, speed: Double, seed: UInt64? = nil
    ) -> RelayConfiguration {
        var configuration = RelayConfiguration(
            servers: .fixed(servers), credentials: credentials, reconnect: reconnectPolicy(speed: speed))
        configuration.followsCluster = false
        configuration.seed = seed
        // The link's faults are the proxy's, and no news of the system is to hasten what is rehearsed.
        configuration.followsNetwork = false
        configuration.lifecycle = suspendAfter.map { .suspend(after: $0 / speed) } ?? .ignore
        if let policy = KickPolicy(rawValue: session) { configuration.sessions = .exclusive(policy) }
        if let ping { configuration.pingInterval = ping / speed }
        if let pong { configuration.pongTimeout = pong / speed }
        if reconnect == "relayx" { configuration.outbox = .relayx }
        return configuration
    }

    /// The object with which it is written.
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
            throw SettingMistake(values.codingPath + [Keys.tokenLifetime], "it takes a second at least")
        }
        renewsToken = try values.decodeIfPresent(Bool.self, forKey: .renewsToken) ?? true
    }
}
