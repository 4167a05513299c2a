import NATS
import NIOConcurrencyHelpers

/// The events of a subscription, across connections. For one reader.
///
/// A slow reader loses nothing: the server keeps what has not been read. The subscription ends with the last reference.
public final class Subscription<Event: Sendable>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event
    /// The error that ends the sequence early.
    public typealias Failure = RelayError
    let stream: StreamSubscription<Event>
    private let onEnd: @Sendable () -> Void
    /// Receives whether the view is on the screen; nil for a subscription without a view.
    private let onScreen: (@Sendable (Bool) -> Void)?
    /// The rest of the batch of the last event, for any iterator. The next one is last, so that each is removed without
    /// a copy.
    private let begun = NIOLockedValueBox<[Event]>([])

    init(
        _ stream: StreamSubscription<Event>, onScreen: (@Sendable (Bool) -> Void)? = nil,
        onEnd: @escaping @Sendable () -> Void
    ) {
        self.stream = stream
        self.onScreen = onScreen
        self.onEnd = onEnd
    }

    deinit { cancel() }

    /// The stream of the events; nil while unknown.
    package var source: StreamIdentity? { stream.identity }

    /// Ends the subscription.
    public func cancel() {
        stream.end()
        onEnd()
    }

    /// Sets whether the view of this subscription is on the screen, if it was created for one.
    ///
    /// While the view is off the screen for longer than ``RelayConfiguration/offScreenGrace``, nothing is followed and
    /// the server has no subscription. When the view is back, missed messages arrive first, each once and without gaps
    /// other than the stream's own, and then the news that the subscription is live. Any thread may call this as often
    /// as it likes; the last call counts.
    public func setOnScreen(_ isOnScreen: Bool) { onScreen?(isOnScreen) }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// The rest of the batch of the last event.
    private func rest() -> [Event] {
        var rest = begun.withLockedValue { exchange(&$0, with: []) }
        rest.reverse()
        return rest
    }

    /// Reads the events one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: Subscription<Event>

        /// The next event; nil at the end or if the task was cancelled.
        @specialized(where Event == TopicEvent)
        public nonisolated(nonsending) mutating func next() async throws(RelayError) -> Event? {
            while true {
                if let event = subscription.begun.withLockedValue({ $0.popLast() }) { return event }
                guard var news = try await subscription.stream.channel.next() else { return nil }
                switch news {
                case .events(let events, _) where events.count == 1: return events[0]
                case .events(var events, _):
                    // Nothing else holds them, so that they are reversed in place and removed one by one.
                    news = .catchingUp
                    events.reverse()
                    subscription.begun.withLockedValue { $0 = events }
                case .live: return subscription.stream.words.live
                case .catchingUp: break
                }
            }
        }

        /// The events at hand, at least one and at most a few hundred, in order: the form for many messages a second.
        /// Nil at the end or if the task was cancelled.
        @specialized(where Event == TopicEvent)
        public nonisolated(nonsending) mutating func nextBatch() async throws(RelayError) -> [Event]? {
            while true {
                let begun = subscription.rest()
                if !begun.isEmpty { return begun }
                let limit = StreamSubscription<Event>.batch
                guard let news = try await subscription.stream.channel.nextBatch(upTo: limit) else { return nil }
                // A single batch is returned as it is.
                if news.count == 1, case .events(let events, _) = news[0] { return events }
                var batch: [Event] = []
                for one in news {
                    switch one {
                    case .events(let events, _): batch += events
                    case .live: batch.append(subscription.stream.words.live)
                    case .catchingUp: break
                    }
                }
                if !batch.isEmpty { return batch }
            }
        }

        /// As ``nextBatch()``, with the additional news for a ``TopicMerge``.
        package nonisolated(nonsending) mutating func nextNews() async throws(RelayError)
            -> [SubscriptionNews<Event>]?
        {
            let begun = subscription.rest()
            if !begun.isEmpty { return [.events(begun, bytes: 0)] }
            return try await subscription.stream.channel.nextBatch()
        }

        /// The next event; nil at the end or if the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RelayError) -> Event? {
            try await next()
        }
    }
}

/// The messages of a topic or pattern.
public typealias TopicEvents = Subscription<TopicEvent>
/// New letters.
public typealias PostboxEvents = Subscription<PostboxEvent>
