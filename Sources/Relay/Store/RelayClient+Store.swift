// What is received is kept in the local store, where that is a file, and read from it while there is no connection.
extension RelayClient {
    /// Whether what is received outlives the client.
    private var keepsMessages: Bool {
        if case .file = configuration.store { true } else { false }
    }

    /// The local store, once it is open: the one on the disk, or none where it cannot be opened or nothing is kept.
    package func keptStore() async -> LocalStore? {
        guard keepsMessages else { return nil }
        return await openingStore().value
    }

    /// What the store is to have of a subscription; nil where nothing is kept.
    func keeping(_ pattern: TopicPattern) -> StreamKeeping<TopicEvent>? {
        guard keepsMessages else { return nil }
        return StreamKeeping<TopicEvent>(name: pattern.text, opening: openingStore()) { event in
            switch event {
            case .message(let message): return KeptReading(topic: message.topic, message: message)
            case .unreadable(_, let topic, _): return KeptReading(topic: topic, message: nil)
            case .gap, .live, .restarted, .interrupted: return nil
            }
        }
    }

    /// What this machine keeps of a topic, connected or not: the newest messages that a subscription to it received before
    /// a place in the stream, oldest first. Waits for the opening of the local store and for nothing else. What has just
    /// arrived may take 100 ms until it is here.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern, as it was subscribed to.
    ///   - sequence: the place in the stream as it was last met; nil for its end.
    ///   - limit: most messages, 1 to 10,000.
    /// - Returns: the messages, with the holes between them; none where the configuration's store is no file, or could not
    ///   be opened. The network may hold older ones.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func keptMessages(
        topic: String, before sequence: UInt64? = nil, limit: Int
    ) async throws(RelayError) -> KeptPage {
        let pattern = try Self.pattern(topic)
        guard (1...10_000).contains(limit) else { throw .invalidArgument("The limit is from 1 to 10000") }
        guard let store = await keptStore() else { return KeptPage(messages: [], isComplete: true) }
        return try await store.received(of: pattern, before: sequence, limit: limit)
    }

    /// The bytes of a part of a topic's past.
    private static let partBytes = 64 << 20

    /// What the store has of a topic's past, in the stream as it was last met.
    func keptHistory(
        of pattern: TopicPattern, from start: Timestamp, through end: Timestamp?, after sequence: UInt64?, limit: Int,
        withPayload: Bool
    ) async throws(RelayError) -> TopicHistory {
        var history = TopicHistory(messages: [], isOffline: true)
        guard let store = await keptStore(), let stream = try await store.newestStream() else { return history }
        var place = KeptPlace(stream: stream, sequence: sequence ?? 0)
        var count = 0
        var bytes = 0
        while count < limit {
            let page = try await store.messages(
                of: pattern, from: start, through: end, after: place, limit: min(100, limit - count))
            for kept in page.messages {
                bytes += kept.payload.count
                if let message = kept.reading(withPayload: withPayload) { history.messages.append(message) }
            }
            count += page.messages.count
            guard !page.isComplete, let last = page.messages.last else { break }
            place = last.place
            if bytes >= Self.partBytes, count < limit {
                history.next = place.sequence
                break
            }
        }
        return history
    }
}

extension KeptMessage {
    /// What it says, with all that its payload holds where that is asked for; nil where it cannot be read.
    func reading(withPayload: Bool) -> TopicMessage? {
        guard var message else { return nil }
        if withPayload { message.payload = MessageMap(payload: payload) }
        return message
    }
}
