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
        let configuration = configuration
        let turn = nextServer
        nextServer += 1
        if configuration.credentials.isExpired(at: Int64(Date().timeIntervalSince1970)) {
            return handle(.connectionFailed(generation: generation, reason: .tokenExpired))
        }
        dial = Task { [weak self] in
            let result = await Self.connection(configuration, turn: turn)
            // A dial that nobody waits for any more takes its socket with it.
            guard let self else { return Self.discard(result) }
            await self.dialEnded(result, generation: generation)
        }
    }

    private static func discard(_ result: DialResult) {
        if case .success(let connection) = result { connection.closeNow() }
    }

    private static func connection(
        _ configuration: RelayConfiguration, turn: Int
    ) async -> DialResult {
        let addresses: [ServerAddress]
        switch configuration.servers {
        case .fixed(let fixed): addresses = fixed
        case .discovered(let discover):
            do throws(RelayError) { addresses = try await discover() } catch {
                if case .connection(let reason) = error { return .failure(reason) }
                return .failure(.unreachable(error.words))
            }
        }
        guard !addresses.isEmpty else { return .failure(.unreachable("no server is known")) }
        let options = ConnectOptions(
            name: configuration.clientID, authentication: configuration.credentials.authentication,
            tls: configuration.tls, connectTimeout: configuration.dialTimeout,
            pingInterval: configuration.pingInterval)
        do throws(NATSError) {
            return .success(try await NATSConnection.connect(to: addresses[turn % addresses.count], options: options))
        } catch {
            return .failure(ConnectionReason(error))
        }
    }

    private func dialEnded(_ result: DialResult, generation: UInt64) {
        switch result {
        case .failure(let reason): handle(.connectionFailed(generation: generation, reason: reason))
        case .success(let connection):
            guard generation == machine.generation, link == nil, !Task.isCancelled else {
                return connection.closeNow()
            }
            let events = connection.events
            let watcher = Task { [weak self] in
                for await event in events { await self?.heard(event, generation: generation) }
            }
            link = Link(connection: connection, generation: generation, watcher: watcher)
            handle(.dialSucceeded(generation: generation))
        }
    }

    private func heard(_ event: NATSConnectionEvent, generation: UInt64) {
        guard link?.generation == generation else { return }
        switch event {
        case .closed(let error):
            let reason = ConnectionReason(error ?? .closed)
            letGo(generation)
            handle(.connectionFailed(generation: generation, reason: reason))
        case .roundTrip(let duration): handle(.roundTrip(generation: generation, duration))
        case .lameDuck:
            // Its JetStream has stopped already, so nothing is gained by staying.
            letGo(generation)
            handle(.connectionFailed(generation: generation, reason: .connectionLost("the server is shutting down")))
        case .infoChanged, .notice, .slowConsumer: break
        }
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
            guard self.link?.generation == generation else { return }
            letGo(generation)
            handle(.connectionFailed(generation: generation, reason: ConnectionReason(error)))
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
        if let namespace { return namespace }
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
                // A network that has just started answers a moment later than its server.
                guard ContinuousClock.now < deadline else { throw .noResponders(subject: subject) }
                do { try await Task.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
            }
        }
    }

    // MARK: Letting go

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
        link.watcher.cancel()
        link.connection.closeNow()
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
        Task { [weak self] in
            do throws(NATSError) {
                let duration = try await link.connection.ping(timeout: .seconds(2))
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
        guard link?.generation == generation else { return }
        letGo(generation)
        handle(.connectionFailed(generation: generation, reason: ConnectionReason(.staleConnection)))
    }
}
