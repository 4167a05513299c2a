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
    /// The stream was deleted and made again, and what follows is from its beginning; or it lost its newest messages,
    /// and what follows has their sequences. What was received of it before is over.
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
    ///   - withPayload: whether each message has all that was stored in ``TopicMessage/payload``. A MessagePack map or
    ///     a JSON object that is no message of this network's then comes as one, instead of as unreadable: the map
    ///     itself is its ``TopicMessage/message``.
    ///   - onScreenOnly: whether the subscription is for a view, and is let go while that is off the screen:
    ///     ``Subscription/setOnScreen(_:)`` tells it. It begins on the screen.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    public func messages(
        topic: String, from start: SubscriptionStart = .new, withPayload: Bool = false, onScreenOnly: Bool = false
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start, withPayload: withPayload, onScreenOnly: onScreenOnly).events
    }

    /// Subscribes as ``messages(topic:from:withPayload:onScreenOnly:)`` does, for a queue of the caller's own, which
    /// takes the events as they come, by the topic's name.
    ///
    /// - Returns: the subscription, to be kept and to be told of its view. Its iterators get nothing.
    package func messages(
        topic: String, from start: SubscriptionStart, onScreenOnly: Bool, into queue: some EventReceiver<TopicEvent>
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start, onScreenOnly: onScreenOnly, into: queue).events
    }

    /// Subscribes, and says when the server knows of it; nil while not connected.
    func subscribe(
        topic: String, from start: SubscriptionStart, withPayload: Bool = false, onScreenOnly: Bool = false,
        into queue: (any EventReceiver<TopicEvent>)? = nil
    ) throws(RelayError) -> (events: TopicEvents, opened: Completion<Void>?) {
        let pattern = try Self.pattern(topic)
        let own = ownMessages
        let stream = StreamSubscription(
            pattern.text, from: start, keeping: keeping(pattern), into: queue.map { ($0, topic) },
            SubscriptionWords<TopicEvent>(
                operation: "reading \(pattern.text)",
                message: { message, payload, _, isRecovered in
                    TopicEvent.reading(message, payload, isRecovered: isRecovered, withPayload: withPayload, own: own)
                },
                heldBytes: { if case .message(let message) = $0 { message.heldBytes } else { 0 } },
                live: .live, lost: { .gap(lost: $0) }, restarted: .restarted,
                interrupted: { .interrupted($0, passes: $1) }, rewound: .restarted),
            source: { namespace, jetStream in namespace.source(of: pattern, jetStream) })
        return follow(stream, onScreenOnly: onScreenOnly)
    }

    /// What recognises the user's own messages.
    var ownMessages: OwnMessages {
        // Asked for each message: the settings are at hand, while hold of the client would have to be taken each time.
        OwnMessages(user: { [settings] in settings.withLockedValue { $0.configuration.user } }, publisher: publisher)
    }

    static func pattern(_ text: String) throws(RelayError) -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw .invalidTopic("\(error)") }
    }
}
