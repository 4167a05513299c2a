// A client's settings and time limits.
extension RelayClient {
    struct Settings: Sendable {
        var configuration: RelayConfiguration
        /// Whether the client knows its servers, so that it may connect.
        var isPrepared = true
        var limits = Limits()
    }

    /// Time limits of calls.
    struct Limits: Sendable {
        /// ``publish(topic:message:)``: for the server's answer.
        var publish = Duration.seconds(10)
        /// ``close()``: for messages in flight.
        var closing = Duration.seconds(1)
        /// Discovering the servers, which may include starting them.
        var discovery = Duration.seconds(60)
    }

    nonisolated var limits: Limits { settings.withLockedValue(\.limits) }

    /// The configuration from the initializer and from `prepare`, with the newest credentials.
    public nonisolated var configuration: RelayConfiguration { settings.withLockedValue(\.configuration) }

    /// The client's user name on the network; nil if neither the credentials nor the configuration contain it.
    public nonisolated var user: String? { settings.withLockedValue { $0.configuration.user } }
}
