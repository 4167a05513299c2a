import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform

extension Publisher {
    /// The route of messages over one connection.
    final class Route: Sendable {
        let jetStream: JetStream
        let namespace: RelayConfiguration.Namespace
        /// The key for hashing identifiers; nil if they are sent as they are.
        let messageKey: MessageKey?
        let number: UInt64
        /// The identifiers seen while looking for messages.
        let identifiers = StoredIdentifiers()
        /// The newest message's destination and its subject: the next message mostly has the same.
        private let newest = NIOLockedValueBox<(destination: Destination, subject: String)?>(nil)

        init(
            _ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace, _ messageKey: MessageKey?, number: UInt64
        ) {
            (self.jetStream, self.namespace, self.messageKey) = (jetStream, namespace, messageKey)
            self.number = number
        }

        /// The subject for a message to a destination, cached for the next one.
        func subject(sendingTo destination: Destination) -> String {
            newest.withLockedValue { newest in
                if let newest, newest.destination == destination { return newest.subject }
                let subject = subject(of: destination)
                newest = (destination, subject)
                return subject
            }
        }

        func subject(of destination: Destination) -> String {
            switch destination {
            case .topic(let topic): "\(namespace.hash).\(topic)"
            case .postbox(let user, let postbox): NetworkNames.letters(to: user, postbox)
            case .key(let key): NetworkNames.key(key, in: namespace.name)
            }
        }

        /// The `Nats-Msg-Id` of a message: the same on every retry, from any device of the user.
        func header(of message: OutboxMessage, on subject: String? = nil) -> String {
            messageKey?.hash(of: message.id, on: subject ?? self.subject(of: message.destination)) ?? message.id
        }
    }
}

// Questions to the network about messages on their way.
extension Publisher.Route {
    /// The state of a letter's postbox; nil if there is no answer.
    func recipient(
        _ user: String, _ postbox: String, isRefused: Bool, _ clock: DeliveryClock
    ) async -> RecipientReply.State? {
        let answer = try? await jetStream.connection.request(
            ByteBuffer(), to: NetworkNames.recipient(user, postbox), timeout: .seconds(5))
        let reply = answer.flatMap { try? JSONDecoder().decode(RecipientReply.self, from: Data($0.bytes)) }
        // The services could not find it out now, or a cluster lost them with one of its servers. The letter's stream
        // has no leader either while the cluster recovers, so the letter is sent again.
        let mayPass = reply == nil ? isRefused && jetStream.connection.info.cluster != nil : reply?.state == nil
        if mayPass { return .accepting }
        // The letter may have been stored just before the postbox was closed.
        if !isRefused, let state = reply?.state, state != .accepting { await clock.pause(.milliseconds(250)) }
        return reply?.state
    }

    /// Whether nothing stores messages of a topic: its stream does not exist, or stores only other topics.
    func isStreamMissing(_ topic: String) async -> Bool {
        guard let pattern = try? TopicPattern(topic) else { return false }
        let source = namespace.source(of: pattern, jetStream)
        do throws(NATSError) {
            guard source.mayAsk else {
                _ = try await source.extent()
                return false
            }
            let subject = subject(of: .topic(topic))
            let stored = try await jetStream.streamInfo(source.name).configuration.subjects ?? []
            return !stored.contains { SubjectPattern.covers($0, subject) }
        } catch .jetStream(let failure) {
            return failure.errorCode == JetStreamFailure.streamNotFound
        } catch {
            return false
        }
    }

    /// How many of a topic's messages are searched for one.
    private static let searchLimit = 20_000
    private static let searchPage = 2_000

