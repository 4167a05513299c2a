import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Something that is brought back on every connection.
protocol Follower: Sendable {
    /// Follows over this connection.
    ///
    /// - Returns: fulfilled once nothing that is stored later can be missed.
    func follow(_ link: RelayClient.Link, _ namespace: RelayConfiguration.Namespace) -> Completion<
        Result<Void, NATSError>
    >
    func pause()
    func end(_ ending: Result<Void, RelayError>)
}

// Dialling, restoring, probing and letting go of connections.
extension RelayClient {
    private enum DialResult: Sendable {
        case success(NATSConnection)
        case failure(ConnectionReason)
    }

    // MARK: Dialling

    /// The client is held for none of the waits, so that it can be let go during each of them.
    func startDial(_ generation: UInt64) {
        dial?.cancel()
        dial = Task { [weak self, store = openingStore(), providerTimeout, discoveryTimeout] in
            // The local store comes before the first byte on the network.
            _ = await store.value
            if !Task.isCancelled, let question = await self?.missingCredentials() {
                let isAnswered = await question.wait(providerTimeout)
                guard !Task.isCancelled else { return }
                guard isAnswered else {
                    await self?.dialFailed(.invalidCredentials("the token provider gave none"), generation)
                    return
                }
            }
            guard !Task.isCancelled, let source = await self?.serverSource(generation) else { return }
            let servers = await Self.servers(source, discoveryTimeout)
            guard !Task.isCancelled, let plan = await self?.planDial(to: servers, generation) else { return }
            let result = await Self.connection(plan)
            // A dial that nobody waits for any more takes its socket with it.
            guard let self else { return Self.discard(result) }
            await self.dialEnded(result, to: plan.address, generation: generation)
        }
    }

    private struct DialPlan: Sendable {
        let address: ServerAddress
        let options: ConnectOptions
    }

    private static func discard(_ result: DialResult) {
        if case .success(let connection) = result { connection.closeNow() }
    }

    private func dialFailed(_ reason: ConnectionReason, _ generation: UInt64) {
        handle(.connectionFailed(generation: generation, reason: reason))
    }

    /// The question for the first credentials, where there are none.
    private func missingCredentials() -> ProviderQuestion? {
        configuration.credentials.isMissing ? askProvider() : nil
    }

    /// Where to learn which servers there are; nil when the credentials are of no use, which has been reported then.
    private func serverSource(_ generation: UInt64) -> RelayConfiguration.Servers? {
        let configuration = configuration
        let credentials = configuration.credentials
        // A token that has just been made is the server's to judge: the clock here may be wrong.
        if credentials.provider != nil, !hasUnrefusedToken, credentials.isExpired(at: Self.secondsNow) {
            dialFailed(.tokenExpired, generation)
            return nil
        }
        return configuration.servers
    }

    private static func servers(
        _ source: RelayConfiguration.Servers, _ limit: Duration
    ) async -> Result<[ServerAddress], RelayError> {
        switch source {
        case .fixed(let servers): return .success(servers)
        case .discovered(let discover):
            let found = await within(limit) { () -> Result<[ServerAddress], RelayError> in
                do throws(RelayError) { return .success(try await discover()) } catch { return .failure(error) }
            }
            return found ?? .failure(.timeout("Finding the servers"))
        }
    }

    /// Where to dial next and as whom; nil when no server is known, which has been reported then.
    private func planDial(to servers: Result<[ServerAddress], RelayError>, _ generation: UInt64) -> DialPlan? {
        guard machine.generation == generation else { return nil }
        switch servers {
        case .success(let servers): pool.configure(servers)
        case .failure(.connection(let reason)):
            dialFailed(reason, generation)
            return nil
        case .failure(let error):
            dialFailed(.unreachable(error.words), generation)
            return nil
        }
        guard let address = pool.next else {
            dialFailed(.unreachable("no server is known"), generation)
            return nil
        }
        let configuration = configuration
        let options = ConnectOptions(
            name: configuration.clientID, authentication: configuration.credentials.authentication,
            tls: configuration.tls, proxy: configuration.proxy, connectTimeout: configuration.dialTimeout,
            pingInterval: configuration.pingInterval, pongTimeout: configuration.pongTimeout)
        return DialPlan(address: address, options: options)
    }

    private static func connection(_ plan: DialPlan) async -> DialResult {
        do throws(NATSError) {
            return .success(try await NATSConnection.connect(to: plan.address, options: plan.options))
        } catch {
            return .failure(ConnectionReason(error))
        }
    }

