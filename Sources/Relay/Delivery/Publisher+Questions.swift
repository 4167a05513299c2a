import NATS
import NIOCore
import Platform

// What the network is asked about messages on their way.
extension Publisher {
    /// The state of a letter's postbox; nil if nobody answers.
    static func recipient(
        _ user: String, _ postbox: String, _ route: Route, isRefused: Bool, _ clock: any Timekeeper
    ) async -> RecipientReply.State? {
        let answer = try? await route.jetStream.connection.request(
            ByteBuffer(), to: NetworkNames.recipient(user, postbox), timeout: .seconds(5))
        let reply = answer.flatMap { try? JSONDecoder().decode(RecipientReply.self, from: Data($0.bytes)) }
        // The services that answer could not find it out now, as while streams are without a leader: the letter's own
        // stream is without one too, and the letter is sent again.
        if let reply, reply.state == nil { return .accepting }
        // The letter may have been stored a moment before the postbox was closed.
        if !isRefused, let state = reply?.state, state != .accepting { try? await clock.sleep(for: .milliseconds(250)) }
        return reply?.state
    }

    static func isStreamMissing(_ topic: String, _ route: Route) async -> Bool {
        guard let pattern = try? TopicPattern(topic) else { return false }
        do throws(NATSError) {
            _ = try await route.namespace.source(of: pattern, route.jetStream).extent()
            return false
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
    static func find(_ late: Outbox.LateMessage, _ topic: String, _ route: Route) async -> Delivery.Finding {
        guard let pattern = try? TopicPattern(topic) else { return .unknown }
        let source = route.namespace.source(of: pattern, route.jetStream)
        let header = route.header(of: late.message)
        do throws(NATSError) {
            let extent = try await source.extent()
            // What the stream has lost since is nowhere.
            let newestBefore = late.newestBefore.flatMap { $0 <= extent.last ? max($0, max(1, extent.first) - 1) : nil }
            var part: StoredIdentifiers.Part
            if let known = route.identifiers.part(of: topic, behind: newestBefore) {
                part = known
            } else {
                part = try await begin(behind: newestBefore, source, extent)
            }
            defer { route.identifiers.keep(part, of: topic) }
            if let sequence = part.place(of: header) { return await found(late.message, sequence, source, route) }
            var seen = 0
            while part.next <= extent.last {
                let page = try await route.jetStream.heads(
                    of: source.name, filter: source.filter, from: .sequence(part.next), limit: searchPage)
                part.add(page.messages)
                if let sequence = part.place(of: header) { return await found(late.message, sequence, source, route) }
                guard page.pending > 0 else {
                    part.reach(extent.last)
                    break
                }
                // A replica that is behind tells nothing yet.
                guard !page.messages.isEmpty else { return .failed }
                seen += page.messages.count
                guard seen < 2 * searchLimit else { return .unknown }
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
    private static func found(
        _ message: OutboxMessage, _ sequence: UInt64, _ source: StreamSource, _ route: Route
    ) async -> Delivery.Finding {
        await isTaken(message, by: sequence, in: source.name, route) ? .absent : .stored(sequence: sequence)
    }

    /// Whether another message is stored where the server names this one. A hashed identifier is nobody else's; without
    /// a key to hash it with, what is there is read, as far as that is permitted, and compared.
    static func isTaken(_ message: OutboxMessage, by sequence: UInt64, in stream: String, _ route: Route) async -> Bool
    {
        guard route.messageKey == nil, message.isOnTopic,
            let stored = try? await route.jetStream.message(in: stream, sequence: sequence)
        else { return false }
        if stored.subject != route.subject(of: message.destination) { return true }
        func read(_ payload: [UInt8]) -> TopicMessage? {
            try? payload.withRawBytes { bytes throws(EnvelopeError) in
                try TopicMessage(
                    decoding: bytes, topic: "", sequence: sequence, time: Timestamp(milliseconds: 0), isRecovered: false
                )
            }
        }
        // The times, and the client's name where there is no line, are others with each run of a program.
        func same(_ message: TopicMessage?) -> [String?] {
            [message?.id, message?.text, message.flatMap { ChatLine.words(in: $0.message)?.username }]
        }
        return same(read(Array(stored.payload.readableBytesView))) != same(read(message.payload))
    }

    /// Where to begin to look: behind a sequence, or with the newest that are gone through.
    private static func begin(
        behind sequence: UInt64?, _ source: StreamSource, _ extent: StreamExtent
    ) async throws(NATSError) -> StoredIdentifiers.Part {
        if let sequence {
            return StoredIdentifiers.Part(from: sequence + 1, isFarBack: false, isWhole: sequence < extent.first)
        }
        let first = try await source.sequence(before: extent.last + 1, newest: searchLimit, in: extent)
        return StoredIdentifiers.Part(from: first, isFarBack: true, isWhole: first <= max(1, extent.first))
    }

    /// Finds out what a key has before a message sets it.
    static func look(at key: String, before late: Outbox.LateMessage, _ route: Route) async -> KeyFinding {
        let header = route.header(of: late.message)
        let name = NetworkNames.stream(ofBucket: route.namespace.name)
        do throws(NATSError) {
            let newest = try await route.jetStream.lastMessageDirect(
                in: name, subject: NetworkNames.key(key, in: route.namespace.name))
            return KeyFinding(
                before: late, revision: newest?.sequence ?? 0, isThis: newest?.headers["Nats-Msg-Id"] == header)
        } catch .noResponders {
            // There is no store, or it is without a leader for a moment, or it is read in another way alone.
            return await whyUntold(key, route) ?? KeyFinding(unreadableBefore: late)
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
    private static func whyUntold(_ key: String, _ route: Route) async -> KeyFinding? {
        var source = KeyValueStore.source(of: key, route.namespace, route.jetStream)
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
