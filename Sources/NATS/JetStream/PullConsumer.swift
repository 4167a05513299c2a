import NIOCore
import Platform

/// Fetches messages of one consumer in batches. Each takes a request for every few MiB, over an inbox of its own that
/// ends with it.
public struct PullConsumer: Sendable {
    private let jetStream: JetStream
    private let stream: String
    private let consumer: String

    /// Creates the reader of an existing consumer.
    ///
    /// - Parameters:
    ///   - consumer: its name.
    ///   - stream: its stream's name.
    ///   - jetStream: where they live.
    public init(_ consumer: String, in stream: String, _ jetStream: JetStream) throws(NATSError) {
        self.jetStream = jetStream
        self.stream = try jetStream.name(stream)
        self.consumer = try jetStream.name(consumer)
    }

    /// Fetches up to `batch` messages, waiting at most `expires` for all of them.
    ///
    /// - Parameters:
    ///   - batch: most messages.
    ///   - expires: how long the server waits for messages; zero takes only what is there.
    /// - Returns: the messages in order; empty when none came. Those that came before a failure are returned, and the
    ///   failure is the next call's.
    /// - Throws: `noResponders` where the consumer is gone, or where the server does not know of it yet, as another one
    ///   of its cluster has just made it; ``NATSError/jetStream(_:)`` with the server's refusal.
    public func fetch(_ batch: Int, expires: Duration = .zero) async throws(NATSError) -> [StoredMessage] {
        var messages: [StoredMessage] = []
        do throws(NATSError) {
            // What a message without bytes keeps back would come again only after its time.
            let isImported = jetStream.isImported
            try await fetch(
                max(1, batch), expires: expires, oneByOne: isImported, isWhole: !isImported, into: &messages)
        } catch {
            // Messages that want their own acknowledgement would be delivered again only after their time, and count as
            // tried.
            if messages.isEmpty { throw error }
        }
        return messages
    }

    /// As the public form, and throws what happens midway, too.
    ///
    /// - Parameters:
    ///   - bytes: ends before a message that would make all of them together more than so many bytes, unless it is the
    ///     first.
    ///   - oneByOne: asks for each message by itself. Otherwise one without headers and payload may end a request.
    ///   - isWhole: whether such a message ends no request, as where JetStream is no import.
    ///   - messages: takes them; what is in it counts.
    /// - Returns: whether such a message has ended a request, so that what follows it is lost.
    @discardableResult
    func fetch(
        _ batch: Int, bytes: Int = .max, expires: Duration, oneByOne: Bool = false, isWhole: Bool = false,
        into messages: inout [StoredMessage]
    ) async throws(NATSError) -> Bool {
        if oneByOne {
            try await fetchOneByOne(batch, bytes: bytes, expires: expires, into: &messages)
            return false
        }
        let end = NIODeadline.now() + .nanoseconds(expires.nanoseconds)
        var budget = PullBudget(
            maximumPayload: jetStream.connection.maximumPayload, asked: jetStream.pullBytes, most: bytes)
        messages.reserveCapacity(min(batch, 1_000))
        let before = messages.reduce(0) { $0 + $1.size }
        while messages.count < batch, before + budget.brought < bytes {
            var patience = Duration.zero
            if expires > .zero {
                patience = max(Duration.zero, .nanoseconds((end - .now()).nanoseconds))
                if patience == .zero, !messages.isEmpty { return false }
            }
            let room = bytes - before - budget.brought
            // The first message comes however large it is, and then alone.
            let size = messages.isEmpty ? budget.next : min(budget.next, room)
            let count = size > room ? 1 : min(batch - messages.count, Self.largestPull)
            let ending = try await pull(
                count, bytes: size, expires: patience, until: end, isWhole: isWhole, within: &budget, into: &messages)
            switch ending {
            case .complete: continue
            case .exhausted: return false
            case .cut: return true
            case .tooSmall: if size >= room, !messages.isEmpty { return false }
            }
        }
        return false
    }

    /// How long a server waits for a message that it has announced and that was deleted since.
    private static let patience = Duration.seconds(1)