    private func dialEnded(_ result: DialResult, to address: ServerAddress, generation: UInt64) {
        switch result {
        case .failure(let reason):
            // A dial that was called off says nothing about its server.
            guard generation == machine.generation, !Task.isCancelled else { return }
            pool.failed(address)
            if reason.isRenewable { hasUnrefusedToken = false }
            handle(.connectionFailed(generation: generation, reason: explained(reason)))
        case .success(let connection):
            guard generation == machine.generation, link == nil, !Task.isCancelled else {
                return connection.closeNow()
            }
            pool.connected(to: address)
            advertised(by: connection, connection.info)
            let events = connection.events
            let watcher = Task { [weak self] in
                for await event in events { await self?.heard(event, generation: generation) }
            }
            link = Link(connection: connection, generation: generation, watchers: [watcher])
            followControl(connection, generation: generation)
            handle(.dialSucceeded(generation: generation))
        }
    }

    /// The server never says why it refuses a token; the token itself may.
    private func explained(_ reason: ConnectionReason) -> ConnectionReason {
        guard case .authenticationFailed = reason else { return reason }
        if configuration.credentials.isExpired(at: Self.secondsNow) { return .tokenExpired }
        guard configuration.credentials.areOfSharedAccount else { return reason }
        return .authenticationFailed(
            "they are of the kind that private networks gave before every user had an account, and none takes any more")
    }

    static var secondsNow: Int64 { Int64(Date().timeIntervalSince1970) }

    private func heard(_ event: NATSConnectionEvent, generation: UInt64) async {
        guard let link, link.generation == generation else { return }
        switch event {
        case .closed(let error):
            await lost(generation, ConnectionReason(error ?? .closed))
        case .roundTrip(let duration): handle(.roundTrip(generation: generation, duration))
        case .lameDuck:
            // Its JetStream has stopped already, so nothing is gained by staying.
            await lost(generation, .connectionLost("the server is shutting down"))
        case .infoChanged(let info): advertised(by: link.connection, info)
        case .notice, .slowConsumer: break
        }
    }

    /// Takes in which other servers the network has.
    private func advertised(by connection: NATSConnection, _ info: ServerInfo) {
        let servers = (info.connectURLs ?? []).compactMap { ServerAddress(discovered: $0, like: connection.address) }
        pool.advertise(servers, using: &generator)
    }

    // MARK: Restoring

    /// Subscriptions first, then what waits in the outbox, and only then counts the connection as restored. The client
    /// is held for none of the waits.
    func startRestoration(_ generation: UInt64) {
        restoration?.cancel()
        guard let link, link.generation == generation else { return }
        restoration = Task { [weak self, configuration, namespace] in
            do throws(NATSError) {
                let found = try await Self.namespace(configuration, known: namespace, link.connection)
                guard let link = await self?.adopt(found, generation) else { return }
                if let entry = try await self?.sessionEntry(link) {
                    let outcome = try await Self.take(entry)
                    guard await self?.tookSession(entry, outcome, generation: generation) == true else { return }
                }
                guard let openings = await self?.followAll(link, found) else { return }
                for opening in openings {
                    do throws(NATSError) {
                        try await opening.opened.value().get()
                    } catch {
                        guard link.connection.isOpen else { throw error }
                        // One topic's failure is that topic's alone.
                        await self?.openingFailed(opening.key, error)
                    }
                }
                guard let publisher = await self?.openOutbox(link, found), await publisher.flushed() else { return }
                // The first figure for the status bar, at once and not after the first ping interval.
                let roundTrip = try await link.connection.ping()
                await self?.restored(generation, roundTrip)
            } catch {
                await self?.lost(generation, ConnectionReason(error))
            }
        }
    }

    /// Speaks to JetStream as the network has it from now on; nil when the connection is no longer the present one.
    private func adopt(_ namespace: RelayConfiguration.Namespace, _ generation: UInt64) -> Link? {
        guard link?.generation == generation else { return nil }
        link?.apiPrefix = namespace.apiPrefix
        return link
    }

    private struct FollowerOpening: Sendable {
        let key: UInt64
        let opened: Completion<Result<Void, NATSError>>
    }

    /// Has everything followed over this connection; nil when it is no longer the present one.
    private func followAll(_ link: Link, _ namespace: RelayConfiguration.Namespace) -> [FollowerOpening]? {
        guard self.link?.generation == link.generation else { return nil }
        self.namespace = namespace
        // All at once: a thousand topics cost a few round trips together, not a few each.
        return followers.map { FollowerOpening(key: $0.key, opened: $0.value.follow(link, namespace)) }
    }

