import NIOCore

/// One ephemeral consumer that delivers a stream's messages in order, from its making to its loss.
package final class LiveConsumer {
    package struct BatchLimits: Sendable {
        package var count: Int
        /// With so many bytes no further message is taken.
        package var bytes = Int.max
        /// Where none is at hand, so many are waited for, and for a few milliseconds at most behind the first. The
        /// server has to have that many.
        package var gathering = 1
        /// Whether a batch ends where the server has no more, even without a message.
        package var endsWhenCaughtUp = false

        package init(count: Int, bytes: Int = .max) {
            self.count = count
            self.bytes = bytes
        }
    }

    /// Why no more messages come.
    package enum Ending: Sendable {
        /// Task cancelled, or connection closed by its owner.
        case closed
        /// The consumer or a message of it is gone; another one has to take over.
        case lost
        /// A message without bytes has ended the pull that brought it, and what the server sends for that pull reaches
        /// nobody; another one has to take over.
        case cut
        case failed(NATSError)
    }

    /// Behind a message that has ended its pull, so many are asked for one by one: a pull for one message is over with
    /// it in any case, so that whoever stores many without bytes costs a reader no consumer for each.
    package static let caution = 512
    /// So many pulls for one message are under way where the server has no messages.
    private static let idleSingles = 4

    /// One read from the socket must not use up what the server may send: it would wait for the next request.
    private static let batch = 2_000
    /// As long as nothing bounds a pull's bytes it asks for fewer, as the reader's buffer does have a bound.
    private static let unboundedBatch = 500

    /// How many matching messages the stream held when the consumer was made.
    package let pendingAtStart: UInt64
    let sequenceAtStart: UInt64?
    let name: String
    private let jetStream: JetStream
    private let stream: String
    let pulls: OpenPulls
    /// What was taken out of the pulls' buffer, the next one last.
    private var arrived: [NATSMessage] = []
    private var expectedConsumerSequence: UInt64 = 1
    /// How many messages are on the list of each subject's newest one, which the server makes with the consumer. It
    /// strikes a message off that list before it knows whether a pull has room for it, so one that did not fit would be
    /// lost.
    let listed: UInt64
    /// Why no more messages come, as it was found behind the last of them.
    package private(set) var ending: Ending?
    /// Its filter, and the stream's sequence that it has come to; nil where the server did not say where it begins.
    private let filter: String?
    private var position: UInt64?
    /// How often the server has said that there is nothing, and when another copy of the stream is asked.
    private var silence = (count: 0, nextComparison: 2)
    /// How many messages the server has that have not come, as far as it has said.
    package private(set) var pending: UInt64
    private(set) var caution: Int

    var received: UInt64 { expectedConsumerSequence - 1 }

    private var heartbeat: Duration { jetStream.heartbeat }
    /// How long the server keeps a pull. It takes no heartbeat that is longer than half of that.
    private var expires: Duration { heartbeat * 3 }

    /// Makes a consumer: everything stored from here on is delivered. As many messages as `caution` says are asked for
    /// one by one; making it takes no longer than the limit, or than usual.
    package init(
        in stream: String, filter: String?, from start: StartPosition, caution: Int = 0, within limit: Duration? = nil,
        _ jetStream: JetStream, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) {
        self.jetStream = jetStream
        self.stream = stream
        self.filter = filter
        self.caution = caution
        // A reader that pauses for longer has a new consumer made behind its cursor when it goes on.
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(60))
        name = configuration.name
        pulls = OpenPulls(from: "\(stream).\(name)", messages: 4 * Self.batch, jetStream)
        var hasty = jetStream
        if let limit { hasty.timeout = min(limit, jetStream.timeout) }
        let info = try await hasty.createConsumer(configuration, in: stream)
        (pendingAtStart, sequenceAtStart) = (info.pending, info.deliveredSequence)
        pending = info.pending
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
                try pulls.add(1, isBounded: isBounded, expires: expires, heartbeat: heartbeat)
            }
            return
        }
        let count = isBounded ? Self.batch : Self.unboundedBatch
        guard pulls.budget.wantsPull(of: count) else { return }
        try pulls.add(count, isBounded: isBounded, expires: expires, heartbeat: heartbeat)
    }

    /// Waits for messages, and takes those that are at hand then; none where no more come, for which ``ending`` has the
    /// reason. Throws `timeout` at the deadline, and a failure once the messages before it were taken.
    package func next(
        _ limits: BatchLimits, until deadline: NIODeadline? = nil, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) -> [StoredMessage] {
        // Another task may go on where one was cancelled.
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
                    // What has come while the question was under way goes first.
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
        // Two missed heartbeats mean that the consumer is gone, whatever became of it.
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
                // What it has sent and what has come are the same, unless the last of it was lost on the way.
                if sent >= expectedConsumerSequence { ending = .lost }
                // The server waits: what it had besides is gone from the stream.
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

    /// Whether another consumer is to be asked, as the server has said once more that there is nothing: after two
    /// heartbeats of a consumer's life, four, eight and so on, so that a network's idle readers cost it next to
    /// nothing.
    private var isComparisonDue: Bool {
        guard silence.count >= silence.nextComparison else { return false }
        silence.nextComparison *= 2
        return true
    }

    /// Whether the stream has messages that this consumer says it has not. A consumer reads the copy of the server that
    /// it lives on. Where that copy does not catch up with the others, it reports silence for as long; and servers have
    /// passed over a message that was stored while they looked for it. A new consumer of a cluster lives on a server
    /// that is drawn anew, and shows how many messages that one has.
    private func hasFallenBehind(isolation actor: isolated (any Actor)?) async -> Bool {
        guard let position else { return false }
        // Without an answer nothing is known; the next time is not far.
        let info = try? await jetStream.glance(at: stream, from: .sequence(position + 1), filter: filter)
        return info.map { $0.pending > 0 } ?? false
    }

    /// Asks for so many more messages one by one, and then for many at once.
    private func goOn(oneByOne count: Int) {
        let wasCautious = caution > 0
        caution = count
        if wasCautious, count == 0 { pulls.askForSingles(false) }
    }
}
