// What a client was made with, and for how long its calls wait.
extension RelayClient {
    /// What a client was made and prepared with.
    struct Settings: Sendable {
        var configuration: RelayConfiguration
        /// Whether the client knows its servers, so that it may connect.
        var isPrepared = true
        var limits = Limits()
    }

    /// How long calls wait.
    struct Limits: Sendable {
        /// ``publish(topic:message:)``, for the server.
        var publish = Duration.seconds(10)
        /// ``close()``, for what is under way.
        var closing = Duration.seconds(1)
        /// Finding out where the servers are, which includes a start of theirs.
        var discovery = Duration.seconds(60)
    }

    nonisolated var limits: Limits { settings.withLockedValue(\.limits) }

    /// The configuration from the initializer and from `prepare`, with the newest credentials.
    public nonisolated var configuration: RelayConfiguration { settings.withLockedValue(\.configuration) }

    /// The client's user name on the network; nil when neither credentials nor configuration have it.
    public nonisolated var user: String? { settings.withLockedValue { $0.configuration.user } }
}
