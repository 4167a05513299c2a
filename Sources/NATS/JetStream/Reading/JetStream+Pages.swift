import NIOCore

extension JetStream {
    /// One page of a stream, in order, with two requests, and a further one for every few MiB. Deleted messages are
    /// skipped. A page ends before the message that would make it more than `bytes`, headers and subjects included, and
    /// has one message at least where there is one.
    ///
    /// - Returns: the messages and how many match behind them. Where that is more than none, and the messages are fewer
    ///   than `limit`, it was `bytes` that ended the page; where there are no messages at all, a replica that answered
    ///   is not as far as the stream.
    public func page(
        of stream: String, filter: String? = nil, from start: StartPosition, limit: Int, bytes: Int = 64 << 20
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        // Between two requests one may be busy with what the first has brought.
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(60))
        return try await read(configuration, in: stream, limit: limit, bytes: bytes)
    }

    /// The headers of messages, with empty payloads, in order, and how many messages match behind them. There may be
    /// fewer than `limit` even so, and none where a replica that answers is not as far as the stream.
    package func heads(
        of stream: String, filter: String? = nil, from start: StartPosition, limit: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        var configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(60))
        configuration.headersOnly = true
        return try await read(configuration, in: stream, limit: limit, bytes: 16 << 20)
    }

    private func read(
        _ configuration: ConsumerConfiguration, in stream: String, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        var configuration = configuration
        let end = NIODeadline.now() + .nanoseconds(timeout.nanoseconds)
        var pause = Duration.milliseconds(20)
        // A page that is not whole would hide a hole.
        var messages: [StoredMessage] = []
        var isCut = false
        let first = configuration.startSequence
        while true {
            let name = configuration.name
            let info = try await createConsumer(configuration, in: stream)
            defer { discardConsumer(name, in: stream) }
            guard info.pending > 0 else { return (messages, 0) }
            do throws(NATSError) {
                let wanted = messages.count + min(max(1, limit) - messages.count, Int(clamping: info.pending))
                let consumer = try PullConsumer(name, in: stream, self)
                isCut = try await consumer.fetch(
                    wanted, bytes: max(1, bytes), expires: .zero, oneByOne: isCut, into: &messages)
                try Self.check(messages, of: stream, from: first)
                guard isCut, messages.count < wanted else { return (messages, messages.last?.pending ?? info.pending) }
            } catch {
                // A server of a cluster that is just coming together may not know yet what another one has made.
                guard case .noResponders = error, NIODeadline.now() < end else { throw error }
                do { try await Task.sleep(for: pause) } catch { throw .cancelled }
                pause = min(pause * 2, .seconds(1))
            }
            // A message without bytes may have ended the pull: another consumer brings what follows it.
            if let last = messages.last { configuration.begin(at: .sequence(last.sequence + 1)) }
            configuration.name = UniqueToken.next()
        }
    }

    /// Readers go on behind the last message.
    private static func check(
        _ messages: [StoredMessage], of stream: String, from start: UInt64?
    ) throws(NATSError) {
        var previous: UInt64?
        for message in messages {
            guard message.sequence > previous ?? 0, message.sequence >= start ?? 1 else {
                throw .protocolViolation("messages of the stream \(stream) came out of order")
            }
            previous = message.sequence
        }
    }

    /// Makes a consumer for what the server says of it: how many messages match from a place on, behind which sequence
    /// that is, and what time it is.
    package func glance(
        at stream: String, from start: StartPosition, filter: String?
    ) async throws(NATSError) -> ConsumerInfo {
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(5))
        let info = try await createConsumer(configuration, in: stream)
        discardConsumer(configuration.name, in: stream)
        return info
    }

    /// Removes a consumer without waiting, or has the client's next connection do it where this one has ended.
    func discardConsumer(_ consumer: String, in stream: String) {
        let isLeft = { @Sendable [connection, leftConsumers] in
            if !connection.isOpen { leftConsumers.add((consumer, stream)) }
        }
        do throws(NATSError) {
            try connection.request(
                ByteBuffer(), to: prefix + "CONSUMER.DELETE.\(stream).\(consumer)", timeout: timeout
            ) { if case .failure = $0 { isLeft() } }
        } catch { isLeft() }
    }
}
