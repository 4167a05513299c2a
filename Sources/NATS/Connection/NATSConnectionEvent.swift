/// Something that happened to a connection, other than a message.
public enum NATSConnectionEvent: Sendable, Hashable {
    /// The server sent a newer INFO.
    case infoChanged(ServerInfo)
    /// The server will close soon; connect elsewhere.
    case lameDuck
    /// The server refused something without closing the connection.
    case notice(NATSError)
    /// A subscription's buffer was full; `dropped` messages have been lost to it so far.
    case slowConsumer(subject: String, dropped: Int)
    /// A ping was answered.
    case roundTrip(Duration)
    /// Nothing has arrived for this long, two seconds or little more, although an answer is awaited. The connection is
    /// still open; `heardAgain` or `closed` follows.
    case silent(for: Duration)
    /// Something has arrived after `silent`.
    case heardAgain
    /// The connection has ended; `nil` when `close()` did it. Always the last event.
    case closed(NATSError?)
}

/// The events of a connection from the moment of asking on. Their number is bounded; the oldest are dropped.
public struct NATSConnectionEvents: AsyncSequence, Sendable {
    /// What happened.
    public typealias Element = NATSConnectionEvent
    let stream: AsyncStream<NATSConnectionEvent>

    /// Waits for events one by one.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: AsyncStream<NATSConnectionEvent>.Iterator

        /// The next event, nil after `closed` or when the task is cancelled.
        public mutating func next() async -> NATSConnectionEvent? { await base.next() }

        /// The next event, nil after `closed` or when the task is cancelled.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Never) -> NATSConnectionEvent? {
            await base.next(isolation: actor)
        }
    }

    /// Starts reading.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: stream.makeAsyncIterator()) }
}
