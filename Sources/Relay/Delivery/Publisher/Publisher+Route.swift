import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform

extension Publisher {
    /// The way that messages take on one connection.
    final class Route: Sendable {
        let jetStream: JetStream
        let namespace: RelayConfiguration.Namespace
        /// What identifiers are hashed with; nil where they are sent as they are.
        let messageKey: MessageKey?
        /// Counts the connections.
        let number: UInt64
        /// What looking for messages has come by.
        let identifiers = StoredIdentifiers()
        /// Where the newest message went, and the subject that this is: the next one mostly goes there too.
        private let newest = NIOLockedValueBox<(destination: Destination, subject: String)?>(nil)

        init(
            _ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace, _ messageKey: MessageKey?, number: UInt64
        ) {
            (self.jetStream, self.namespace, self.messageKey) = (jetStream, namespace, messageKey)
            self.number = number
        }

        /// The subject of the destination of a message that is sent.
        func subject(sendingTo destination: Destination) -> String {
            newest.withLockedValue { newest in
                if let newest, newest.destination == destination { return newest.subject }
                let subject = subject(of: destination)
                newest = (destination, subject)
                return subject
            }
        }

        /// The subject of a destination.
        func subject(of destination: Destination) -> String {
            switch destination {
            case .topic(let topic): "\(namespace.hash).\(topic)"
            case .postbox(let user, let postbox): NetworkNames.letters(to: user, postbox)
            case .key(let key): NetworkNames.key(key, in: namespace.name)
            }
        }

        /// What is sent as a message's `Nats-Msg-Id`: the same on every retry, from any device of the user.
        func header(of message: OutboxMessage, on subject: String? = nil) -> String {
            messageKey?.hash(of: message.id, on: subject ?? self.subject(of: message.destination)) ?? message.id
        }
    }
}

// What the network is asked about messages on their way.
extension Publisher.Route {
    /// The state of a letter's postbox; nil if nobody answers.
    func recipient(
        _ user: String, _ postbox: String, isRefused: Bool, _ clock: DeliveryClock
    ) async -> RecipientReply.State? {
        let answer = try? await jetStream.connection.request(
            ByteBuffer(), to: NetworkNames.recipient(user, postbox), timeout: .seconds(5))
        let reply = answer.flatMap { try? JSONDecoder().decode(RecipientReply.self, from: Data($0.bytes)) }
        // The services could not find it out now, or a cluster lost them with one of its servers: the letter's own
        // stream is without a leader too, for as long as the cluster needs, and the letter is sent again.
        let mayPass = reply == nil ? isRefused && jetStream.connection.info.cluster != nil : reply?.state == nil
        if mayPass { return .accepting }
        // The letter may have been stored a moment before the postbox was closed.
        if !isRefused, let state = reply?.state, state != .accepting { await clock.pause(.milliseconds(250)) }
        return reply?.state
    }

    /// Whether nothing stores what is published to a topic: its stream is not there, or holds other topics alone.
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

    /// How many of a topic's messages are gone through for one.
    private static let searchLimit = 20_000
    private static let searchPage = 2_000

    /// Looks for a message where it can have been stored.
    func find(_ late: Delivery.LateMessage, on topic: String) async -> Delivery.Finding {
        guard let pattern = try? TopicPattern(topic) else { return .unknown }
        let source = namespace.source(of: pattern, jetStream)
        let header = header(of: late.message)
        do throws(NATSError) {
            let extent = try await source.extent()
            // What the stream has lost since is nowhere.
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
                // A replica that is behind tells nothing yet.
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

    /// What a message means that is stored under the header of another one: where nothing keeps others from using that,
    /// it may be theirs.
    private func found(
        _ message: OutboxMessage, _ sequence: UInt64, _ source: StreamSource
    ) async -> Delivery.Finding {
        await isTaken(message, by: sequence, in: source.name) ? .absent : .stored(sequence: sequence)
    }

    /// Whether another message is stored where the server names this one. A hashed identifier is nobody else's; without
    /// a key to hash it with, what is there is read, as far as that is permitted, and compared.
    func isTaken(_ message: OutboxMessage, by sequence: UInt64, in stream: String) async -> Bool {
        guard messageKey == nil, message.isOnTopic,
            let stored = try? await jetStream.message(in: stream, sequence: sequence)
        else { return false }
        if stored.subject != subject(of: message.destination) { return true }
        // The times, and the client's name where there is no line, are others with each run of a program.
        func identity(_ payload: [UInt8]) -> [String?] {
            let envelope = try? Envelope(
                decoding: payload, fallbackID: "", fallbackRoom: "", fallbackStart: Timestamp(milliseconds: 0))
            let content = envelope.map { MessageContent($0.message) }
            return [envelope?.id, content?.text, content?.sender]
        }
        return identity(Array(stored.payload.readableBytesView)) != identity(message.payload)
    }

    /// Where to begin to look: behind a sequence, or with the newest that are gone through.
    private func begin(
        behind sequence: UInt64?, _ source: StreamSource, _ extent: StreamExtent
    ) async throws(NATSError) -> StoredIdentifiers.Part {
        if let sequence {
            return StoredIdentifiers.Part(from: sequence + 1, isFarBack: false, isWhole: sequence < extent.first)
        }
        let first = try await source.sequence(before: extent.last + 1, newest: Self.searchLimit, in: extent)
        return StoredIdentifiers.Part(from: first, isFarBack: true, isWhole: first <= max(1, extent.first))
    }

    /// Finds out what a key has before a message sets it.
    func look(at key: String, before late: Delivery.LateMessage) async -> KeyFinding {
        let header = header(of: late.message)
        let name = NetworkNames.stream(ofBucket: namespace.name)
        do throws(NATSError) {
            let newest = try await jetStream.lastMessageDirect(
                in: name, subject: NetworkNames.key(key, in: namespace.name))
            return KeyFinding(
                before: late, revision: newest?.sequence ?? 0, isThis: newest?.headers["Nats-Msg-Id"] == header)
        } catch .noResponders {
            // There is no store, or it is without a leader for a moment, or it is read in another way alone.
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

    /// Why nobody tells a key; nil where the store is there.
    private func whyUntold(_ key: String) async -> KeyFinding? {
        var source = KeyValueStore.source(of: key, namespace, jetStream)
        // The answer about the whole store could name all keys, so that users may not ask for it.
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
