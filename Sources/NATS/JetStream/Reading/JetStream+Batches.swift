import NIOCore
import Platform

extension JetStream {
    private struct BatchRequest: Encodable {
        var seq: UInt64
        var filter: String
        var batch: Int
        var bytes: Int

        private enum CodingKeys: String, CodingKey {
            case seq, batch
            case filter = "next_by_subj"
            case bytes = "max_bytes"
        }
    }

    /// The most messages in one request, because the buffer between the socket and the reader is limited.
    private static let largestBatch = 1_000

    /// One page of a stream with direct access, in order, with a request for every few MiB and no consumer. Any replica
    /// may answer, even one that lacks the leader's latest changes. Deleted messages are skipped. A page ends before it
    /// would exceed `bytes`, headers included, but has at least one message if there is one.
    ///
    /// - Returns: The messages and how many match after them. Nil if this connection has no batches (``readsBatches``,
    ///   or a server before 2.11) or the answer is no batch: then read the page with a consumer.
    package func batch(
        of stream: String, filter: String? = nil, from sequence: UInt64, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64)? {
        guard readsBatches, connection.info.isAtLeast(2, 11) else { return nil }
        let subject = prefix + "DIRECT.GET." + (try name(stream))
        var page: [StoredMessage] = []
        var brought = 0
        var request = BatchRequest(seq: max(1, sequence), filter: filter ?? ">", batch: 0, bytes: 0)
        while true {
            request.batch = min(max(1, limit) - page.count, Self.largestBatch)
            request.bytes = max(1, min(pullBytes, bytes - brought))
            guard let part = try await ask(request, of: subject) else { return nil }
            for (index, message) in part.messages.enumerated() {
                // The server counts only part of a message, and only after sending it.
                guard page.isEmpty || brought + message.bytes <= bytes else {
                    let left = UInt64(part.messages.count - index)
                    return (page, part.pending + left)
                }
                brought += message.bytes
                page.append(message.stored)
            }
            guard part.pending > 0, let last = part.messages.last, page.count < max(1, limit), brought < bytes else {
                return (page, part.messages.isEmpty ? 0 : part.pending)
            }
            request.seq = last.stored.sequence + 1
        }
    }

    private struct BatchPart {
        var messages: [(stored: StoredMessage, bytes: Int)] = []
        var pending: UInt64 = 0
    }

    /// Sends one request and collects its answers; nil if they are not a complete batch.
    private func ask(_ request: BatchRequest, of subject: String) async throws(NATSError) -> BatchPart? {
        let body = try Self.json(request)
        let inbox = connection.newInbox()
        let largest = max(64 << 20, min(connection.maximumPayload, Int(Int32.max)))
        let limits = BufferLimits(
            messages: request.batch + 1, bytes: largest + 2 * PullBudget.usualBytes, overflow: .dropNewest)
        let subscription = try connection.subscribe(to: inbox, limits: limits)
        // The server drops its state of this request with the subscription.
        defer { subscription.unsubscribe() }
        try connection.publish(body, to: subject, reply: inbox)
        connection.confirm()
        // After a complete answer the connection is still open, and this does nothing.
        defer { readerEnded() }
        let patience = TimeAmount.nanoseconds(timeout.nanoseconds)
        var iterator = subscription.makeAsyncIterator()
        var part = BatchPart()
        var previous: UInt64 = 0
        while true {
            let next: NATSMessage?
            do throws(NATSError) {
                next = try await iterator.next(until: NIODeadline.now() + patience)
            } catch .timeout {
                // An export for single answers lets only the first one through.
                return nil
            }
            guard let message = next else { throw Task.isCancelled ? .cancelled : .closed }
            switch BatchAnswer(message) {
            case .message(let stored, let before):
                // Each message names the previous one, so that a missing one is noticed.
                guard before == previous, stored.sequence >= request.seq else { return nil }
                previous = stored.sequence
                part.messages.append((stored, message.content.readableBytes))
            case .end(let last, let pending):
                guard last == previous else { return nil }
                part.pending = pending
                return part
            case .nothing: return part.messages.isEmpty ? part : nil
            case nil: return nil
            }
        }
    }
}
