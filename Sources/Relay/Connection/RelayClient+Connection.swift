import NATS

// The calls about the connection, and what the present link asks of the client.
extension RelayClient {
    /// Leaves the present connection for a new one, at once; where there is no session, begins one. What waits to be
    /// sent goes on waiting.
    public func reconnect() {
        switch status.state {
        case .initialized, .disconnected, .suspended: beginConnecting()
        case .connecting, .connected, .reconnecting:
            handle(.connectionFailed(generation: generation, reason: .renewalRequested))
            nudge()
        }
    }

    /// A sign that a person is waiting: the next attempt comes at once.
    public func nudge() { handle(.nudged) }

    /// Tells whether the system has a network at all. Without one, attempts pause; with a new one they begin at once.
    public func setNetworkAvailable(_ isAvailable: Bool) {
        handle(isAvailable ? .networkReturned : .networkLost)
    }

    /// Measures the round trip to the server now.
    ///
    /// - Throws: ``RelayError/notConnected``, ``RelayError/timeout(_:)``.
    public func ping() async throws(RelayError) -> Duration {
        guard let link, let connection = link.connection else { throw .notConnected }
        do throws(NATSError) {
            let duration = try await connection.ping()
            handle(.roundTrip(generation: link.generation, duration))
            return duration
        } catch { throw RelayError(error, during: "a ping") }
    }

    /// The version of the server, while connected.
    public var serverVersion: String? { link?.connection?.info.version }

    /// The name of the server, while connected.
    public var serverName: String? { link?.connection?.info.serverName }

    // MARK: The link

    /// Runs `body`, unless the link is no longer the present one.
    func run<Value: Sendable>(_ body: @Sendable (isolated RelayClient) -> Value, for link: LiveLink) -> Value? {
        guard self.link === link else { return nil }
        return body(self)
    }

    /// How to dial.
    var connectOptions: ConnectOptions {
        let configuration = configuration
        return ConnectOptions(
            name: configuration.clientID, authentication: configuration.credentials.authentication,
            tls: configuration.tls, proxy: configuration.proxy, connectTimeout: configuration.dialTimeout,
            pingInterval: configuration.pingInterval, pongTimeout: configuration.pongTimeout,
            logger: configuration.logger)
    }

    /// Lets what waits leave over this link.
    func openOutbox(over link: LiveLink, _ namespace: RelayConfiguration.Namespace) {
        guard let jetStream = link.jetStream else { return }
        // Credentials without a user's name have been accepted; lines that waited for a name are sent under this
        // client's.
        signLines(as: user ?? clientID)
        publisher.open(jetStream, namespace)
    }

    func restored(_ roundTrip: Duration, generation: UInt64) {
        handle(.restored(generation: generation))
        presence.handle(.opened, for: self)
        handle(.roundTrip(generation: generation, roundTrip))
    }
}
