import NIOCore

/// The messages of a stream in order, each once, from a chosen place on and for as long as the connection lives.
///
/// An ephemeral consumer without acknowledgements delivers them (ADR-17). Whenever its numbering shows a hole, its
/// heartbeat stays away, or the server removed it, a new one takes over behind the last message that was handed out.
/// When the connection ends the sequence throws; the reader goes on from `sequence + 1` over another connection.
public struct OrderedMessages: AsyncSequence, Sendable {
    /// A stored message.
    public typealias Element = StoredMessage
    let jetStream: JetStream
    let stream: String
    let filter: String?
    let start: StartPosition

    /// Starts reading: the consumer is made with the first `next`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self)
    }

    /// Reads one message after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: OrderedMessages
        private var consumer: LiveConsumer?
        /// The last sequence handed out, or the one behind which reading began.
        private var cursor: UInt64?
        private var resets = 0
        /// How many matching messages the stream held when reading began; nil before the first `next` or `open`.
        public private(set) var initiallyPending: UInt64?

        init(source: OrderedMessages) { self.source = source }

        /// Makes the consumer now, so that everything stored from here on is delivered. `next` does it otherwise.
        public mutating func open(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) {
            if consumer == nil { try await openConsumer(isolation: actor) }
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next() async throws(NATSError) -> StoredMessage? {
            try await next(isolation: nil)
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> StoredMessage? {
            while true {
                if consumer == nil { try await openConsumer(isolation: actor) }
                guard let outcome = try await consumer?.next(isolation: actor) else { continue }
                switch outcome {
                case .message(let message):
                    cursor = message.sequence
                    resets = 0
                    return message
                case .ended:
                    return nil
                case .lost:
                    consumer = nil
                    try await pause(isolation: actor)
                }
            }
        }

        private mutating func openConsumer(isolation actor: isolated (any Actor)?) async throws(NATSError) {
            let start = cursor.map { StartPosition.sequence($0 + 1) } ?? source.start
            while true {
                do throws(NATSError) {
                    consumer = try await LiveConsumer(source, from: start, isolation: actor)
                    if initiallyPending == nil { initiallyPending = consumer?.pendingAtStart }
                    if cursor == nil, source.start == .new || source.start == .last {
                        // A later consumer must not begin anew with what is newest by then.
                        cursor = consumer?.sequenceAtStart
                    }
                    return
                } catch {
                    // A server that restarts or elects a leader answers late or not at all for a moment.
                    guard error.isRetryable, source.jetStream.connection.isOpen, resets < 20 else { throw error }
                    try await pause(isolation: actor)
                }
            }
        }

        /// Waits 0, 50, 100 … ms, at most 2 s, between resets without a message in between.
        private mutating func pause(isolation actor: isolated (any Actor)?) async throws(NATSError) {
            defer { resets += 1 }
            guard resets > 0 else { return }
            do {
                try await Task.sleep(for: .milliseconds(Swift.min(2_000, 50 << Swift.min(resets, 6))))
            } catch { throw .cancelled }
        }
    }
}

/// One consumer of an ordered sequence, from its making to its loss.
final class LiveConsumer {
    enum Outcome {
        case message(StoredMessage)
        /// Task cancelled, or connection closed by its owner.
        case ended
        /// The consumer or a message of it is gone; another one has to take over.
        case lost
    }

    private static let batch = 500
    private static let expires = Duration.seconds(30)
    private static let heartbeat = Duration.seconds(10)

    let pendingAtStart: UInt64
    let sequenceAtStart: UInt64?
    private let jetStream: JetStream
    private let stream: String
    private let name: String
    private let inbox: String
    private var iterator: NATSSubscription.Iterator
    private var expectedConsumerSequence: UInt64 = 1
    /// Messages that the open pull requests still allow.
    private var outstanding = 0

    init(
        _ source: OrderedMessages, from start: StartPosition, isolation actor: isolated (any Actor)?
    ) async throws(NATSError) {
        jetStream = source.jetStream
        stream = source.stream
        name = UniqueToken.next()
        inbox = jetStream.connection.newInbox()
        let limits = BufferLimits(messages: 4 * Self.batch, bytes: 64 << 20, overflow: .dropNewest)
        iterator = try jetStream.connection.subscribe(to: inbox, limits: limits).makeAsyncIterator()
        var configuration = ConsumerConfiguration(
            name: name, from: start, filter: source.filter, acknowledgement: .none)
        // A reader that pauses for longer has a new consumer made behind its cursor when it goes on.
        configuration.inactiveThreshold = 60_000_000_000
        configuration.isInMemory = true
        configuration.replicas = 1
        let info = try await jetStream.createConsumer(configuration, in: stream)
        (pendingAtStart, sequenceAtStart) = (info.pending, info.deliveredSequence)
        try pull(Self.batch)
    }

    deinit { jetStream.discardConsumer(name, in: stream) }

    private func pull(_ count: Int) throws(NATSError) {
        outstanding += count
        let request =
            "{\"batch\":\(count),\"expires\":\(Self.expires.nanoseconds),\"idle_heartbeat\":\(Self.heartbeat.nanoseconds)}"
        try jetStream.connection.publish(
            ByteBuffer(string: request), to: jetStream.prefix + "CONSUMER.MSG.NEXT.\(stream).\(name)", reply: inbox)
    }

    func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> Outcome {
        while true {
            // Two missed heartbeats mean that the consumer is gone, whatever became of it.
            let deadline = NIODeadline.now() + .nanoseconds((Self.heartbeat * 2).nanoseconds)
            let message: NATSMessage?
            do throws(NATSError) {
                message = try await iterator.next(until: deadline, isolation: actor)
            } catch {
                if case .timeout = error { return .lost }
                throw error
            }
            guard let message else { return .ended }
            if let stored = StoredMessage(delivered: message) {
                guard stored.consumerSequence == expectedConsumerSequence else { return .lost }
                expectedConsumerSequence += 1
                outstanding -= 1
                if outstanding <= Self.batch / 2 { try pull(Self.batch - outstanding) }
                return .message(stored)
            }
            guard message.hasStatusLine, let block = message.headerBlock, let status = block.status else { continue }
            switch status {
            case 100: continue
            case 404, 408: try renewPull(block)
            case 409 where block.statusText?.lowercased().contains("batch completed") == true: try renewPull(block)
            default: return .lost
            }
        }
    }

    /// A pull request ended early; what it still allowed is asked for anew.
    private func renewPull(_ block: HeaderBlock) throws(NATSError) {
        let unused = block.headers["Nats-Pending-Messages"].flatMap(Int.init) ?? outstanding
        outstanding = max(0, outstanding - unused)
        if outstanding <= Self.batch / 2 { try pull(Self.batch - outstanding) }
    }
}

extension JetStream {
    /// The messages of a stream in order, each once.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - filter: only messages of this subject, wildcards allowed.
    ///   - start: where to begin.
    public func orderedMessages(
        in stream: String, filter: String? = nil, from start: StartPosition = .all
    ) throws(NATSError) -> OrderedMessages {
        OrderedMessages(jetStream: self, stream: try name(stream), filter: filter, start: start)
    }
}
