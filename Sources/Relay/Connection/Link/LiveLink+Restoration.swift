import NATS
import NIOCore
import Platform

// From the login to a fully restored connection.
extension LiveLink {
    /// Gives messages in flight time to be stored before this side closes the connection.
    func settle(_ publisher: Publisher, within limit: Duration) async {
        await publisher.waitUntilEmpty(limit)
        if publisher.count == 0 { try? await connection?.flush(timeout: .milliseconds(500)) }
    }

    /// Restores the subscriptions, then flushes the outbox, and only then counts the connection as restored.
    ///
    /// - Parameter known: The names to use while the network's service does not answer.
    func restore(_ configuration: RelayConfiguration, known: RelayConfiguration.Namespace?, _ publisher: Publisher) {
        guard let connection else { return }
        // Readers use it to recognise the user's own messages before the outbox opens.
        publisher.hashIdentifiers(with: configuration.credentials.messageKey)
        start { link in
            do throws(NATSError) {
                guard let namespace = try await link.namespace(configuration, known: known, connection) else { return }
                link.speak(as: namespace)
                if let claim = await link.inOwner({ $0.login.claim }) ?? nil, let user = configuration.user {
                    guard try await link.take(claim, of: user) else { return }
                }
                guard
                    let openings = await link.inOwner({ $0.subscriptions.handle(.opened(namespace), for: $0) })
                else { return }
                for opening in openings { await opening.value() }
                guard connection.isOpen else { return }
                guard await link.inOwner({ $0.openOutbox(over: link, namespace) }) != nil,
                    await publisher.flushed()
                else { return }
                // The first round trip for the status bar, without waiting for the ping interval.
                let roundTrip = try await connection.ping()
                await link.inOwner { $0.connection.restored(roundTrip, over: link, for: $0) }
            } catch {
                await link.lost(ConnectionReason(error))
            }
        }
    }

    /// The current names of the network's topics.
    func namespaceNow(instead known: RelayConfiguration.Namespace) async -> RelayConfiguration.Namespace {
        guard known.streamCreated != nil, let connection,
            let configuration = await inOwner({ $0.configuration }), let question = Self.question(configuration)
        else { return known }
        return ((try? await ask(question, connection, timeout: .seconds(2))) ?? nil) ?? known
    }

    private struct NamespaceReply: Decodable {
        struct Names: Decodable {
            var namespace: String
            var hash: String
            var api: String?
            var topics: [String]?
            var rights: AccessRights?
            var created: UInt64?
            var batches: Bool?
        }
        var status: String
        var data: Names?
        /// Why there are none: a signed control message.
        var refusal: String?
        /// Whether the service is too busy to answer now.
        var busy: Bool?
    }

    /// Asks the network for the names of its topics (RelayX's service), or uses the configured ones.
    ///
    /// - Returns: Nil if the network rejects this user; the session has then ended with the given reason.
    private func namespace(
        _ configuration: RelayConfiguration, known: RelayConfiguration.Namespace?, _ connection: NATSConnection
    ) async throws(NATSError) -> RelayConfiguration.Namespace? {
        let question = Self.question(configuration)
        if let namespace = configuration.namespace {
            if let question { keepAsking(question, connection) }
            return namespace
        }
        guard let question else { throw .invalidArgument("The namespace is not known: name it in the configuration.") }
        let clock = surroundings.clock
        let deadline = clock.now + .seconds(5)
        while true {
            do throws(NATSError) {
                return try await ask(question, connection, timeout: known == nil ? .seconds(5) : .seconds(2))
            } catch .timeout(let operation) {
                // Servers before 2.10 do not report missing responders across an import.
                guard let known else { throw .timeout(operation) }
                keepAsking(question, connection, after: .seconds(1))
                return known
            } catch .noResponders(let subject) {
                if let known {
                    keepAsking(question, connection, after: .seconds(1))
                    return known
                }
                // The service of a network that has just started answers a moment later than its server.
                guard clock.now < deadline else { throw .noResponders(subject: subject) }
                do { try await clock.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
            }
        }
    }

    /// The question for the network's service; nil without a token.
    private static func question(_ configuration: RelayConfiguration) -> Data? {
        configuration.credentials.token.flatMap { try? JSONEncoder().encode(["api_key": $0]) }
    }

    /// Keeps asking the network's service in the background, less and less often, until it answers: the account may be
    /// closed, and only this service reports it.
    private func keepAsking(_ question: Data, _ connection: NATSConnection, after pause: Duration = .zero) {
        start { link in
            var pause = pause
            while connection.isOpen {
                do { try await link.surroundings.clock.sleep(for: pause) } catch { return }
                do throws(NATSError) {
                    _ = try await link.ask(question, connection, timeout: .seconds(5))
                    return
                } catch {
                    pause = min(max(.seconds(1), pause * 2), .seconds(300))
                }
            }
        }
    }

    /// Asks the network's service.
    ///
    /// - Returns: Nil if it rejects this user; the session has then ended with the given reason.
    private func ask(
        _ question: Data, _ connection: NATSConnection, timeout: Duration
    ) async throws(NATSError) -> RelayConfiguration.Namespace? {
        let reply = try await connection.request(
            ByteBuffer(bytes: question), to: NetworkNames.namespace, timeout: timeout)
        let answer = try? JSONDecoder().decode(NamespaceReply.self, from: Data(reply.bytes))
        if let names = answer?.data, answer?.status == "NAMESPACE_RETRIEVE_SUCCESS" {
            return RelayConfiguration.Namespace(
                name: names.namespace, hash: names.hash, apiPrefix: names.api ?? JetStream.standardPrefix,
                topics: names.topics, rights: names.rights, streamCreated: names.created,
                readsBatches: names.batches ?? false)
        }
        if let refusal = answer?.refusal, await inOwner({ $0.login.heardRefusal(refusal, for: $0) }) != false {
            return nil
        }
        if answer?.busy == true { throw .noResponders(subject: NetworkNames.namespace) }
        throw .protocolViolation("the namespace service refused this user")
    }
}
