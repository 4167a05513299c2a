import NIOCore

/// The messages of a stream in order, each once, from a chosen place on and for as long as the connection lives.
///
/// An ephemeral consumer without acknowledgements delivers them (ADR-17). Whenever its numbering shows a hole, its
/// heartbeat stays away, or the server removed it, a new one takes over behind the last message that was handed out.
/// When the connection ends the sequence throws; the reader goes on from `sequence + 1` over another connection. It
/// also throws (`jetStream`, 410) where the stream ends before that message by then: the place to go on is gone.
public struct OrderedMessages: AsyncSequence, Sendable {
    /// A stored message.
    public typealias Element = StoredMessage

    let jetStream: JetStream
    let stream: String
    let filter: String?
    let start: StartPosition

    /// Starts reading: the consumer is made with the first `next`.
    public func makeAsyncIterator() -> Iterator { Iterator(source: self) }

    /// The stream was made anew, or has lost its newest messages.
    private var isBehind: NATSError {
        .jetStream(
            JetStreamFailure(code: 410, errorCode: 0, text: "the stream \(stream) ends before what was read of it"))
    }

    /// Checks that a stream which has nothing behind a sequence has come as far, and that a consumer begins there. The
    /// sequences are given out again otherwise, and newer servers deliver nothing before they have reached that one.
    private func checkReach(of sequence: UInt64, begin: UInt64?) async throws(NATSError) {
        let end = try await jetStream.glance(at: stream, from: .new, filter: filter).deliveredSequence
        guard Swift.min(end ?? sequence, begin ?? sequence) >= sequence else { throw isBehind }
    }

    /// Reads messages one by one, or as many together as have come.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: OrderedMessages
        private(set) var consumer: LiveConsumer?
        /// The last sequence handed out, or the one behind which reading began.
        private var cursor: UInt64?
        private var resets = 0
        /// How many messages the next consumer is to bring one by one.
        private var caution = 0
        /// Whether some of the list of each subject's newest message may be to come.
        private var isListing: Bool
        /// How many matching messages the stream held when reading began; nil before the first `next` or `open`.
        public private(set) var initiallyPending: UInt64?

        init(source: OrderedMessages) {
            self.source = source
            isListing = source.start == .lastPerSubject
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next() async throws(NATSError) -> StoredMessage? {
            try await next(isolation: nil)
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> StoredMessage? {
            try await next(until: nil, isolation: actor)
        }

        /// As `next`, but throws `timeout` when none has come at the deadline; later calls go on.
        mutating func next(
            until deadline: NIODeadline?, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) -> StoredMessage? {
            try await nextBatch(LiveConsumer.BatchLimits(count: 1), until: deadline, isolation: actor)?.first
        }

        /// The next messages that are at hand, at least one; nil as with `next`.
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
                        // One that was made anew begins with what has been handed out.
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
                    // A list that is made anew has the same message at the same place, and perhaps more of the kind.
                    caution = LiveConsumer.caution + (isListing ? Int(clamping: reader.listed) : 0)
                case .lost:
                    caution = reader.caution
                    consumer = nil
                    try await pause(isolation: actor)
                }
            }
        }

        /// What the server says of a consumer whose messages stay away.
        enum Standing {
            /// It has nothing more to deliver, and all that it has delivered has come.
            case caughtUp
            /// Some of what it has delivered has not come. Another one takes over.
            case lost
            /// It has more to deliver.
            case behind
        }

        /// Asks the server why no message comes.
        mutating func standing(isolation actor: isolated (any Actor)?) async throws(NATSError) -> Standing {
            guard let consumer else { return .behind }
            let info = try await source.jetStream.consumerInfo(consumer.name, in: source.stream)
            if info.deliveredCount ?? 0 > consumer.received {
                self.consumer = nil
                return .lost
            }
            return info.pending == 0 ? .caughtUp : .behind
        }

        /// Makes the consumer now, so that everything stored from here on is delivered. `next` does it otherwise. At
        /// the deadline throws `timeout`, or what it has been failing with until then.
        public mutating func open(
            until deadline: NIODeadline? = nil, isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) {
            // A list that has not come whole is made anew: behind the cursor are also messages that were replaced.
            let start = (isListing ? nil : cursor.map { StartPosition.sequence($0 + 1) }) ?? source.start
            while consumer == nil {
                do throws(NATSError) {
                    let limit = deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
                    let consumer = try await LiveConsumer(
                        in: source.stream, filter: source.filter, from: start, caution: caution, within: limit,
                        source.jetStream, isolation: actor)
                    if let cursor, isListing || consumer.pendingAtStart == 0 {
                        try await source.checkReach(
                            of: cursor, begin: isListing ? cursor : consumer.sequenceAtStart)
                    }
                    self.consumer = consumer
                    if initiallyPending == nil { initiallyPending = consumer.pendingAtStart }
                    if cursor == nil, source.start == .new || source.start == .last {
                        // A later consumer must not begin again with the message that is newest by then.
                        cursor = consumer.sequenceAtStart
                    }
                } catch {
                    // A server that restarts or elects a leader answers late or not at all for a moment, and another
                    // copy of the stream may lag behind the one that was read.
                    let connection = source.jetStream.connection
                    let passes = error.isRetryable || error == source.isBehind && connection.info.cluster != nil
                    guard passes, connection.isOpen, resets < 20, deadline.map({ .now() < $0 }) ?? true
                    else { throw error }
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

extension JetStream {
    /// The messages of a stream in order, each once; with a filter, which may have wildcards, those of its subjects.
    public func orderedMessages(
        in stream: String, filter: String? = nil, from start: StartPosition = .all
    ) throws(NATSError) -> OrderedMessages {
        OrderedMessages(jetStream: self, stream: try name(stream), filter: filter, start: start)
    }
}
