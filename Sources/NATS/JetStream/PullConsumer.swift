import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Fetches messages of one consumer in batches. Each takes a request for every few MiB, over an inbox of its own that ends
/// with it.
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
    /// - Throws: `noResponders` where the consumer is gone, or where the server does not know of it yet, as another one of its
    ///   cluster has just made it; ``NATSError/jetStream(_:)`` with the server's refusal.
    public func fetch(_ batch: Int, expires: Duration = .zero) async throws(NATSError) -> [StoredMessage] {
        var messages: [StoredMessage] = []
        do throws(NATSError) {
            // What a message without bytes keeps back would come again only after its time.
            let oneByOne = jetStream.isImported
            try await fetch(max(1, batch), expires: expires, oneByOne: oneByOne, into: &messages)
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
    ///   - oneByOne: asks for each message by itself, many at a time. Otherwise one without headers and payload may end a
    ///     pull before its time.
    ///   - messages: takes them; what is in it counts.
    /// - Returns: whether such a message has cut off what follows it.
    @discardableResult
    func fetch(
        _ batch: Int, bytes: Int = .max, expires: Duration, oneByOne: Bool = false, into messages: inout [StoredMessage]
    ) async throws(NATSError) -> Bool {
        let end = NIODeadline.now() + .nanoseconds(expires.nanoseconds)
        var budget = PullBudget(
            maximumPayload: jetStream.connection.maximumPayload, asked: jetStream.pullBytes, most: bytes)
        messages.reserveCapacity(min(batch, 1_000))
        let before = messages.reduce(0) { $0 + $1.size }
        var isLarge = false
        while messages.count < batch, before + budget.brought < bytes {
            var patience = Duration.zero
            if expires > .zero {
                patience = max(Duration.zero, .nanoseconds((end - .now()).nanoseconds))
                if patience == .zero, !messages.isEmpty { return false }
            }
            let room = bytes - before - budget.brought
            // The first message comes however large it is, and then alone.
            let size = messages.isEmpty ? budget.next : min(budget.next, room)
            var count = size > room ? 1 : min(batch - messages.count, Self.largestPull)
            if oneByOne { count = isLarge ? 1 : min(count, Self.singles) }
            let ending = try await pull(
                count, bytes: size, expires: patience, oneByOne: oneByOne, until: end, within: &budget, into: &messages)
            isLarge = false
            switch ending {
            case .complete: continue
            case .exhausted: return false
            case .cut: return true
            case .tooSmall where oneByOne && count > 1: isLarge = true
            case .tooSmall: if size >= room, !messages.isEmpty { return false }
            }
        }
        return false
    }

    /// So many messages at most are asked for at once, as the buffer between the socket and this reader is bounded.
    private static let largestPull = 32_768
    /// So many are asked for one by one at a time; a server keeps hardly more requests of a consumer waiting.
    private static let singles = 128

    private enum Ending {
        /// As many messages, or bytes, as were asked for have come.
        case complete
        /// There are no more, or the time is up.
        case exhausted
        /// The next message has more bytes than were left.
        case tooSmall
        /// A message without bytes has ended the pull, and what the server sends for it from there on reaches nobody.
        case cut
    }

    /// Adds what one request brings to `messages`, or one for each message, which share the bytes.
    ///
    /// - Parameters:
    ///   - expires: how long the server waits for messages; zero takes only what is there.
    ///   - end: when the server has stopped waiting. What it has to say is here soon after that, or after what came last.
    private func pull(
        _ count: Int, bytes: Int, expires: Duration, oneByOne: Bool, until end: NIODeadline,
        within budget: inout PullBudget, into messages: inout [StoredMessage]
    ) async throws(NATSError) -> Ending {
        // What is asked for by one request of several says nothing of how many bytes all of them may bring.
        let requests = oneByOne ? count : 1
        var request = "{\"batch\":\(count / requests),\"max_bytes\":\(max(1, bytes / requests))"
        request += expires == .zero ? ",\"no_wait\":true}" : ",\"expires\":\(expires.nanoseconds)}"
        let inbox = jetStream.connection.newInbox()
        let limits = budget.bufferLimits(messages: 2 * Self.largestPull)
        let subscription = try jetStream.connection.subscribe(to: inbox, limits: limits)
        // Whatever the server keeps for this request goes with the subscription.
        defer { subscription.unsubscribe() }
        let subject = jetStream.prefix + "CONSUMER.MSG.NEXT.\(stream).\(consumer)"
        for _ in 0..<requests {
            try jetStream.connection.publish(ByteBuffer(string: request), to: subject, reply: inbox)
        }
        if expires == .zero { jetStream.connection.confirm() }
        budget.began(0, messages: count, bytes: bytes, isBounded: requests == 1)
        var (left, ending) = (requests, Ending.complete)
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
                if requests > 1 { left -= 1 } else if message.endsAnswers { return .cut }
            } else {
                switch PullStatus(message) {
                case .alive, nil: continue
                case .ended: if ending != .tooSmall { ending = .exhausted }
                case .tooSmall: ending = .tooSmall
                case .unheard: throw .noResponders(subject: subject)
                case .failed(let failure): throw .jetStream(failure)
                }
                left -= 1
            }
            guard left == 0 else { continue }
            try budget.ended(at: 0, isTooSmall: ending == .tooSmall && requests == 1)
            return ending
        }
    }

    /// Acknowledges a message, without waiting for the server's confirmation.
    public func acknowledge(_ message: StoredMessage) throws(NATSError) {
        guard let subject = message.acknowledgementSubject else { return }
        _ = try jetStream.connection.publishChecked(Self.acknowledgement, to: subject, reply: nil, headers: nil)
    }

    private static let acknowledgement = ByteBuffer(string: "+ACK")
}
