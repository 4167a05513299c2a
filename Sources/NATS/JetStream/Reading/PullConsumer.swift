import NIOCore

/// Fetches messages of one consumer in batches, with one request for every few MiB, each with an inbox of its own.
public struct PullConsumer: Sendable {
    private let jetStream: JetStream
    private let stream: String
    private let consumer: String

    /// Creates the reader of an existing consumer.
    public init(_ consumer: String, in stream: String, _ jetStream: JetStream) throws(NATSError) {
        self.jetStream = jetStream
        self.stream = try jetStream.name(stream)
        self.consumer = try jetStream.name(consumer)
    }

    /// Fetches up to `batch` messages, waiting at most `expires` for all of them; zero returns only those that are
    /// there.
    ///
    /// - Returns: The messages in order; empty if there were none. Messages that arrived before a failure are returned,
    ///   and the next call throws the failure.
    /// - Throws: `noResponders` if the consumer is gone, or the server does not know yet of one that another server of
    ///   its cluster has just created; ``NATSError/jetStream(_:)`` with the server's refusal.
    public func fetch(_ batch: Int, expires: Duration = .zero) async throws(NATSError) -> [StoredMessage] {
        var messages: [StoredMessage] = []
        do throws(NATSError) {
            // Messages that an empty one holds back would be delivered again only after the acknowledgement wait.
            let isImported = jetStream.isImported
            try await fetch(
                max(1, batch), expires: expires, oneByOne: isImported, isWhole: !isImported, into: &messages)
        } catch {
            // Unacknowledged messages would be delivered again only after their wait, and count as tried.
            if messages.isEmpty { throw error }
        }
        return messages
    }

    /// The most messages in one request, because the buffer between the socket and this reader is limited.
    private static let largestPull = 32_768
    /// How long a server waits for a message that it has announced and that was deleted since.
    private static let patience = Duration.seconds(1)

    /// As the public form, but also throws failures midway. Messages already in `messages` count. A message that would
    /// exceed `bytes` in all ends the fetch, unless it is the first. With `oneByOne`, each message has a request of its
    /// own, and more may be taken from the consumer than the bytes allow. Otherwise there is one request at a time,
    /// which a message without headers and payload may end, except with `isWhole`, for JetStream without imports.
    /// Returns whether such a message has ended a request, so that what follows it is lost.
    @discardableResult
    func fetch(
        _ batch: Int, bytes: Int = .max, expires: Duration, oneByOne: Bool = false, isWhole: Bool = false,
        into messages: inout [StoredMessage]
    ) async throws(NATSError) -> Bool {
        let end = NIODeadline.now() + .nanoseconds(expires.nanoseconds)
        let patience = TimeAmount.nanoseconds(jetStream.timeout.nanoseconds)
        let room = oneByOne ? 2 * PullBudget.singles : 2 * Self.largestPull
        let pulls = OpenPulls(from: "\(stream).\(consumer)", messages: room, bytes: bytes, jetStream)
        pulls.askForSingles(oneByOne)
        // After a complete answer the connection is still open, and this does nothing.
        defer { jetStream.readerEnded() }
        messages.reserveCapacity(min(batch, 1_000))
        var brought = messages.reduce(0) { $0 + $1.size }
        // Messages that arrived and were not read yet, the next one last.
        var arrived: [NATSMessage] = []
        // How many messages the server still has. A request that is alone finds out and is answered at once; with more
        // requests than messages, servers leave some requests unanswered.
        var (pending, isAlone) = (UInt64(0), true)
        while messages.count < batch, brought < bytes {
            if oneByOne || pulls.isEmpty {
                let left = max(.zero, Duration.nanoseconds((end - .now()).nanoseconds))
                let before = pulls.budget.pulls.count
                let mayAsk = expires == .zero || left > .zero || messages.isEmpty
                if mayAsk, oneByOne {
                    let wanted = min(PullBudget.singles, batch - messages.count, max(1, Int(clamping: pending)))
                    while pulls.budget.wantsSingle(of: wanted) {
                        isAlone = pulls.isEmpty && pending == 0
                        try pulls.add(1, expires: expires > .zero ? left : isAlone ? .zero : Self.patience)
                    }
                } else if mayAsk {
                    // The first message is delivered whatever its size, a large one alone.
                    let size = messages.isEmpty ? pulls.budget.next : min(pulls.budget.next, bytes - brought)
                    let isLarge = size > bytes - brought
                    let count = isLarge ? 1 : min(batch - messages.count, Self.largestPull)
                    try pulls.add(count, bytes: size, expires: left)
                }
                guard !pulls.isEmpty else { return false }
                if expires == .zero, pulls.budget.pulls.count > before { jetStream.connection.confirm() }
            }
            let asked = pulls.budget.bytes
            if arrived.isEmpty {
                try await pulls.buffer.refill(&arrived, until: max(NIODeadline.now(), end) + patience)
            }
            guard let message = arrived.popLast() else { throw Task.isCancelled ? .cancelled : .closed }
            if let place = message.reply.flatMap({ DeliveryPlace($0) }) {
                let endsEarly = pulls.received(message)
                let stored = StoredMessage(message, at: place)
                guard messages.isEmpty || brought + stored.size <= bytes else { return false }
                brought += stored.size
                messages.append(stored)
                pending = stored.pending ?? 0
                if endsEarly, !isWhole { return true }
                continue
            }
            switch try pulls.status(message) {
            case .alive?, nil: continue
            case .ended?:
                if isAlone { return false }
                pending = 0
            case .tooSmall?:
                if !oneByOne, asked >= bytes - brought, !messages.isEmpty { return false }
            case .unheard?: throw .noResponders(subject: pulls.subject)
            case .failed(let failure)?: throw .jetStream(failure)
            }
        }
        return false
    }

    /// Acknowledges a message, without waiting for the server's confirmation.
    public func acknowledge(_ message: StoredMessage) throws(NATSError) {
        guard let subject = message.acknowledgementSubject else { return }
        _ = try jetStream.connection.publishChecked(Self.acknowledgement, to: subject)
    }

    private static let acknowledgement = ByteBuffer(string: "+ACK")
}
