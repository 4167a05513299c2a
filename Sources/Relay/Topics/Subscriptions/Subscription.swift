import NATS
import NIOConcurrencyHelpers

/// The events of a subscription, through any number of connections. For one reader.
///
/// A slow reader loses nothing: the server keeps what has not been read. The subscription ends with the last reference.
public final class Subscription<Event: Sendable>: AsyncSequence, Sendable {
    /// An event.
    public typealias Element = Event
    /// What ends the sequence early.
    public typealias Failure = RelayError
    let stream: StreamSubscription<Event>
    private let onEnd: @Sendable () -> Void
    /// Hears whether the view is on the screen; nil where that does not matter.
    private let onScreen: (@Sendable (Bool) -> Void)?
    /// What came together with the event that was read last: whoever reads one by one finds it here, whichever iterator
    /// it uses. The last one comes next, so that each can be taken out and none is copied.
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

    /// The stream that the events come from; nil while it is not known.
    package var source: StreamIdentity? { stream.identity }

    /// Ends the subscription.
    public func cancel() {
        stream.end()
        onEnd()
    }

    /// Tells whether the view that this subscription is for is on the screen, where it was made for one.
    ///
    /// While the view is away for longer than ``RelayConfiguration/offScreenGrace``, nothing is followed and the server
    /// knows of no subscription. When the view is back, what came meanwhile comes first, each message once and with no
    /// gap but one that the stream itself has, and then the news that the subscription is live. Any thread may call
    /// this, as often as it likes; the last word counts.
    public func setOnScreen(_ isOnScreen: Bool) { onScreen?(isOnScreen) }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// What came together with the event that was read last; nothing is left.
    private func rest() -> [Event] {
        var rest = begun.withLockedValue { exchange(&$0, with: []) }
        rest.reverse()
        return rest
    }

    /// Reads one event after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: Subscription<Event>

        /// The next event; nil at the end or when the task was cancelled.
        @specialized(where Event == TopicEvent)
        public nonisolated(nonsending) mutating func next() async throws(RelayError) -> Event? {
            while true {
                if let event = subscription.begun.withLockedValue({ $0.popLast() }) { return event }
                guard var news = try await subscription.stream.channel.next() else { return nil }
                switch news {
                case .events(let events, _) where events.count == 1: return events[0]
                case .events(var events, _):
                    // Nothing else holds them, so that they are turned round in place and taken out one by one.
                    news = .catchingUp
                    events.reverse()
                    subscription.begun.withLockedValue { $0 = events }
                case .live: return subscription.stream.words.live
                case .catchingUp: break
                }
            }
        }

        /// Events that are at hand, at least one and no more than a few hundred, in order: the form for many messages a
        /// second. Nil at the end or when the task was cancelled.
        @specialized(where Event == TopicEvent)
        public nonisolated(nonsending) mutating func nextBatch() async throws(RelayError) -> [Event]? {
            while true {
                let begun = subscription.rest()
                if !begun.isEmpty { return begun }
                let limit = StreamSubscription<Event>.batch
                guard let news = try await subscription.stream.channel.nextBatch(upTo: limit) else { return nil }
                // What came together is handed over as it is.
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

        /// As ``nextBatch()``, with what only a ``TopicMerge`` needs to know.
        package nonisolated(nonsending) mutating func nextNews() async throws(RelayError)
            -> [SubscriptionNews<Event>]?
        {
            let begun = subscription.rest()
            if !begun.isEmpty { return [.events(begun, bytes: 0)] }
            return try await subscription.stream.channel.nextBatch()
        }

        /// The next event; nil at the end or when the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(RelayError) -> Event? {
            try await next()
        }
    }
}

/// The messages of a topic or pattern.
public typealias TopicEvents = Subscription<TopicEvent>
/// New letters.
public typealias PostboxEvents = Subscription<PostboxEvent>