    /// Looks for a message wherever it may have been stored.
    func find(_ late: Delivery.LateMessage, on topic: String) async -> Delivery.Finding {
        guard let pattern = try? TopicPattern(topic) else { return .unknown }
        let source = namespace.source(of: pattern, jetStream)
        let header = header(of: late.message)
        do throws(NATSError) {
            let extent = try await source.extent()
            // Messages that the stream has removed since are not searched.
            let newestBefore = late.newestBefore.flatMap { $0 <= extent.last ? max($0, max(1, extent.first) - 1) : nil }
            var part: StoredIdentifiers.Part
            if let known = identifiers.part(of: topic, behind: newestBefore) {
                part = known
            } else {
                part = try await begin(behind: newestBefore, source, extent)
            }
            defer { identifiers.keep(part, of: topic) }
            if let sequence = part.place(of: header) { return await found(late.message, sequence, source) }
            var seen = 0
            while part.next <= extent.last {
                let page = try await jetStream.heads(
                    of: source.name, filter: source.filter, from: .sequence(part.next), limit: Self.searchPage)
                part.add(page.messages)
                if let sequence = part.place(of: header) { return await found(late.message, sequence, source) }
                guard page.pending > 0 else {
                    part.reach(extent.last)
                    break
                }
                // A replica that lags behind proves nothing yet.
                guard !page.messages.isEmpty else { return .failed }
                seen += page.messages.count
                guard seen < 2 * Self.searchLimit else { return .unknown }
            }
            return newestBefore != nil || part.isWhole ? .absent : .unknown
        } catch {
            if case .publishNotPermitted = error { return .unknown }
            if case .jetStream(let failure) = error, !failure.isRetryable { return .unknown }
            return .failed
        }
    }

    /// The finding for a message stored with the same header, which may be another user's if identifiers are not
    /// hashed.
    private func found(_ message: OutboxMessage, _ sequence: UInt64, _ source: StreamSource) async -> Delivery.Finding {
        await isTaken(message, by: sequence, in: source.name) ? .absent : .stored(sequence: sequence)
    }

    /// Whether the stored message with this message's header is a different one. A hashed identifier is unique to its
    /// user; without a key, the stored message is read, if permitted, and compared.
    func isTaken(_ message: OutboxMessage, by sequence: UInt64, in stream: String) async -> Bool {
        guard messageKey == nil, message.isOnTopic,
            let stored = try? await jetStream.message(in: stream, sequence: sequence)
        else { return false }
        if stored.subject != subject(of: message.destination) { return true }
        // The times, and the client's name outside of lines, differ in each run of a program.
        func identity(_ payload: [UInt8]) -> [String?] {
            let envelope = try? Envelope(
                decoding: payload, fallbackID: "", fallbackRoom: "", fallbackStart: Timestamp(milliseconds: 0))
            let content = envelope.map { MessageContent($0.message) }
            return [envelope?.id, content?.text, content?.sender]
        }
        return identity(Array(stored.payload.readableBytesView)) != identity(message.payload)
    }

    /// Where to start the search: after a sequence, or at the newest messages within the limit.
    private func begin(
        behind sequence: UInt64?, _ source: StreamSource, _ extent: StreamExtent
    ) async throws(NATSError) -> StoredIdentifiers.Part {
        if let sequence {
            return StoredIdentifiers.Part(from: sequence + 1, isFarBack: false, isWhole: sequence < extent.first)
        }
        let first = try await source.sequence(before: extent.last + 1, newest: Self.searchLimit, in: extent)
        return StoredIdentifiers.Part(from: first, isFarBack: true, isWhole: first <= max(1, extent.first))
    }

    /// Looks up a key before a message sets it.
    func look(at key: String, before late: Delivery.LateMessage) async -> KeyFinding {
        let header = header(of: late.message)
        let name = NetworkNames.stream(ofBucket: namespace.name)
        do throws(NATSError) {
            let newest = try await jetStream.lastMessageDirect(
                in: name, subject: NetworkNames.key(key, in: namespace.name))
            return KeyFinding(
                before: late, revision: newest?.sequence ?? 0, isThis: newest?.headers["Nats-Msg-Id"] == header)
        } catch .noResponders {
            // There is no store, or it has no leader for a moment, or it cannot be read this way.
            return await whyUntold(key) ?? KeyFinding(unreadableBefore: late)
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
            return .noStore
        } catch {
            if case .publishNotPermitted = error { return KeyFinding(unreadableBefore: late) }
            if case .jetStream(let failure) = error, !failure.isRetryable {
                return KeyFinding(unreadableBefore: late)
            }
            return .failed
        }
    }

    /// Why no server answers for a key; nil if the store exists.
    private func whyUntold(_ key: String) async -> KeyFinding? {
        var source = KeyValueStore.source(of: key, namespace, jetStream)
        // Users may not ask about the entire store, since the answer could name all keys.
        source.mayAsk = false
        do throws(NATSError) {
            _ = try await source.extent()
            return nil
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.streamNotFound {
            return .noStore
        } catch {
            return .failed
        }
    }
}
