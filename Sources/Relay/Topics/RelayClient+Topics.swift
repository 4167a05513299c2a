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
            from: start,
            SubscriptionWords<TopicEvent>(
                message: { message, _, isRecovered in
                    TopicEvent.reading(message, isRecovered: isRecovered, withPayload: withPayload)
                },
                live: .live, lost: { .gap(lost: $0) }, restarted: .restarted,
                interrupted: { .interrupted($0, passes: $1) }))
        return follow(stream, as: pattern.text) { namespace, jetStream in namespace.source(of: pattern, jetStream) }
    }

    /// Messages of a topic within a time range, oldest first.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - start: the earliest time, by the server's clock; not in the future, not after `end`.
    ///   - end: the latest time; nil for now.
    ///   - limit: most messages, 1 to 10,000.
    ///   - withPayload: as for ``messages(topic:from:withPayload:)``.
    /// - Returns: the messages; only the first of them where all have more than 64 MiB, and one in any case.
    ///   ``history(topic:start:end:limit:after:withPayload:)`` tells of the others.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000, withPayload: Bool = false
    ) async throws(RelayError) -> [TopicMessage] {
        try await history(topic: topic, start: start, end: end, limit: limit, after: nil, withPayload: withPayload)
            .messages
    }

    /// Messages of a topic within a time range, oldest first, in parts of 64 MiB at most.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - start: the earliest time, by the server's clock; not in the future, not after `end`.
    ///   - end: the latest time; nil for now.
    ///   - limit: most messages, 1 to 10,000.
    ///   - sequence: what an earlier part said; nil for the first part.
    ///   - withPayload: as for ``messages(topic:from:withPayload:)``.
    /// - Returns: the messages, and what to ask for the next part with; nil when nothing was left out but what `limit`
    ///   left out.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000, after sequence: UInt64?,
        withPayload: Bool = false
    ) async throws(RelayError) -> (messages: [TopicMessage], next: UInt64?) {
        guard start <= .now else { throw .invalidArgument("The start lies in the future") }
        if let end, end < start { throw .invalidArgument("The start lies after the end") }
        return try await history(of: topic, limit).messages(
            from: start, through: end, after: sequence, withPayload: withPayload)
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
        try await history(of: topic, limit).messages(before: sequence, bytes: max(1, bytes))
    }

    private func history(of topic: String, _ limit: Int) throws(RelayError) -> History {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
        let pattern = try Self.pattern(topic)
        guard let jetStream = link?.jetStream, let namespace else { throw .notConnected }
        return History(source: namespace.source(of: pattern, jetStream), limit: limit)
    }

    private static func pattern(_ text: String) throws(RelayError) -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw .invalidTopic("\(error)") }
    }
}
