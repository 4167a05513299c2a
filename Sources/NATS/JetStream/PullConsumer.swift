import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Fetches messages of one consumer in batches, each over an inbox of its own that ends with it.
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
    public func fetch(_ batch: Int, expires: Duration = .zero) async throws(NATSError) -> [StoredMessage] {
        var messages: [StoredMessage] = []
        do throws(NATSError) {
            try await fetch(max(1, batch), expires: expires, into: &messages)
        } catch {
            // What is acknowledged one by one would be delivered again only after its time, and counts as tried.
            if messages.isEmpty { throw error }
        }
        return messages
    }

    /// As the public form, and throws what happens midway, too.
    fileprivate func fetch(
        _ batch: Int, expires: Duration, into messages: inout [StoredMessage]
    ) async throws(NATSError) {
        let noWait = expires == .zero
        var request = "{\"batch\":\(batch)"
        request += noWait ? ",\"no_wait\":true}" : ",\"expires\":\(expires.nanoseconds)}"
        let inbox = jetStream.connection.newInbox()
        let subscription = try jetStream.connection.subscribe(to: inbox)
        // Whatever the server keeps for this request goes with the subscription.
        defer { subscription.unsubscribe() }
        try jetStream.connection.publish(
            ByteBuffer(string: request), to: jetStream.prefix + "CONSUMER.MSG.NEXT.\(stream).\(consumer)", reply: inbox)
        let deadline = NIODeadline.now() + .nanoseconds((expires + jetStream.timeout).nanoseconds)
        var iterator = subscription.makeAsyncIterator()
        messages.reserveCapacity(min(batch, 1_000))
        while messages.count < batch {
            guard let message = try await iterator.next(until: deadline) else {
                throw Task.isCancelled ? .cancelled : .closed
            }
            if message.hasStatusLine, let block = message.headerBlock, let status = block.status {
                switch status {
                case 100: continue
                case 404, 408: return
                case 409 where block.statusText?.lowercased().contains("batch completed") == true: return
                default:
                    throw .jetStream(
                        JetStreamFailure(code: status, errorCode: 0, text: block.statusText ?? "pull refused"))
                }
            }
            if let stored = StoredMessage(delivered: message) { messages.append(stored) }
        }
    }

    /// Acknowledges a message, without waiting for the server's confirmation.
    public func acknowledge(_ message: StoredMessage) throws(NATSError) {
        guard let subject = message.acknowledgementSubject else { return }
        _ = try jetStream.connection.publishChecked(Self.acknowledgement, to: subject, reply: nil, headers: nil)
    }

    private static let acknowledgement = ByteBuffer(string: "+ACK")
}

extension JetStream {
    /// One page of a stream, in order, with two requests whatever its size.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - filter: only messages of this subject, wildcards allowed.
    ///   - sequence: where the page begins; deleted messages are skipped.
    ///   - limit: most messages, 1 or more.
    /// - Returns: the messages and how many match behind them.
    public func page(
        of stream: String, filter: String? = nil, from start: StartPosition, limit: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        var configuration = ConsumerConfiguration(
            name: UniqueToken.next(), from: start, filter: filter, acknowledgement: .none)
        configuration.inactiveThreshold = 10_000_000_000
        configuration.isInMemory = true
        configuration.replicas = 1
        let info = try await createConsumer(configuration, in: stream)
        defer { discardConsumer(configuration.name, in: stream) }
        guard info.pending > 0 else { return ([], 0) }
        let consumer = try PullConsumer(configuration.name, in: stream, self)
        // A page that is not whole would hide a hole.
        var messages: [StoredMessage] = []
        try await consumer.fetch(
            min(max(1, limit), Int(clamping: info.pending)), expires: .zero, into: &messages)
        let pending = messages.last?.pending ?? 0
        return (messages, pending)
    }

    /// Removes a consumer without waiting; the server removes it by itself if this is lost.
    package func discardConsumer(_ consumer: String, in stream: String) {
        _ = try? connection.request(
            ByteBuffer(), to: prefix + "CONSUMER.DELETE.\(stream).\(consumer)", timeout: timeout
        ) { _ in }
    }
}
