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

    /// So many messages at most are asked for at once, as the buffer between the socket and the reader is bounded.
    private static let largestBatch = 1_000

    /// One page of a stream that allows direct access, in order, with a single request for every few MiB and no
    /// consumer. Whoever holds a copy of the stream answers, which takes no notice of what the stream's leader alone
    /// knows yet. Deleted messages are skipped. A page ends before the message that would make it more than `bytes`,
    /// headers included, and has one message at least where there is one.
    ///
    /// - Returns: the messages and how many match behind them; nil where this connection has no batches
    ///   (``readsBatches``, and a server before 2.11), or the answer is none: a consumer reads the page then.
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
                // The server counts less than all of a message, and looks behind it.
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

    /// One request and its answers; nil where these are no batch, or not all of one.
    private func ask(_ request: BatchRequest, of subject: String) async throws(NATSError) -> BatchPart? {
        let body = try Self.json(request)
        let inbox = connection.newInbox()
        let largest = max(64 << 20, min(connection.maximumPayload, Int(Int32.max)))
        let limits = BufferLimits(
            messages: request.batch + 1, bytes: largest + 2 * PullBudget.usualBytes, overflow: .dropNewest)
        let subscription = try connection.subscribe(to: inbox, limits: limits)
        // Whatever the server keeps for this request goes with the subscription.
        defer { subscription.unsubscribe() }
        try connection.publish(body, to: subject, reply: inbox)
        connection.confirm()
        // Where all has come, the connection is there still.
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
                // An export for single answers lets the first one through, and no other.
                return nil
            }
            guard let message = next else { throw Task.isCancelled ? .cancelled : .closed }
            switch BatchAnswer(message) {
            case .message(let stored, let before):
                // Each names the one before it, so that none is missing.
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