    private func openingFailed(_ key: UInt64, _ error: NATSError) {
        followers.removeValue(forKey: key)?.end(.failure(RelayError(error, during: "the subscription")))
    }

    /// Lets what waits leave over this connection; nil when it is no longer the present one.
    private func openOutbox(_ link: Link, _ namespace: RelayConfiguration.Namespace) -> Publisher? {
        guard self.link?.generation == link.generation else { return nil }
        // Credentials that name nobody have been accepted; what waited for a name goes under this client's.
        signLines(as: user ?? clientID)
        publisher.open(link.jetStream, namespace)
        return publisher
    }

    private func restored(_ generation: UInt64, _ roundTrip: Duration) {
        guard link?.generation == generation else { return }
        handle(.restored(generation: generation))
        handle(.roundTrip(generation: generation, roundTrip))
    }

    private struct NamespaceReply: Decodable {
        struct Names: Decodable {
            var namespace: String
            var hash: String
            var api: String?
            var topics: [String]?
            var created: UInt64?
        }
        var status: String
        var data: Names?
    }

    /// Asks the network for the names of its topics (RelayX's service), or takes the configured ones.
    private static func namespace(
        _ configuration: RelayConfiguration, known: RelayConfiguration.Namespace?, _ connection: NATSConnection
    ) async throws(NATSError) -> RelayConfiguration.Namespace {
        if let namespace = configuration.namespace { return namespace }
        guard let token = configuration.credentials.token,
            let question = try? JSONEncoder().encode(["api_key": token])
        else { throw .invalidArgument("The namespace is not known: name it in the configuration.") }
        let deadline = ContinuousClock.now + .seconds(5)
        while true {
            do throws(NATSError) {
                let reply = try await connection.request(
                    ByteBuffer(bytes: question), to: "accounts.user.get_namespace", timeout: .seconds(5))
                guard let answer = try? JSONDecoder().decode(NamespaceReply.self, from: Data(reply.bytes)),
                    answer.status == "NAMESPACE_RETRIEVE_SUCCESS", let names = answer.data
                else { throw .protocolViolation("the namespace service refused this user") }
                return RelayConfiguration.Namespace(
                    name: names.namespace, hash: names.hash, apiPrefix: names.api ?? JetStream.standardPrefix,
                    topics: names.topics, streamCreated: names.created)
            } catch .noResponders(let subject) {
                // The names of an earlier connection hold while nobody says otherwise.
                if let known { return known }
                // A network that has just started answers a moment later than its server.
                guard ContinuousClock.now < deadline else { throw .noResponders(subject: subject) }
                do { try await Task.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
            }
        }
    }

    // MARK: Letting go

    /// A connection that stood is of no use any more: its server becomes the last choice.
    private func lost(_ generation: UInt64, _ reason: ConnectionReason) async {
        // What the administrator said before the server closed it is why it was closed.
        if let link, link.generation == generation, !link.connection.isOpen { await link.control?.value }
        guard let link, link.generation == generation else { return }
        var reason = reason
        // A kick can void a login for a moment that was made in just that moment and has heard no word of it. Whoever is
        // banned is refused at the next login.
        if case .banned(nil) = reason, machine.status.state != .connected {
            reason = .connectionLost("the server ended the login")
        }
        pool.failed(link.connection.address)
        if reason.isRenewable { hasUnrefusedToken = false }
        handle(.connectionFailed(generation: generation, reason: reason))
    }

    func closeLink(_ generation: UInt64) {
        dial?.cancel()
        dial = nil
        letGo(generation)
    }

    /// Forgets a connection: what was under way goes back to its place, and nothing of it is heard again.
    private func letGo(_ generation: UInt64) {
        guard let link, link.generation == generation else { return }
        self.link = nil
        restoration?.cancel()
        restoration = nil
        for watcher in link.watchers { watcher.cancel() }
        if machine.status.state == .disconnected { releaseSession(link) } else { link.connection.closeNow() }
        for follower in followers.values { follower.pause() }
        publisher.connectionLost()
    }

    /// Finds out at once whether the connection lives: a person has come back, or another network has.
    func probe(_ generation: UInt64) {
        guard let link, link.generation == generation else { return }
        link.connection.probe(within: .seconds(2))
    }
}
