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
    /// Whether the sequence ends when its consumer is lost, for a reader that looks at the stream again before it goes
    /// on.
    var endsWithConsumer = false

    /// Starts reading: the consumer is made with the first `next`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(source: self)
    }

    /// Reads one message after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: OrderedMessages
        private(set) var consumer: LiveConsumer?
        /// The last sequence handed out, or the one behind which reading began.
        private var cursor: UInt64?
        private var resets = 0
        /// How many messages the next consumer is to bring one by one.
        private var caution = 0
        /// How many matching messages the stream held when reading began; nil before the first `next` or `open`.
        public private(set) var initiallyPending: UInt64?
        /// Whether the sequence ended because its consumer was lost.
        package private(set) var hasLostConsumer = false

        init(source: OrderedMessages) { self.source = source }

        /// Makes the consumer now, so that everything stored from here on is delivered. `next` does it otherwise.
        public mutating func open(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(NATSError) {
            try await open(until: nil, isolation: actor)
        }

        /// As `open`, but throws `timeout` at the deadline, or what it has been failing with until then.
        mutating func open(
            until deadline: NIODeadline?, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) {
            if consumer == nil { try await openConsumer(until: deadline, isolation: actor) }
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next() async throws(NATSError) -> StoredMessage? {
            try await next(isolation: nil)
        }

        /// The next message; nil when the task was cancelled or the connection closed by its owner.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(NATSError) -> StoredMessage? {
            try await next(until: nil, isolation: actor)
        }

        /// As `next`, for a reader that takes many at once: where none is at hand it waits until so many have come, or
        /// until some have and a few milliseconds have passed. The server has to have that many.
        package mutating func next(
            gathering count: Int, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) -> StoredMessage? {
            try await next(until: nil, gathering: count, isolation: actor)
        }

        /// As `next`, but throws `timeout` when none has come at the deadline; later calls go on.
        mutating func next(
            until deadline: NIODeadline?, gathering count: Int = 1, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) -> StoredMessage? {
            while true {
                if consumer == nil { try await openConsumer(until: deadline, isolation: actor) }
                guard
                    let outcome = try await consumer?.next(until: deadline, gathering: count, isolation: actor)
                else { continue }
                switch outcome {
                case .message(let message):
                    cursor = message.sequence
                    resets = 0
                    return message
                case .ended:
                    return nil
                case .cut:
                    consumer = nil
                    caution = LiveConsumer.caution
                case .lost:
                    caution = consumer?.caution ?? 0
                    consumer = nil
                    if source.endsWithConsumer {
                        hasLostConsumer = true
                        return nil
                    }
                    try await pause(isolation: actor)
                }
            }
        }

        /// The next message where it is at hand; nil where it would have to be waited for, and where `next` has to find
        /// out what is wrong.
        package mutating func nextReady() -> StoredMessage? {
            guard let message = consumer?.nextReady() else { return nil }
            cursor = message.sequence
            resets = 0
            return message
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

        private mutating func openConsumer(
            until deadline: NIODeadline?, isolation actor: isolated (any Actor)?
        ) async throws(NATSError) {
            let start = cursor.map { StartPosition.sequence($0 + 1) } ?? source.start
            while true {
                do throws(NATSError) {
                    let limit = deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
                    let consumer = try await LiveConsumer(
                        source, from: start, caution: caution, within: limit, isolation: actor)
                    self.consumer = consumer
                    if initiallyPending == nil { initiallyPending = consumer.pendingAtStart }
                    if cursor == nil, source.start == .new || source.start == .last {
                        // A later consumer must not begin again with the message that is newest by then.
                        cursor = consumer.sequenceAtStart
                    }
                    return
                } catch {
                    // A server that restarts or elects a leader answers late or not at all for a moment.
                    guard error.isRetryable, source.jetStream.connection.isOpen,
                        !source.endsWithConsumer, resets < 20,
                        deadline.map({ .now() < $0 }) ?? true
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

/// One consumer of an ordered sequence, from its making to its loss.
final class LiveConsumer {
    enum Outcome {
        case message(StoredMessage)
        /// Task cancelled, or connection closed by its owner.
        case ended
        /// The consumer or a message of it is gone; another one has to take over.
        case lost
        /// A message without bytes has ended the pull that brought it, and what the server sends for that pull reaches
        /// nobody; another one has to take over.
        case cut
    }

    /// Behind a message that has ended its pull, so many are asked for one by one: a pull for one message is over with
    /// it in any case, so that whoever stores many without bytes costs a reader no consumer for each.
    static let caution = 512
    /// So many pulls for one message are under way where the server has no messages.
    private static let idleSingles = 4

    /// What one read from the socket brings must not use up what the server may send: it would wait for the next
    /// request.
    private static let batch = 2_000
    /// As long as nothing bounds a pull's bytes it asks for fewer, as the reader's buffer does have a bound.
    private static let unboundedBatch = 500
    private static let expires = Duration.seconds(30)
    private static let heartbeat = Duration.seconds(10)

    let pendingAtStart: UInt64
    let sequenceAtStart: UInt64?
    let name: String
    private let jetStream: JetStream
    private let stream: String
    let pulls: OpenPulls
    private var expectedConsumerSequence: UInt64 = 1
    /// How many messages are on the list of each subject's newest one, which the server makes with the consumer. It
    /// strikes a message off that list before it knows whether a pull has room for it, so one that did not fit would be
    /// lost.
    private let listed: UInt64
    /// What was found where only messages at hand were asked for.
    private var unread: Result<Outcome, NATSError>?
    /// The filter of what it delivers, and the stream's sequence that it has come to; nil where the server did not say
    /// where it begins.
    private let filter: String?
    private var position: UInt64?
    /// How often the server has said that there is nothing, and after how many times another copy of the stream is
    /// asked.
    private var silences = 0
    private var nextComparison = 2
    /// How many messages the server has that have not come.
    private var pending: UInt64
    /// How many messages are still to be asked for one by one.
    private(set) var caution: Int

    /// How many messages have come.
    var received: UInt64 { expectedConsumerSequence - 1 }

    /// - Parameters:
    ///   - caution: how many messages are to be asked for one by one.
    ///   - limit: how long making it may take, within the usual time.
    init(
        _ source: OrderedMessages, from start: StartPosition, caution: Int, within limit: Duration?,
        isolation actor: isolated (any Actor)?
    ) async throws(NATSError) {
        jetStream = source.jetStream
        stream = source.stream
        self.caution = caution
        name = UniqueToken.next()
        pulls = OpenPulls(from: "\(stream).\(name)", messages: 4 * Self.batch, jetStream)
        var configuration = ConsumerConfiguration(
            name: name, from: start, filter: source.filter, acknowledgement: .none)
        // A reader that pauses for longer has a new consumer made behind its cursor when it goes on.
        configuration.inactiveThreshold = 60_000_000_000
        configuration.isInMemory = true
        configuration.replicas = 1
        var hasty = jetStream
        if let limit { hasty.timeout = min(limit, jetStream.timeout) }
        let info = try await hasty.createConsumer(configuration, in: stream)
        (pendingAtStart, sequenceAtStart) = (info.pending, info.deliveredSequence)
        pending = info.pending
        filter = source.filter
        // A list of newest messages says nothing of what was stored between them.
        position = start == .lastPerSubject ? nil : info.deliveredSequence
        listed = start == .lastPerSubject ? info.pending : 0
        pulls.askForSingles(caution > 0)
        try topUp()
    }

    deinit {
        if pending > 0 { jetStream.readerEnded() }
        jetStream.discardConsumer(name, in: stream)
    }

    /// Asks for more when half of what was asked for last has come, so that the server never waits for this side.
    private func topUp() throws(NATSError) {
        let isBounded = expectedConsumerSequence > listed
        if caution > 0 {
            let wanted = Int(clamping: min(UInt64(PullBudget.singles), max(UInt64(Self.idleSingles), pending)))
            while pulls.budget.wantsSingle(of: wanted) {
                try pulls.add(1, isBounded: isBounded, expires: Self.expires, heartbeat: Self.heartbeat)
            }
            return
        }
        let count = isBounded ? Self.batch : Self.unboundedBatch
        guard pulls.budget.wantsPull(of: count) else { return }
        try pulls.add(count, isBounded: isBounded, expires: Self.expires, heartbeat: Self.heartbeat)
    }

    func next(
        until limit: NIODeadline?, gathering count: Int, isolation actor: isolated (any Actor)?
    ) async throws(NATSError) -> Outcome {
        if let unread {
            self.unread = nil
            return try unread.get()
        }
        while true {
            // Two missed heartbeats mean that the consumer is gone, whatever became of it.
            let loss = NIODeadline.now() + .nanoseconds((Self.heartbeat * 2).nanoseconds)
            let message: NATSMessage?
            do throws(NATSError) {
                message = try await pulls.next(
                    until: limit.map { min($0, loss) } ?? loss, gathering: count, isolation: actor)
            } catch {
                guard case .timeout = error else { throw error }
                if let limit, limit < loss { throw .timeout("a message of the stream \(stream)") }
                return .lost
            }
            guard let message else { return .ended }
            if let outcome = try take(message) { return outcome }
            if isComparisonDue, await hasFallenBehind(isolation: actor) {
                // What has come while the question was under way goes first.
                return nextReady().map { .message($0) } ?? .lost
            }
        }
    }

    /// Whether another consumer is to be asked, as the server has said once more that there is nothing: after two
    /// heartbeats of a consumer's life, four, eight and so on, so that a network's idle readers cost it next to
    /// nothing.
    private var isComparisonDue: Bool {
        guard silences >= nextComparison else { return false }
        nextComparison *= 2
        return true
    }

    /// Whether the stream has messages that this consumer says it has not. A consumer reads the copy of the server that
    /// it lives on. Where that copy does not catch up with the others, it reports silence for as long; and servers have
    /// passed over a message that was stored while they looked for it. A new consumer of a cluster lives on a server
    /// that is drawn anew, and shows how many messages that one has.
    private func hasFallenBehind(isolation actor: isolated (any Actor)?) async -> Bool {
        guard let position else { return false }
        var configuration = ConsumerConfiguration(
            name: UniqueToken.next(), from: .sequence(position + 1), filter: filter, acknowledgement: .none)
        configuration.inactiveThreshold = 5_000_000_000
        configuration.isInMemory = true
        configuration.replicas = 1
        // Without an answer nothing is known; the next time is not far.
        guard let info = try? await jetStream.createConsumer(configuration, in: stream) else { return false }
        jetStream.discardConsumer(configuration.name, in: stream)
        return info.pending > 0
    }

    /// What a message means; nil for one that says nothing to the reader.
    private func take(_ message: consuming NATSMessage) throws(NATSError) -> Outcome? {
        if let place = message.reply.flatMap({ DeliveryPlace($0) }) {
            guard place.consumerSequence == expectedConsumerSequence else { return .lost }
            expectedConsumerSequence += 1
            position = place.streamSequence
            pending = place.pending
            if pulls.delivered(message), message.endsAnswers {
                unread = .success(.cut)
                return .message(StoredMessage(message, at: place))
            }
            if caution > 0 { goOn(oneByOne: message.endsAnswers ? Self.caution : caution - 1) }
            // What keeps the next pull from being sent comes behind the message, not in its place.
            do throws(NATSError) { try topUp() } catch { unread = .failure(error) }
            return .message(StoredMessage(message, at: place))
        }
        switch PullStatus(copy message) {
        case .alive:
            silences += 1
            goOn(oneByOne: 0)
            // What it has sent and what has come are the same, unless the last of it was lost on the way.
            let sent = message.headers["Nats-Last-Consumer"].flatMap { UInt64($0) } ?? 0
            return sent >= expectedConsumerSequence ? .lost : nil
        case nil: return nil
        case .ended: try pulls.ended(message, isTooSmall: false)
        case .tooSmall: try pulls.ended(message, isTooSmall: true)
        case .unheard, .failed: return .lost
        }
        try topUp()
        return nil
    }

    /// Asks for so many more messages one by one, and then for many at once.
    private func goOn(oneByOne count: Int) {
        let wasCautious = caution > 0
        caution = count
        if wasCautious, count == 0 { pulls.askForSingles(false) }
    }

    /// The next message where it is at hand. What else is found on the way is kept for `next`.
    func nextReady() -> StoredMessage? {
        guard unread == nil else { return nil }
        while let message = pulls.nextReady() {
            do throws(NATSError) {
                switch try take(message) {
                case .message(let stored): return stored
                case .some(let outcome):
                    unread = .success(outcome)
                    return nil
                case nil: continue
                }
            } catch {
                unread = .failure(error)
                return nil
            }
        }
        return nil
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

    /// As the public form; `endsWithConsumer` has the sequence end when its consumer is lost.
    package func orderedMessages(
        in stream: String, filter: String?, from start: StartPosition, endsWithConsumer: Bool
    ) throws(NATSError) -> OrderedMessages {
        OrderedMessages(
            jetStream: self, stream: try name(stream), filter: filter, start: start, endsWithConsumer: endsWithConsumer)
    }
}
