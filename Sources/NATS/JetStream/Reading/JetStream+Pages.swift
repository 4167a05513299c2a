import NIOCore

extension JetStream {
    /// One page of a stream, in order, with two requests and another for every few MiB. Deleted messages are skipped. A
    /// page ends before it would exceed `bytes`, headers and subjects included, but has at least one message if there
    /// is one.
    ///
    /// - Returns: The messages and how many match after them. If more match although the messages are fewer than
    ///   `limit`, `bytes` ended the page; if there are no messages at all, the replica that answered lags behind.
    public func page(
        of stream: String, filter: String? = nil, from start: StartPosition, limit: Int, bytes: Int = 64 << 20
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        // The reader may be busy with earlier messages between two requests.
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(60))
        return try await read(configuration, in: stream, limit: limit, bytes: bytes)
    }

    /// The headers of messages, with empty payloads, in order, and how many messages match after them. There may be
    /// fewer than `limit` even if more match, and none if the replica that answers lags behind.
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
        // A page must be complete: a reader would not notice a gap.
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
                // In a cluster that is just forming, a server may not know yet what another one has created.
                guard case .noResponders = error, NIODeadline.now() < end else { throw error }
                do { try await Task.sleep(for: pause) } catch { throw .cancelled }
                pause = min(pause * 2, .seconds(1))
            }
            // An empty message may have ended the pull: another consumer delivers what follows it.
            if let last = messages.last { configuration.begin(at: .sequence(last.sequence + 1)) }
            configuration.name = UniqueToken.next()
        }
    }

    /// Readers continue after the last message, so messages must be in order.
    private static func check(_ messages: [StoredMessage], of stream: String, from start: UInt64?) throws(NATSError) {
        var previous: UInt64?
        for message in messages {
            guard message.sequence > previous ?? 0, message.sequence >= start ?? 1 else {
                throw .protocolViolation("messages of the stream \(stream) came out of order")
            }
            previous = message.sequence
        }
    }

    /// Creates a consumer just for the server's description of it: how many messages match from a position on, after
    /// which sequence that is, and the server's time.
    package func glance(
        at stream: String, from start: StartPosition, filter: String?
    ) async throws(NATSError) -> ConsumerInfo {
        let configuration = ConsumerConfiguration.passing(from: start, filter: filter, for: .seconds(5))
        let info = try await createConsumer(configuration, in: stream)
        discardConsumer(configuration.name, in: stream)
        return info
    }

    /// Removes a consumer without waiting, or leaves that to the client's next connection if this one has ended.
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
