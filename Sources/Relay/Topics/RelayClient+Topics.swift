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
    /// itself, where otherwise somebody has to change something: grant a permission, say.
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
    ///   - topic: a topic; `*` stands for one token, `>` at the end for one or more.
    ///   - start: where to begin.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    public func messages(
        topic: String, from start: SubscriptionStart = .new
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start).events
    }

    /// Subscribes, and says when the server knows of it; nil while not connected.
    func subscribe(
        topic: String, from start: SubscriptionStart
    ) throws(RelayError) -> (events: TopicEvents, opened: Completion<Void>?) {
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(topic) } catch { throw .invalidTopic("\(error)") }
        let stream = StreamSubscription(
            from: start,
            SubscriptionWords<TopicEvent>(
                message: { message, _, isRecovered in Self.topicEvent(message, isRecovered: isRecovered) },
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
    /// - Returns: the messages; only the first of them where all have more than 64 MiB, and one in any case.
    ///   ``history(topic:start:end:limit:after:)`` tells of the others.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000
    ) async throws(RelayError) -> [TopicMessage] {
        try await history(topic: topic, start: start, end: end, limit: limit, after: nil).messages
    }

    /// Messages of a topic within a time range, oldest first, in parts of 64 MiB at most.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - start: the earliest time, by the server's clock; not in the future, not after `end`.
    ///   - end: the latest time; nil for now.
    ///   - limit: most messages, 1 to 10,000.
    ///   - sequence: what an earlier part said; nil for the first part.
    /// - Returns: the messages, and what to ask for the next part with; nil when nothing was left out but what `limit`
    ///   left out.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000, after sequence: UInt64?
    ) async throws(RelayError) -> (messages: [TopicMessage], next: UInt64?) {
        guard start <= .now else { throw .invalidArgument("The start lies in the future") }
        if let end, end < start { throw .invalidArgument("The start lies after the end") }
        let source = try readContext(topic, limit)
        let from = ServerTime(nanoseconds: max(0, start.milliseconds) * 1_000_000)
        let position = sequence.map { StartPosition.sequence(min($0, UInt64.max - 1) + 1) } ?? .time(from)
        let page = try await readPage(source, from: position, limit: limit)
        func isInTime(_ time: Timestamp) -> Bool { end.map { time <= $0 } ?? true }
        var next: UInt64?
        if let last = page.messages.last, page.messages.count < limit, page.pending > 0,
            isInTime(Timestamp(milliseconds: last.time.milliseconds))
        {
            next = last.sequence
        }
        return (page.messages.compactMap(Self.readable).filter { isInTime($0.time) }, next)
    }

    /// The messages of a topic before a place in the stream, oldest first.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - sequence: the place; nil for the stream's end.
    ///   - limit: most messages, 1 to 10,000.
    /// - Returns: the messages, and whether the stream holds none before them. Fewer than `limit` come, the newest ones,
    ///   where all have more than 64 MiB, and one in any case.
    public func history(
        topic: String, before sequence: UInt64?, limit: Int
    ) async throws(RelayError) -> (messages: [TopicMessage], isComplete: Bool) {
        let source = try readContext(topic, limit)
        do throws(NATSError) {
            let extent = try await source.extent()
            let newest = min(extent.last, sequence.map { max(1, $0) - 1 } ?? .max)
            let start = try await source.sequence(before: newest + 1, newest: limit, in: extent)
            guard start <= newest else { return ([], true) }
            let found = try await source.newest(limit, from: start, through: newest)
            let isComplete = start <= max(1, extent.first) && found.isWhole
            return (found.messages.compactMap(Self.readable), isComplete)
        } catch { throw RelayError(error, during: "reading the history") }
    }

    private func readContext(_ topic: String, _ limit: Int) throws(RelayError) -> StreamSource {
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(topic) } catch { throw .invalidTopic("\(error)") }
        guard let jetStream = link?.jetStream, let namespace else { throw .notConnected }
        return namespace.source(of: pattern, jetStream)
    }

    private func readPage(
        _ source: StreamSource, from start: StartPosition, limit: Int
    ) async throws(RelayError) -> (messages: [StoredMessage], pending: UInt64) {
        do throws(NATSError) {
            return try await source.jetStream.page(of: source.name, filter: source.filter, from: start, limit: limit)
        } catch { throw RelayError(error, during: "reading the history") }
    }

    // MARK: Decoding

    static func readable(_ message: StoredMessage) -> TopicMessage? {
        guard case .message(let read) = topicEvent(message, isRecovered: false).0 else { return nil }
        return read
    }

    static func topicEvent(_ message: StoredMessage, isRecovered: Bool) -> (TopicEvent, id: String?) {
        let topic =
            message.subject.firstIndex(of: ".").map { String(message.subject[message.subject.index(after: $0)...]) }
            ?? message.subject
        let time = Timestamp(milliseconds: message.time.milliseconds)
        do throws(EnvelopeError) {
            let envelope = try Envelope(
                decoding: message.payload.readableBytesView, fallbackID: "sequence-\(message.sequence)",
                fallbackRoom: topic, fallbackStart: time)
            let read = TopicMessage(
                envelope, topic: topic, sequence: message.sequence, time: time, isRecovered: isRecovered)
            return (.message(read), envelope.id)
        } catch {
            return (
                .unreadable(sequence: message.sequence, topic: topic, bytes: message.payload.readableBytes), nil
            )
        }
    }
}
