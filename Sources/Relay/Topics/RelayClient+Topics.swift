import NATS
import NIOCore

/// What a topic's subscription reports.
public enum TopicEvent: Hashable, Sendable {
    /// A message, in the stream's order, each once.
    case message(TopicMessage)
    /// A message that cannot be read; the stream goes on.
    case unreadable(sequence: UInt64, topic: String, bytes: Int)
    /// The stream no longer holds this many messages that were missed; an upper bound where the subscription takes a
    /// part of the stream.
    case gap(lost: UInt64)
    /// Everything stored so far has been delivered; what follows is new. Comes once on every connection, and again when
    /// the subscription was interrupted.
    case live
    /// The stream was deleted and made again; what follows is from its beginning.
    case restarted
    /// Nothing is followed for now, and it is tried again until it is; `passes` says that this is expected to pass by
    /// itself; otherwise a person has to change something, for example grant a permission.
    case interrupted(RelayError, passes: Bool)
}

extension RelayConfiguration.Namespace {
    /// The messages of a topic or pattern.
    func source(of pattern: TopicPattern, _ jetStream: JetStream) -> StreamSource {
        StreamSource(
            name: stream, filter: pattern.subject(under: hash), jetStream: jetStream, madeAt: streamCreated,
            mayAsk: topics?.contains(">") ?? true)
    }
}

extension RelayClient {
    /// Subscribes to a topic or pattern, connected or not.
    ///
    /// - Parameters:
    ///   - topic: a topic; `*` matches one token, `>` at the end one or more.
    ///   - start: where to begin.
    ///   - withPayload: whether each message has all that was stored in ``TopicMessage/payload``. A MessagePack map or a
    ///     JSON object that is no message of this network's then comes as one, instead of as unreadable: the map itself is
    ///     its ``TopicMessage/message``.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    public func messages(
        topic: String, from start: SubscriptionStart = .new, withPayload: Bool = false
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start, withPayload: withPayload).events
    }

    /// Subscribes, and says when the server knows of it; nil while not connected.
    func subscribe(
        topic: String, from start: SubscriptionStart, withPayload: Bool = false
    ) throws(RelayError) -> (events: TopicEvents, opened: Completion<Void>?) {
        let pattern = try Self.pattern(topic)
        let stream = StreamSubscription(
            from: start, keeping: keeping(pattern),
            SubscriptionWords<TopicEvent>(
                message: { message, _, isRecovered in
                    TopicEvent.reading(message, isRecovered: isRecovered, withPayload: withPayload)
                },
                live: .live, lost: { .gap(lost: $0) }, restarted: .restarted,
                interrupted: { .interrupted($0, passes: $1) }))
        return follow(stream, as: pattern.text) { namespace, jetStream in namespace.source(of: pattern, jetStream) }
    }

    /// Messages of a topic within a time range, oldest first, in parts of 64 MiB at most. While not connected it is what
    /// the local store has, and nothing where the store is no file, as RelayX's call has it.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - start: the earliest time, by the server's clock; not in the future, not after `end`.
    ///   - end: the latest time; nil for now.
    ///   - limit: most messages, 1 to 10,000.
    ///   - sequence: what an earlier part said; nil for the first part.
    ///   - withPayload: as for ``messages(topic:from:withPayload:)``.
    /// - Returns: the messages, of those that have more than 64 MiB together only the first, and one in any case;
    ///   ``TopicHistory/next`` is what to ask for the others with.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, and what
    ///   the network refuses.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000, after sequence: UInt64? = nil,
        withPayload: Bool = false
    ) async throws(RelayError) -> TopicHistory {
        guard start <= .now else { throw .invalidArgument("The start lies in the future") }
        if let end, end < start { throw .invalidArgument("The start lies after the end") }
        let pattern = try Self.checked(topic, limit)
        guard let reader = history(of: pattern, limit) else {
            return try await keptHistory(
                of: pattern, from: start, through: end, after: sequence, limit: limit, withPayload: withPayload)
        }
        let part = try await reader.messages(from: start, through: end, after: sequence, withPayload: withPayload)
        return TopicHistory(messages: part.messages, next: part.next)
    }

    /// The messages of a topic before a place in the stream, oldest first.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - sequence: the place; nil for the stream's end.
    ///   - limit: most messages, 1 to 10,000.
    ///   - bytes: most bytes of all of them together.
    /// - Returns: the messages, and whether the stream holds none before them. Fewer than `limit` come, the newest ones,
    ///   where all have more than `bytes`, and one in any case.
    public func history(
        topic: String, before sequence: UInt64?, limit: Int, bytes: Int = 64 << 20
    ) async throws(RelayError) -> (messages: [TopicMessage], isComplete: Bool) {
        let pattern = try Self.checked(topic, limit)
        guard let reader = history(of: pattern, limit) else { throw .notConnected }
        return try await reader.messages(before: sequence, bytes: max(1, bytes))
    }

    /// What reads a topic's past over the present connection; nil while there is none.
    private func history(of pattern: TopicPattern, _ limit: Int) -> History? {
        guard let jetStream = link?.jetStream, let namespace else { return nil }
        return History(source: namespace.source(of: pattern, jetStream), limit: limit)
    }

    private static func checked(_ topic: String, _ limit: Int) throws(RelayError) -> TopicPattern {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
        return try pattern(topic)
    }

    static func pattern(_ text: String) throws(RelayError) -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw .invalidTopic("\(error)") }
    }
}
