import NATS
import NIOPosix

// Received messages are stored in the local store, if that is a file, and read from it without a connection.
extension RelayClient {
    var keepsMessages: Bool { configuration.store.isFile }

    /// Opens the local store on a thread that may block, and reports the outcome. The outbox is restored before
    /// anything else uses the store.
    ///
    /// - Returns: The store; nil without one, or if it cannot be opened.
    func beginOpeningStore() -> Task<LocalStore?, Never> {
        let (location, retention, upkeep) = (configuration.store, configuration.retention, lifecycle.upkeep)
        return Task { [publisher, clock = surroundings.clock, board = boards.stores] in
            let path: String
            switch location {
            case .nowhere:
                board.post(.nowhere)
                return nil
            case .file(let place): path = place
            }
            // Disks may be slow, and the pool of tasks is small.
            let opened = try? await NIOThreadPool.singleton.runIfActive { LocalStore.openIfPossible(path) }
            let (store, opening) = opened ?? (nil, .failed(.storage("the system has no thread left to open it")))
            if let store {
                await publisher.keep(in: store)
                store.lookAfter(retention, by: clock, while: upkeep)
            } else {
                publisher.turnOffKeeping()
            }
            board.post(opening)
            return store
        }
    }

    /// The local store once it is open; nil without one, or if it cannot be opened.
    package func keptStore() async -> LocalStore? {
        guard keepsMessages else { return nil }
        return await openingStore().value
    }

    /// Storage failures and recoveries, such as a full disk; each is reported once. The connection continues meanwhile.
    /// Waits for the store to open.
    ///
    /// - Returns: The news; nil if the configuration's store is no file, or could not be opened.
    public func storeNews() async -> AsyncStream<StoreNews>? { await keptStore()?.news }

    /// How to store a subscription; nil without a store.
    func keeping(_ pattern: TopicPattern) -> StreamKeeping<TopicEvent>? {
        guard keepsMessages else { return nil }
        return StreamKeeping<TopicEvent>(name: pattern.text, opening: openingStore()) { event, stored, stream in
            KeptMessage(stored, of: stream, read: event)
        }
    }

    /// A topic's messages on this machine, connected or not: the newest ones before a place in the stream, received by
    /// a subscription or by `history`, oldest first. Waits only for the local store to open. A message may take 100 ms
    /// to appear here.
    ///
    /// - Parameters:
    ///   - topic: A topic or pattern, as it was subscribed to.
    ///   - sequence: The place in the newest known stream; nil for its end.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - acrossHoles: Whether the page continues across messages that were never requested from the network,
    ///     reporting that hole, rather than end there.
    /// - Returns: The messages, with the holes between them; none if the configuration's store is no file, or could not
    ///   be opened. The network may have older ones.
    /// - Throws: ``RelayError/invalidTopic(_:)``, ``RelayError/invalidArgument(_:)``, ``RelayError/storage(_:)``.
    public func keptMessages(
        topic: String, before sequence: UInt64? = nil, limit: Int, acrossHoles: Bool = false
    ) async throws(RelayError) -> KeptPage {
        let pattern = try Self.pattern(topic)
        try LocalStore.check(limit)
        guard let store = await keptStore() else { return .nothing }
        return try await store.received(of: pattern, before: sequence, limit: limit, acrossHoles: acrossHoles)
    }
}

extension KeptMessage {
    /// A message as the server sent it.
    init(reading stored: StoredMessage, of stream: StreamIdentity, own: OwnMessages? = nil) {
        let (event, _) = stored.payload.withUnsafeReadableBytes {
            TopicEvent.reading(stored, $0, isRecovered: false, own: own)
        }
        self.init(stored, of: stream, read: event)
    }

    /// A message of a stream, together with its decoded event.
    init(_ stored: StoredMessage, of stream: StreamIdentity, read event: TopicEvent) {
        let message: TopicMessage? = if case .message(let message) = event { message } else { nil }
        self.init(
            place: KeptPlace(stream: stream, sequence: stored.sequence),
            topic: message?.topic ?? TopicMessage.topic(ofSubject: stored.subject), id: message?.id,
            from: message?.from, time: Timestamp(milliseconds: stored.time.milliseconds),
            payload: Array(stored.payload.readableBytesView), isOwn: message?.isOwn ?? false)
    }

    /// The message as its topic's readers receive it.
    package var event: TopicEvent {
        message.map { .message($0) } ?? .unreadable(sequence: place.sequence, topic: topic, bytes: payload.count)
    }

    /// The decoded message, with its entire payload if requested; nil if it cannot be decoded.
    func reading(withPayload: Bool) -> TopicMessage? {
        guard withPayload else { return message }
        let map = MessageMap(payload: payload)
        guard var message else {
            return map.map { TopicMessage(whole: $0, topic: topic, sequence: place.sequence, time: time) }
        }
        message.payload = map
        return message
    }
}
