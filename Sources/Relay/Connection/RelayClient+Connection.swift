import NATS

extension RelayClient: ConnectionOwner {
    package var watchedServers: [ServerAddress]? {
        let configuration = configuration
        // A network whose servers are discovered before every dial is on this machine and needs no watching.
        guard configuration.followsNetwork, case .fixed(let servers) = configuration.servers else { return nil }
        return configuration.proxy.map { [ServerAddress(host: $0.host, port: $0.port)] } ?? servers
    }

    package static func dialPlan(for link: LiveLink) async throws(ConnectionReason) -> DialPlan? {
        // The local store opens before the first byte on the network.
        guard let opening = await link.inOwner({ $0.openingStore() }) else { return nil }
        _ = await opening.value
        try await Login.prepare(for: link)
        guard let (source, limit) = await link.inOwner({ ($0.configuration.servers, $0.limits.discovery) }) else {
            return nil
        }
        let servers = try await servers(source, within: limit, link.surroundings.clock)
        return await link.inOwner { $0.dialPlan(servers) }
    }

    private static func servers(
        _ source: RelayConfiguration.Servers, within limit: Duration, _ clock: any Timekeeper
    ) async throws(ConnectionReason) -> [ServerAddress] {
        switch source {
        case .fixed(let servers): return servers
        case .discovered(let discover):
            let found = await within(limit, clock) { () -> Result<[ServerAddress], RelayError> in
                do throws(RelayError) { return .success(try await discover()) } catch { return .failure(error) }
            }
            switch found ?? .failure(.timeout("Finding the servers")) {
            case .success(let servers): return servers
            case .failure(.connection(let reason)): throw reason
            case .failure(let error): throw .unreachable(error.words)
            }
        }
    }

    private func dialPlan(_ servers: [ServerAddress]) -> DialPlan {
        let configuration = configuration
        var options = ConnectOptions(
            name: configuration.clientID, authentication: configuration.credentials.authentication,
            tls: configuration.tls, proxy: configuration.proxy, connectTimeout: configuration.dialTimeout,
            pingInterval: configuration.pingInterval, pongTimeout: configuration.pongTimeout,
            logger: configuration.logger)
        options.timeToAnswer = configuration.timeToAnswer
        return DialPlan(servers: servers, options: options, followsCluster: configuration.followsCluster)
    }

    package func makeAttachment() -> LinkAttachment {
        personas.reconnect()
        return LinkAttachment(DeletedLetters(clock: surroundings.clock), pullLimit, leftConsumers)
    }

    package func failed(_ reason: ConnectionReason) -> (reason: ConnectionReason, needsCredentials: Bool) {
        login.failed(reason, for: self)
    }

    package func connectionOpened(_ link: LiveLink) {
        if let user, user.isSubjectToken { link.followControl(for: user) }
    }

    package func restore(over link: LiveLink) {
        // The names of an earlier connection, or those learned on joining, hold until the service sends others.
        let known = login.isPutOut ? nil : namespace ?? configuration.rememberedNamespace
        link.restore(configuration, known: known, publisher)
    }

    /// Lets queued messages leave over this link.
    func openOutbox(over link: LiveLink, _ namespace: RelayConfiguration.Namespace) {
        guard let jetStream = link.jetStream else { return }
        // Credentials without a user's name have been accepted; lines that waited for a name are sent under this
        // client's.
        signLines(as: user ?? clientID)
        publisher.open(jetStream, namespace)
    }

    package func renewCredentials(generation: UInt64) { login.renewCredentials(generation: generation, for: self) }

    package func statusChanged(to status: ConnectionStatus, from earlier: ConnectionStatus) {
        boards.statuses.post(status)
        login.statusChanged(to: status, for: self)
        subscriptions.handle(.connectionChanged, for: self)
        if status.state == .connected, earlier.state != .connected { presence.handle(.opened, for: self) }
        if status.state == .suspended { subscriptions.handle(.connectionRests, for: self) }
        lifecycle.statusChanged(to: status, from: earlier, for: self)
    }

    package func connectionEvent(_ event: ConnectionEvent) { deliver(SystemEvent(event)) }

    package func connectionCloses(_ link: LiveLink, isFarewell: Bool) -> (@Sendable () async -> Void)? {
        let tellsOthers = isFarewell && link.connection?.isOpen == true
        let isTelling = presence.handle(.closed(tellsOthers: tellsOthers), over: link, for: self)
        if !connection.hasSession, let claim = login.release(), let user, let jetStream = link.jetStream {
            return { await LiveLink.release(claim, of: user, over: jetStream) }
        }
        // The farewell has yet to be flushed.
        guard isTelling else { return nil }
        return {}
    }

    package func connectionLost() {
        subscriptions.handle(.connectionLost, for: self)
        publisher.connectionLost()
    }

    package func sessionEnded(_ reason: ConnectionReason) {
        login.sessionEnded()
        publisher.sessionEnded(reason)
    }

    package func connectionWoke() { lifecycle.look(for: self) }

    /// Another user signs in, for whom the network may have other names.
    func userChanged() {
        leftConsumers.forget()
        subscriptions.handle(.userChanged(configuration.namespace), for: self)
    }
}

extension RelayError {
    /// The error of a `connect` call; nil for success.
    init?(_ outcome: ConnectOutcome) {
        switch outcome {
        case .connected: return nil
        case .ended(let reason): self = .connection(reason)
        case .cancelled: self = .cancelled
        }
    }
}
