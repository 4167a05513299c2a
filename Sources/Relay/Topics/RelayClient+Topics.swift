import NATS
import NIOCore

/// An event of a topic's subscription.
public enum TopicEvent: Hashable, Sendable {
    /// A message, in the stream's order, each once.
    case message(TopicMessage)
    /// A message that cannot be decoded; others follow.
    case unreadable(sequence: UInt64, topic: String, bytes: Int)
    /// The stream has lost this many messages that were missed; an upper bound for a subscription to a part of the
    /// stream.
    case gap(lost: UInt64)
    /// Everything stored so far has been delivered; what follows is new. Once per connection, and again after an
    /// interruption.
    case live
    /// The stream was deleted and recreated, and what follows is from its beginning; or it lost its newest messages,
    /// and what follows has their sequences. Messages received before are obsolete.
    case restarted
    /// The subscription is interrupted, and retried until it is restored. `passes` says that this should end without
    /// help; otherwise someone has to change something, such as grant a permission.
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
    ///   - topic: A topic; `*` matches one token, a final `>` one or more.
    ///   - start: Where to begin.
    ///   - withPayload: Whether each message has its entire payload in ``TopicMessage/payload``. A MessagePack map or a
    ///     JSON object that is no message of this network is then delivered as a message instead of as unreadable: the
    ///     map itself is its ``TopicMessage/message``.
    ///   - onScreenOnly: Whether the subscription is for a view and ends while that is off the screen
    ///     (``Subscription/setOnScreen(_:)``). It starts on the screen.
    /// - Throws: ``RelayError/invalidTopic(_:)``.
    public func messages(
        topic: String, from start: SubscriptionStart = .new, withPayload: Bool = false, onScreenOnly: Bool = false
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start, withPayload: withPayload, onScreenOnly: onScreenOnly).events
    }

    /// Like ``messages(topic:from:withPayload:onScreenOnly:)``, but puts the events into a queue of the caller's, under
    /// the topic's name.
    ///
    /// - Returns: The subscription, to retain and to tell about its view. Its iterators get nothing.
    package func messages(
        topic: String, from start: SubscriptionStart, onScreenOnly: Bool, into queue: some EventReceiver<TopicEvent>
    ) throws(RelayError) -> TopicEvents {
        try subscribe(topic: topic, from: start, onScreenOnly: onScreenOnly, into: queue).events
    }

    /// Subscribes. `opened` is fulfilled once the server has the subscription; nil while not connected.
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

    /// Recognises the user's own messages.
    var ownMessages: OwnMessages {
        // Called for each message, so it uses the settings directly instead of retaining the client each time.
        OwnMessages(user: { [settings] in settings.withLockedValue { $0.configuration.user } }, publisher: publisher)
    }

    static func pattern(_ text: String) throws(RelayError) -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw .invalidTopic("\(error)") }
    }
}
