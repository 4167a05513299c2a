import NATS
import NIOPosix

// What is received is kept in the local store, where that is a file, and read from it while there is no connection.
extension RelayClient {
    /// Whether what is received is kept.
    var keepsMessages: Bool { configuration.store.keepsMessages }

    /// Opens the local store on a thread that may wait for the disk, and tells how that went. The outbox gets back what
    /// is kept of it before anyone else has the store.
    ///
    /// - Returns: the store; nil where nothing is kept, or it cannot be opened.
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

    /// The local store, once it is open: the one on the disk, or none where it cannot be opened or nothing is kept.
    package func keptStore() async -> LocalStore? {
        guard keepsMessages else { return nil }
        return await openingStore().value
    }

    /// What the local store cannot keep, and that it keeps everything again, each once: a disk that is full, say. The
    /// connection goes on meanwhile. Waits for the opening of the store.
    ///
    /// - Returns: the news; nil where the configuration's store is no file, or could not be opened.
    public func storeNews() async -> AsyncStream<StoreNews>? { await keptStore()?.news }

    /// What the store is to have of a subscription; nil where nothing is kept.
    func keeping(_ pattern: TopicPattern) -> StreamKeeping<TopicEvent>? {
        guard keepsMessages else { return nil }
        return StreamKeeping<TopicEvent>(name: pattern.text, opening: openingStore()) { event, stored, stream in
            KeptMessage(stored, of: stream, read: event)
        }
    }

    /// What this machine keeps of a topic, connected or not: the newest messages before a place in the stream that came
    /// to this machine, by a subscription or by `history`, oldest first. Waits for the opening of the local store and
    /// for nothing else. What has just arrived may take 100 ms until it is here.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern, as it was subscribed to.
    ///   - sequence: the place in the stream as it was last met; nil for its end.
    ///   - limit: most messages, 1 to 10,000.
    ///   - acrossHoles: whether what lies beyond messages that the network was never asked for comes too, with that
    ///     hole; the page ends there otherwise.
    /// - Returns: the messages, with the holes between them; none where the configuration's store is no file, or could
    ///   not be opened. The network may hold older ones.
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

    /// A message of a stream, with what the reading of it found.
    init(_ stored: StoredMessage, of stream: StreamIdentity, read event: TopicEvent) {
        let message: TopicMessage? = if case .message(let message) = event { message } else { nil }
        self.init(
            place: KeptPlace(stream: stream, sequence: stored.sequence),
            topic: message?.topic ?? TopicMessage.topic(ofSubject: stored.subject), id: message?.id,
            from: message?.from, time: Timestamp(milliseconds: stored.time.milliseconds),
            payload: Array(stored.payload.readableBytesView), isOwn: message?.isOwn ?? false)
    }

    /// The message as a reader of its topic gets it.
    package var event: TopicEvent {
        message.map { .message($0) } ?? .unreadable(sequence: place.sequence, topic: topic, bytes: payload.count)
    }

    /// What it says, with all that its payload holds where that is asked for; nil where it cannot be read.
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
