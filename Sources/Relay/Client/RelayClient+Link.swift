import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Something that is brought back on every connection.
protocol Follower: Sendable {
    /// Follows over this connection; nil when there is nothing to follow on this network.
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

    func startDial(_ generation: UInt64) {
        dial?.cancel()
        dial = Task { [weak self, store = openingStore()] in
            // The local store comes before the first byte on the network.
            _ = await store.value
            guard !Task.isCancelled, let plan = await self?.planDial(generation) else { return }
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

    /// Where to dial next and as whom; nil when that could not be found out, which has been reported then.
    private func planDial(_ generation: UInt64) async -> DialPlan? {
        if configuration.credentials.isMissing, let provider = configuration.credentials.provider {
            let credentials = await Self.asking(provider)
            guard machine.generation == generation, !Task.isCancelled else { return nil }
            guard let credentials else {
                handle(
                    .connectionFailed(
                        generation: generation, reason: .invalidCredentials("the token provider gave none")))
                return nil
            }
            adopt(credentials)
        }
        let configuration = configuration
        if configuration.credentials.provider != nil, configuration.credentials.isExpired(at: Self.secondsNow) {
            handle(.connectionFailed(generation: generation, reason: .tokenExpired))
            return nil
        }
        switch configuration.servers {
        case .fixed(let fixed): pool.configure(fixed)
        case .discovered(let discover):
            let result: Result<[ServerAddress], RelayError>
            do throws(RelayError) { result = .success(try await discover()) } catch { result = .failure(error) }
            guard machine.generation == generation, !Task.isCancelled else { return nil }
            switch result {
            case .success(let servers): pool.configure(servers)
            case .failure(.connection(let reason)):
                handle(.connectionFailed(generation: generation, reason: reason))
                return nil
            case .failure(let error):
                handle(.connectionFailed(generation: generation, reason: .unreachable(error.words)))
                return nil
            }
        }
        guard let address = pool.next else {
            handle(.connectionFailed(generation: generation, reason: .unreachable("no server is known")))
            return nil
        }
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
            guard generation == machine.generation else { return }
            pool.failed(address)
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
        guard case .authenticationFailed = reason, configuration.credentials.isExpired(at: Self.secondsNow) else {
            return reason
        }
        return .tokenExpired
    }

    static var secondsNow: Int64 { Int64(Date().timeIntervalSince1970) }

    private func heard(_ event: NATSConnectionEvent, generation: UInt64) {
        guard let link, link.generation == generation else { return }
        switch event {
        case .closed(let error):
            lost(generation, ConnectionReason(error ?? .closed))
        case .roundTrip(let duration): handle(.roundTrip(generation: generation, duration))
        case .lameDuck:
            // Its JetStream has stopped already, so nothing is gained by staying.
            lost(generation, .connectionLost("the server is shutting down"))
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

    func startRestoration(_ generation: UInt64) {
        restoration?.cancel()
        restoration = Task { [weak self] in await self?.restore(generation) }
    }

    /// Subscriptions first, then what waits in the outbox, and only then counts the connection as restored.
    private func restore(_ generation: UInt64) async {
        guard let link, link.generation == generation else { return }
        do throws(NATSError) {
            let namespace = try await resolveNamespace(link.connection)
            guard self.link?.generation == generation else { return }
            self.namespace = namespace
            guard try await claimSession(link) else { return }
            // All at once: a thousand topics cost a few round trips together, not a few each.
            let openings = followers.map { (key: $0.key, follower: $0.value, opened: $0.value.follow(link, namespace)) }
            for (key, follower, opened) in openings {
                do throws(NATSError) {
                    try await opened.value().get()
                } catch {
                    guard link.connection.isOpen else { throw error }
                    // One topic's failure is that topic's alone.
                    follower.end(.failure(RelayError(error, during: "the subscription")))
                    followers[key] = nil
                }
                guard self.link?.generation == generation else { return }
            }
            noteResends()
            outbox.open()
            flushOutbox()
            while self.link?.generation == generation, !outbox.isFlushed {
                let waiter = Completion<Bool>()
                flushWaiter = waiter
                guard await waiter.value() else { return }
            }
            guard self.link?.generation == generation else { return }
            // The first figure for the status bar, at once and not after the first ping interval.
            let roundTrip = try await link.connection.ping()
            handle(.restored(generation: generation))
            handle(.roundTrip(generation: generation, roundTrip))
        } catch {
            lost(generation, ConnectionReason(error))
        }
    }

    private struct NamespaceReply: Decodable {
        struct Names: Decodable {
            var namespace: String
            var hash: String
        }
        var status: String
        var data: Names?
    }

    /// Asks the network for the names of its topics (RelayX's service), or takes the configured ones.
    private func resolveNamespace(
        _ connection: NATSConnection
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
                return RelayConfiguration.Namespace(name: names.namespace, hash: names.hash)
            } catch .noResponders(let subject) {
                // The names of an earlier connection hold while nobody says otherwise.
                if let namespace { return namespace }
                // A network that has just started answers a moment later than its server.
                guard ContinuousClock.now < deadline else { throw .noResponders(subject: subject) }
                do { try await Task.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
            }
        }
    }

    // MARK: Letting go

    /// A connection that stood is of no use any more: its server becomes the last choice.
    private func lost(_ generation: UInt64, _ reason: ConnectionReason) {
        guard let link, link.generation == generation else { return }
        pool.failed(link.connection.address)
        handle(.connectionFailed(generation: generation, reason: reason))
    }

    func closeLink(_ generation: UInt64) {
        dial?.cancel()
        dial = nil
        guard let link, link.generation == generation else { return }
        letGo(generation)
    }

    /// Forgets a connection: what was under way goes back to its place, and nothing of it is heard again.
    func letGo(_ generation: UInt64) {
        guard let link, link.generation == generation else { return }
        self.link = nil
        restoration?.cancel()
        restoration = nil
        for watcher in link.watchers { watcher.cancel() }
        if machine.status.state == .disconnected { releaseSession(link) } else { link.connection.closeNow() }
        for follower in followers.values { follower.pause() }
        let flying = outbox.messages.filter { outbox.state(of: $0.id) == .sending }.map(\.id)
        outbox.connectionLost()
        for id in flying { publishBoard.post(PublishNews(id: id, state: .queued), keepsCurrent: false) }
        heldTopics = [:]
        outboxWaits(over: false)
    }

    func probe(_ generation: UInt64) {
        guard let link, link.generation == generation, probed != generation else { return }
        probed = generation
        let pongTimeout = configuration.pongTimeout
        Task { [weak self] in
            do throws(NATSError) {
                let duration = try await link.connection.ping(timeout: min(.seconds(2), pongTimeout))
                await self?.probeAnswered(generation, duration)
            } catch {
                await self?.probeFailed(generation, error)
            }
        }
    }

    private func probeAnswered(_ generation: UInt64, _ duration: Duration) {
        if probed == generation { probed = nil }
        handle(.roundTrip(generation: generation, duration))
    }

    private func probeFailed(_ generation: UInt64, _ error: NATSError) {
        if probed == generation { probed = nil }
        lost(generation, ConnectionReason(.staleConnection))
    }
}