    /// As `fetch`, with a request for each message, as many of them at a time as there are messages. More messages than
    /// the bytes allow may be taken from the consumer.
    private func fetchOneByOne(
        _ batch: Int, bytes: Int, expires: Duration, into messages: inout [StoredMessage]
    ) async throws(NATSError) {
        let end = NIODeadline.now() + .nanoseconds(expires.nanoseconds)
        let answer = TimeAmount.nanoseconds(jetStream.timeout.nanoseconds)
        let pulls = OpenPulls(from: "\(stream).\(consumer)", messages: 2 * PullBudget.singles, jetStream)
        pulls.askForSingles(true)
        defer { jetStream.readerEnded() }
        var brought = messages.reduce(0) { $0 + $1.size }
        // How many messages the server has still. A request that is alone finds out, and is answered at once; where
        // there are more requests than messages, servers forget to tell some of them.
        var (pending, isAlone): (UInt64, Bool) = (0, false)
        while messages.count < batch, brought < bytes {
            let left = max(.zero, Duration.nanoseconds((end - .now()).nanoseconds))
            if expires == .zero || left > .zero {
                let wanted = min(PullBudget.singles, batch - messages.count, max(1, Int(clamping: pending)))
                let before = pulls.budget.pulls.count
                while pulls.budget.wantsSingle(of: wanted) {
                    isAlone = pulls.budget.pulls.isEmpty && pending == 0
                    let expires = expires > .zero ? left : isAlone ? .zero : Self.patience
                    try pulls.add(1, isBounded: true, expires: expires, heartbeat: nil)
                }
                if expires == .zero, pulls.budget.pulls.count > before { jetStream.connection.confirm() }
            }
            guard !pulls.budget.pulls.isEmpty else { return }
            var next = pulls.nextReady()
            if next == nil {
                next = try await pulls.next(
                    until: max(NIODeadline.now(), end) + answer, gathering: 1, isolation: nil)
            }
            guard let message = next else { throw Task.isCancelled ? .cancelled : .closed }
            if let stored = StoredMessage(delivered: message) {
                pulls.delivered(message)
                guard messages.isEmpty || brought + stored.size <= bytes else { return }
                brought += stored.size
                messages.append(stored)
                pending = stored.pending ?? 0
                continue
            }
            switch PullStatus(message) {
            case .alive, nil: continue
            case .ended:
                try pulls.ended(message, isTooSmall: false)
                if isAlone { return }
                pending = 0
            case .tooSmall: try pulls.ended(message, isTooSmall: true)
            case .unheard:
                throw .noResponders(subject: jetStream.prefix + "CONSUMER.MSG.NEXT.\(stream).\(consumer)")
            case .failed(let failure): throw .jetStream(failure)
            }
        }
    }

    /// So many messages at most are asked for at once, as the buffer between the socket and this reader is bounded.
    private static let largestPull = 32_768

    private enum Ending {
        /// As many messages, or bytes, as were asked for have come.
        case complete
        /// There are no more, or the time is up.
        case exhausted
        /// The next message has more bytes than were left.
        case tooSmall
        /// A message without headers and payload has ended the request, and what follows it reaches nobody.
        case cut
    }

    /// Adds what one request brings to `messages`.
    ///
    /// - Parameters:
    ///   - expires: how long the server waits for messages; zero takes only what is there.
    ///   - end: when the server has stopped waiting. What it has to say is here soon after that, or after what came
    ///     last.
    private func pull(
        _ count: Int, bytes: Int, expires: Duration, until end: NIODeadline, isWhole: Bool,
        within budget: inout PullBudget, into messages: inout [StoredMessage]
    ) async throws(NATSError) -> Ending {
        var request = "{\"batch\":\(count),\"max_bytes\":\(bytes)"
        request += expires == .zero ? ",\"no_wait\":true}" : ",\"expires\":\(expires.nanoseconds)}"
        let inbox = jetStream.connection.newInbox()
        let limits = budget.bufferLimits(messages: 2 * Self.largestPull)
        let subscription = try jetStream.connection.subscribe(to: inbox, limits: limits)
        // Whatever the server keeps for this request goes with the subscription.
        defer { subscription.unsubscribe() }
        let subject = jetStream.prefix + "CONSUMER.MSG.NEXT.\(stream).\(consumer)"
        try jetStream.connection.publish(ByteBuffer(string: request), to: subject, reply: inbox)
        if expires == .zero { jetStream.connection.confirm() }
        budget.began(0, messages: count, bytes: bytes)
        let patience = TimeAmount.nanoseconds(jetStream.timeout.nanoseconds)
        var iterator = subscription.makeAsyncIterator()
        // Where all has come, the connection is there still.
        defer { jetStream.readerEnded() }
        while true {
            var next = iterator.nextReady()
            if next == nil { next = try await iterator.next(until: max(NIODeadline.now(), end) + patience) }
            guard let message = next else { throw Task.isCancelled ? .cancelled : .closed }
            if let stored = StoredMessage(delivered: message) {
                messages.append(stored)
                if budget.received(PullBudget.size(of: message), at: 0) { return .complete }
                if message.endsAnswers, !isWhole { return .cut }
                continue
            }
            switch PullStatus(message) {
            case .alive, nil: continue
            case .ended: return .exhausted
            case .tooSmall:
                try budget.ended(at: 0, isTooSmall: true)
                return .tooSmall
            case .unheard: throw .noResponders(subject: subject)
            case .failed(let failure): throw .jetStream(failure)
            }
        }
    }

    /// Acknowledges a message, without waiting for the server's confirmation.
    public func acknowledge(_ message: StoredMessage) throws(NATSError) {
        guard let subject = message.acknowledgementSubject else { return }
        _ = try jetStream.connection.publishChecked(Self.acknowledgement, to: subject, reply: nil, headers: nil)
    }

    private static let acknowledgement = ByteBuffer(string: "+ACK")
}
