import NIOCore

/// The messages of one subscription, for one reader.
///
/// The sequence ends when the subscription or connection is closed by its owner, and throws when the connection is
/// lost or the server withdraws the subscription. What had arrived before is delivered first in both cases.
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

    /// What was subscribed to.
    public var subject: String { buffer.subject }

    /// How many messages were lost because the reader was too slow.
    public var dropped: Int { buffer.dropped }

    /// Ends the subscription: at once, or when `maximum` messages in all have come.
    public func unsubscribe(after maximum: Int? = nil) {
        guard let maximum, buffer.end(after: maximum) else { return core.removeSubscription(buffer) }
        _ = try? core.send {
            ProtocolEncoder.writeUnsubscribe(sid: self.buffer.sid, after: maximum, into: &$0)
        }
    }

    /// Asks the server for no more messages. Those that it has sent already still come; a `flush` of the connection
    /// returns behind them, and `unsubscribe` ends the sequence then.
    package func drain() {
        _ = try? core.send {
            ProtocolEncoder.writeUnsubscribe(sid: self.buffer.sid, after: nil, into: &$0)
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: self) }

    /// Takes messages batch by batch from the event loop and hands them out one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let subscription: NATSSubscription
        private var batch: [NATSMessage] = []

        init(subscription: NATSSubscription) { self.subscription = subscription }

        /// The next message; nil at the end or when the task is cancelled.
        public mutating func next() async throws(NATSError) -> NATSMessage? {
            try await next(isolation: nil)
        }

        /// The next message; nil at the end or when the task is cancelled.
        @inline(__always)
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> NATSMessage? {
            if let message = batch.popLast() { return message }
            try await subscription.buffer.refill(&batch, until: .distantFuture, isolation: actor)
            return batch.popLast()
        }

        /// As `next`, but throws `timeout` when nothing came until `deadline`.
        mutating func next(
            until deadline: NIODeadline, isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) -> NATSMessage? {
            if let message = batch.popLast() { return message }
            try await subscription.buffer.refill(&batch, until: deadline, isolation: actor)
            return batch.popLast()
        }
    }
}
