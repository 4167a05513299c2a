import NIOCore

/// The messages of a stream in order, each once, from a chosen position and for as long as the connection lives.
///
/// An ephemeral consumer without acknowledgements delivers them (ADR-17). Whenever its numbering shows a gap, its
/// heartbeat is missing, or the server has removed it, a new one takes over after the last message returned. When the
/// connection ends the sequence throws; continue from `sequence + 1` over another connection. It also throws
/// (`jetStream`, 410) if the stream by then ends before that message: the position is gone.
public struct OrderedMessages: AsyncSequence, Sendable {
    /// A stored message.
    public typealias Element = StoredMessage

    let jetStream: JetStream
    let stream: String
    let filter: String?
    let start: StartPosition

    /// Starts reading; the first `next` creates the consumer.
    public func makeAsyncIterator() -> Iterator { Iterator(source: self) }

    /// The stream was recreated, or has lost its newest messages.
    private var isBehind: NATSError {
        .jetStream(
            JetStreamFailure(code: 410, errorCode: 0, text: "the stream \(stream) ends before messages already read"))
    }

    /// Checks that a stream with nothing after a sequence has reached it, and that a consumer starts there. Otherwise
    /// the sequences are being assigned again, and newer servers would deliver nothing before they reach that one.
    private func checkReach(of sequence: UInt64, begin: UInt64?) async throws(NATSError) {
        let end = try await jetStream.glance(at: stream, from: .new, filter: filter).deliveredSequence
        guard Swift.min(end ?? sequence, begin ?? sequence) >= sequence else { throw isBehind }
    }

    /// Reads messages one by one, or several at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: OrderedMessages
        private(set) var consumer: LiveConsumer?
        /// The last sequence returned, or the one after which reading began.
        private var cursor: UInt64?
        private var resets = 0
        /// How many messages the next consumer should deliver one by one.
        private var caution = 0
        /// Whether parts of the list of each subject's newest message may be outstanding.
        private var isListing: Bool
        /// The number of matching messages in the stream when reading began; nil before the first `next` or `open`.
        public private(set) var initiallyPending: UInt64?

        init(source: OrderedMessages) {
            self.source = source
            isListing = source.start == .lastPerSubject
        }

        /// The next message; nil if the task was cancelled or the owner closed the connection.
        public mutating func next() async throws(NATSError) -> StoredMessage? { try await next(isolation: nil) }

        /// The next message; nil if the task was cancelled or the owner closed the connection.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> StoredMessage? {
            try await next(until: nil, isolation: actor)
        }

        /// As `next`, but throws `timeout` at the deadline; later calls continue.
        mutating func next(
            until deadline: NIODeadline?, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) -> StoredMessage? {
            try await nextBatch(LiveConsumer.BatchLimits(count: 1), until: deadline, isolation: actor)?.first
        }

        /// The messages at hand, at least one; nil as with `next`.
        package mutating func nextBatch(
            _ limits: LiveConsumer.BatchLimits, until deadline: NIODeadline? = nil,
            isolation actor: isolated (any Actor)?
        ) async throws(NATSError) -> [StoredMessage]? {
            while true {
                try await open(until: deadline, isolation: actor)
                guard let reader = consumer else { continue }
                var messages = try await reader.next(limits, until: deadline, isolation: actor)
                if let last = messages.last {
                    if isListing {
                        // A restarted list begins with messages that were returned before.
                        if let cursor { messages.removeAll { $0.sequence <= cursor } }
                        isListing = reader.received < reader.listed && last.pending != 0
                        if messages.isEmpty { continue }
                    }
                    cursor = last.sequence
                    resets = 0
                    return messages
                }
                switch reader.ending {
                case .closed, .failed, nil: return nil
                case .cut:
                    consumer = nil
                    // A restarted list has the same message at the same place, and perhaps others like it.
                    caution = LiveConsumer.caution + (isListing ? Int(clamping: reader.listed) : 0)
                case .lost:
                    caution = reader.caution
                    consumer = nil
                    try await pause(isolation: actor)
                }
            }
        }

        /// The server's view of a consumer whose messages are missing.
        enum Standing {
            /// It has nothing more to deliver, and everything that it delivered has arrived.
            case caughtUp
            /// Some of what it delivered has not arrived. Another consumer takes over.
            case lost
            /// It has more to deliver.
            case behind
        }

        /// Asks the server why no message arrives.
        mutating func standing(isolation actor: isolated (any Actor)?) async throws(NATSError) -> Standing {
            guard let consumer else { return .behind }
            let info = try await source.jetStream.consumerInfo(consumer.name, in: source.stream)
            if info.deliveredCount ?? 0 > consumer.received {
                self.consumer = nil
                return .lost
            }
            return info.pending == 0 ? .caughtUp : .behind
        }

        /// Creates the consumer now, so that everything stored from here on is delivered; otherwise `next` does. At the
        /// deadline throws `timeout`, or the failure until then.
        public mutating func open(
            until deadline: NIODeadline? = nil, isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) {
            // An incomplete list is restarted: after the cursor there may also be messages that were replaced since.
            let start = (isListing ? nil : cursor.map { StartPosition.sequence($0 + 1) }) ?? source.start
            while consumer == nil {
                do throws(NATSError) {
                    let limit = deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
                    let consumer = try await LiveConsumer(
                        in: source.stream, filter: source.filter, from: start, caution: caution, within: limit,
                        source.jetStream, isolation: actor)
                    if let cursor, isListing || consumer.pendingAtStart == 0 {
                        try await source.checkReach(of: cursor, begin: isListing ? cursor : consumer.sequenceAtStart)
                    }
                    self.consumer = consumer
                    if initiallyPending == nil { initiallyPending = consumer.pendingAtStart }
                    if cursor == nil, source.start == .new || source.start == .last {
                        // A later consumer must not start at the message that is newest by then.
                        cursor = consumer.sequenceAtStart
                    }
                } catch {
                    // A server that restarts or elects a leader may not answer for a moment, and another replica may
                    // lag behind the one that was read.
                    let connection = source.jetStream.connection
                    let passes = error.isRetryable || error == source.isBehind && connection.info.cluster != nil
                    guard passes, connection.isOpen, resets < 20, deadline.map({ .now() < $0 }) ?? true
                    else { throw error }
                    try await pause(isolation: actor)
                }
            }
        }

        /// Waits 0, 50, 100 … ms, at most 2 s, between resets without a message.
        private mutating func pause(isolation actor: isolated (any Actor)?) async throws(NATSError) {
            defer { resets += 1 }
            guard resets > 0 else { return }
            do {
                try await Task.sleep(for: .milliseconds(Swift.min(2_000, 50 << Swift.min(resets, 6))))
            } catch { throw .cancelled }
        }
    }
}

extension JetStream {
    /// The messages of a stream in order, each once; with a filter, which may have wildcards, those of its subjects.
    public func orderedMessages(
        in stream: String, filter: String? = nil, from start: StartPosition = .all
    ) throws(NATSError) -> OrderedMessages {
        OrderedMessages(jetStream: self, stream: try name(stream), filter: filter, start: start)
    }
}
