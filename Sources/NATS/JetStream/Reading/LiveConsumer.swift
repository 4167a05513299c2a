import NIOCore

/// One ephemeral consumer that delivers a stream's messages in order, from its creation to its loss.
package final class LiveConsumer {
    package struct BatchLimits: Sendable {
        package var count: Int
        /// From this many bytes on, no further message is taken.
        package var bytes = Int.max
        /// How many messages to wait for if none is at hand, for at most a few milliseconds after the first. The server
        /// must have that many.
        package var gathering = 1
        /// Whether a batch ends once the server has no more, even without a message.
        package var endsWhenCaughtUp = false

        package init(count: Int, bytes: Int = .max) {
            self.count = count
            self.bytes = bytes
        }
    }

    /// Why no more messages arrive.
    package enum Ending: Sendable {
        /// The task was cancelled, or the owner closed the connection.
        case closed
        /// The consumer or one of its messages is gone; another consumer must take over.
        case lost
        /// An empty message ended the pull that delivered it, and the rest of that pull is lost; another consumer must
        /// take over.
        case cut
        case failed(NATSError)
    }

    /// After a message that has ended its pull, this many are requested one by one: a pull for one message ends with it
    /// anyway, so that many empty messages do not cost a reader one consumer each.
    package static let caution = 512
    /// The number of pulls for one message that wait while the server has no messages.
    private static let idleSingles = 4

    /// One read from the socket must not use up a pull, or the server would wait for the next request.
    private static let batch = 2_000
    /// A pull without a limit in bytes requests fewer messages, because the reader's buffer is limited.
    private static let unboundedBatch = 500

    /// The number of matching messages in the stream when the consumer was created.
    package let pendingAtStart: UInt64
    let sequenceAtStart: UInt64?
    let name: String
    private let jetStream: JetStream
    private let stream: String
    let pulls: OpenPulls
    /// Messages taken out of the pulls' buffer, the next one last.
    private var arrived: [NATSMessage] = []
    private var expectedConsumerSequence: UInt64 = 1
    /// The length of the list of each subject's newest message, which the server creates with the consumer. It strikes
    /// a message off before it checks whether a pull has room for it, so one that did not fit would be lost.
    let listed: UInt64
    /// Why no more messages arrive, known once the last of them has been taken.
    package private(set) var ending: Ending?
    /// Its filter, and the stream sequence that it has reached; nil if the server did not tell where it starts.
    private let filter: String?
    private var position: UInt64?
    /// How often the server has reported that there is nothing, and at which count to ask another replica.
    private var silence = (count: 0, nextComparison: 2)
    /// The number of messages that the server still has, as last reported.
    package private(set) var pending: UInt64
    private(set) var caution: Int

    var received: UInt64 { expectedConsumerSequence - 1 }

    private var heartbeat: Duration { jetStream.heartbeat }
    /// How long the server keeps a pull. It accepts no heartbeat longer than half of that.
    private var expires: Duration { heartbeat * 3 }

    /// Creates the consumer: everything stored from here on is delivered. The first `caution` messages are requested
    /// one by one. `limit` shortens the time limit of the request.
    package init(
        in stream: String, filter: String?, from start: StartPosition, caution: Int = 0, within limit: Duration? = nil,
        _ jetStream: JetStream, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) {
        self.jetStream = jetStream
        self.stream = stream
        self.filter = filter
        self.caution = caution
        // A reader that pauses for longer continues with a new consumer, after its cursor.
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(60))
        name = configuration.name
        pulls = OpenPulls(from: "\(stream).\(name)", messages: 4 * Self.batch, jetStream)
        var hasty = jetStream
        if let limit { hasty.timeout = min(limit, jetStream.timeout) }
        let info = try await hasty.createConsumer(configuration, in: stream)
        (pendingAtStart, sequenceAtStart) = (info.pending, info.deliveredSequence)
        pending = info.pending
        // A list of newest messages does not cover what was stored between them.
        position = start == .lastPerSubject ? nil : info.deliveredSequence
        listed = start == .lastPerSubject ? info.pending : 0
        pulls.askForSingles(caution > 0)
        try topUp()
    }

    deinit {
        if pending > 0 { jetStream.readerEnded() }
        jetStream.discardConsumer(name, in: stream)
    }

    /// Requests more once half of the last request has arrived, so that the server never waits for this side.
    private func topUp() throws(NATSError) {
        let isBounded = expectedConsumerSequence > listed
        if caution > 0 {
            let wanted = Int(clamping: min(UInt64(PullBudget.singles), max(UInt64(Self.idleSingles), pending)))
            while pulls.budget.wantsSingle(of: wanted) {
                try pulls.add(1, isBounded: isBounded, expires: expires, heartbeat: heartbeat)
            }
            return
        }
        let count = isBounded ? Self.batch : Self.unboundedBatch
        guard pulls.budget.wantsPull(of: count) else { return }
        try pulls.add(count, isBounded: isBounded, expires: expires, heartbeat: heartbeat)
    }

    /// Waits for messages and returns those at hand; none if no more arrive, for the reason in ``ending``. Throws
    /// `timeout` at the deadline, and a failure once the messages before it were returned.
    package func next(
        _ limits: BatchLimits, until deadline: NIODeadline? = nil, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) -> [StoredMessage] {
        // Another task may continue after one was cancelled.
        if case .closed? = ending { ending = nil }
        var messages: [StoredMessage] = []
        var bytes = 0
        do throws(NATSError) {
            while ending == nil, messages.count < limits.count, bytes < limits.bytes {
                if arrived.isEmpty {
                    guard messages.isEmpty else { break }
                    try await refill(until: deadline, gathering: limits.gathering, isolation: actor)
                }
                if messages.isEmpty { messages.reserveCapacity(min(limits.count, arrived.count)) }
                guard let message = arrived.popLast() else { break }
                try take(message, into: &messages, &bytes)
                if limits.endsWhenCaughtUp, pending == 0 { break }
                if ending == nil, messages.isEmpty, isComparisonDue, await hasFallenBehind(isolation: actor) {
                    // A message that arrived meanwhile goes first.
                    if let late = arrived.popLast() { try take(late, into: &messages, &bytes) }
                    if messages.isEmpty { ending = .lost }
                }
            }
        } catch {
            if messages.isEmpty { throw error }
            ending = .failed(error)
        }
        if messages.isEmpty, case .failed(let error)? = ending { throw error }
        return messages
    }

    private func refill(
        until deadline: NIODeadline?, gathering count: Int, isolation actor: isolated (any Actor)?
    ) async throws(NATSError) {
        // After two missed heartbeats the consumer counts as gone.
        let loss = NIODeadline.now() + .nanoseconds((heartbeat * 2).nanoseconds)
        do throws(NATSError) {
            try await pulls.buffer.refill(
                &arrived, until: deadline.map { min($0, loss) } ?? loss, gathering: count, isolation: actor)
            if arrived.isEmpty { ending = .closed }
        } catch {
            guard case .timeout = error else { throw error }
            if let deadline, deadline < loss { throw .timeout("a message of the stream \(stream)") }
            ending = .lost
        }
    }

    private func take(
        _ message: consuming NATSMessage, into messages: inout [StoredMessage], _ bytes: inout Int
    ) throws(NATSError) {
        if let place = message.reply.flatMap({ DeliveryPlace($0) }) {
            let endsEarly = pulls.received(message)
            guard place.consumerSequence == expectedConsumerSequence else {
                ending = .lost
                return
            }
            expectedConsumerSequence += 1
            position = place.streamSequence
            pending = place.pending
            let isEmpty = message.endsAnswers
            let stored = StoredMessage(message, at: place)
            bytes += stored.size
            messages.append(stored)
            if endsEarly {
                ending = .cut
                return
            }
            if caution > 0 { goOn(oneByOne: isEmpty ? max(Self.caution, caution - 1) : caution - 1) }
        } else {
            switch try pulls.status(message) {
            case .alive(let sent)?:
                silence.count += 1
                goOn(oneByOne: 0)
                // A higher number means that the last messages were lost on the way.
                if sent >= expectedConsumerSequence { ending = .lost }
                // The server waits: any other messages that it had are gone from the stream.
                pending = 0
                return
            case .ended?, .tooSmall?: break
            case .unheard?, .failed?:
                ending = .lost
                return
            case nil: return
            }
        }
        try topUp()
    }

    /// Whether to ask another consumer, now that the server has again reported nothing: after two heartbeats of a
    /// consumer's life, four, eight and so on, so that idle readers cost a network next to nothing.
    private var isComparisonDue: Bool {
        guard silence.count >= silence.nextComparison else { return false }
        silence.nextComparison *= 2
        return true
    }

    /// Whether the stream has messages that this consumer denies. A consumer reads the replica of the server it lives
    /// on, which may lag behind the others, and servers have missed a message that was stored while they looked for it.
    /// In a cluster, a new consumer is placed at random and shows how many messages its replica has.
    private func hasFallenBehind(isolation actor: isolated (any Actor)?) async -> Bool {
        guard let position else { return false }
        // Without an answer nothing is known; the next comparison is not far.
        let info = try? await jetStream.glance(at: stream, from: .sequence(position + 1), filter: filter)
        return info.map { $0.pending > 0 } ?? false
    }

    /// Requests this many more messages one by one before larger pulls.
    private func goOn(oneByOne count: Int) {
        let wasCautious = caution > 0
        caution = count
        if wasCautious, count == 0 { pulls.askForSingles(false) }
    }
}
