import NIOCore

/// The messages of one subscription, for one reader.
///
/// The sequence ends if its owner closes the subscription or the connection, and throws if the connection is lost or
/// the server withdraws the subscription. Messages that arrived before are delivered first in both cases.
public final class NATSSubscription: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = NATSMessage
    let core: ConnectionCore
    let buffer: SubscriptionBuffer

    init(core: ConnectionCore, buffer: SubscriptionBuffer) {
        self.core = core
        self.buffer = buffer
    }

    deinit { core.removeSubscription(buffer) }

    /// The subject or pattern subscribed to.
    public var subject: String { buffer.subject }

    /// The number of messages lost because the reader was too slow.
    public var dropped: Int { buffer.dropped }

    /// Ends the subscription: at once, or after `maximum` messages in all.
    public func unsubscribe(after maximum: Int? = nil) {
        guard let maximum, buffer.end(after: maximum) else { return core.removeSubscription(buffer) }
        _ = try? core.send {
            ProtocolEncoder.writeUnsubscribe(sid: self.buffer.sid, after: maximum, into: &$0)
        }
    }

    /// Asks the server for no more messages. Those already sent still arrive; a `flush` of the connection returns after
    /// them, and `unsubscribe` then ends the sequence.
    package func drain() {
        _ = try? core.send {
            ProtocolEncoder.writeUnsubscribe(sid: self.buffer.sid, after: nil, into: &$0)
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// Takes messages from the event loop in batches and returns them one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: NATSSubscription
        private var batch: [NATSMessage] = []

        init(subscription: NATSSubscription) { self.subscription = subscription }

        /// The next message; nil at the end or when the task is cancelled.
        public mutating func next() async throws(NATSError) -> NATSMessage? { try await next(isolation: nil) }

        /// The next message; nil at the end or when the task is cancelled.
        @inline(__always)
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> NATSMessage? {
            if let message = batch.popLast() { return message }
            try await subscription.buffer.refill(&batch, until: .distantFuture, isolation: actor)
            return batch.popLast()
        }

        /// As `next`, but throws `timeout` if nothing arrives before `deadline`.
        mutating func next(
            until deadline: NIODeadline, isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) -> NATSMessage? {
            if let message = batch.popLast() { return message }
            try await subscription.buffer.refill(&batch, until: deadline, isolation: actor)
            return batch.popLast()
        }
    }
}
