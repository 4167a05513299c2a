import NATS
import NIOCore

/// Presence: drives ``PresenceMachine`` over the present connection. Belongs to the client's isolation.
final class PresenceDriver {
    private var machine = PresenceMachine()
    private var readers: [String: AsyncStream<PresenceRoster>.Continuation] = [:]
    private var reading: [String: Task<Void, Never>] = [:]
    private var timers = TimerSet<PresenceMachine.TimerID>()

    /// The most entries handled together.
    private static let batch = 500

    deinit {
        timers.cancelAll()
        for task in reading.values { task.cancel() }
        for reader in readers.values { reader.finish() }
    }

    /// Whether the network has presence; nil while unknown.
    var isAvailable: Bool? { machine.isAvailable }
    /// Whether the user appears anywhere, or anyone is watched.
    var isInUse: Bool { machine.isInUse }

    /// When the next entry of a watched topic, or its user's typing, expires; nil if none does.
    func nextEnd(of topic: String) -> ContinuousClock.Instant? { machine.nextEnd(of: topic) }

    /// The roster of a topic, now and whenever it changes; nil if too many topics are watched.
    func rosters(of topic: String, for client: isolated RelayClient) -> AsyncStream<PresenceRoster>? {
        guard machine.mayWatch(topic) else { return nil }
        let id = UniqueToken.next()
        let (rosters, reader) = AsyncStream.makeStream(of: PresenceRoster.self, bufferingPolicy: .bufferingNewest(1))
        reader.onTermination = { [weak client] _ in
            Task { await client?.run { $0.presence.readerLeft(id, topic: topic, for: $0) } }
        }
        readers[id] = reader
        handle(.readerCame(id: id, topic: topic), for: client)
        return rosters
    }

    private func readerLeft(_ id: String, topic: String, for client: isolated RelayClient) {
        readers[id] = nil
        handle(.readerLeft(id: id, topic: topic), for: client)
    }

    /// Feeds the machine an event and carries out its actions.
    ///
    /// - Parameter link: The connection to use; nil for the present one.
    /// - Returns: Whether anything was written that has yet to leave.
    @discardableResult
    func handle(_ event: PresenceMachine.Event, over link: LiveLink? = nil, for client: isolated RelayClient) -> Bool {
        let configuration = client.configuration
        let actions = machine.handle(
            event,
            PresenceMachine.Circumstances(
                now: client.surroundings.clock.now, user: configuration.user, granted: client.namespace?.topics,
                policy: configuration.presence))
        for action in actions { perform(action, over: link ?? client.link, for: client) }
        return actions.contains { if case .write = $0 { true } else { false } }
    }

    private func perform(_ action: PresenceMachine.Action, over link: LiveLink?, for client: isolated RelayClient) {
        switch action {
        case .write(let writes, let user, let device, let asks):
            guard let link, let jetStream = link.jetStream else { return }
            Self.write(writes, of: user, device, jetStream, asksThrough: asks ? link : nil)
        case .read(let topic):
            guard let link else { return }
            reading[topic] = Self.reading(topic, over: link)
        case .stop(let topic): reading.removeValue(forKey: topic)?.cancel()
        case .startTimer(let id, let moment):
            timers.start(id, at: moment, on: client.surroundings.clock, for: client) { client in
                client.presence.timers.cancel(id)
                client.presence.handle(.timerFired(id), for: client)
            }
        case .cancelTimer(let id): timers.cancel(id)
        case .tell(let ids, let roster): for id in ids { readers[id]?.yield(roster) }
        }
    }

    /// - Parameter link: Receives the network's answer to the first of them; nil asks for none.
    private static func write(
        _ writes: [PresenceAnnouncement.Write], of user: String, _ device: String, _ jetStream: JetStream,
        asksThrough link: LiveLink?
    ) {
        jetStream.connection.together {
            for (index, write) in writes.enumerated() {
                let subject = PresenceEntry.subject(user: user, device: device, topic: write.topic)
                let value = ByteBuffer(
                    bytes: write.presence.map { PresenceEntry.value($0, isTyping: write.isTyping) } ?? [])
                let headers: NATSHeaders? = write.presence == nil ? ["KV-Operation": "DEL"] : nil
                if index == 0, let link {
                    try? jetStream.send(value, to: subject, headers: headers) { answer in
                        let meaning: PresenceMachine.Answer? =
                            switch answer {
                            case .success: .kept
                            case .failure(let error): PresenceMachine.Answer(error)
                            }
                        guard let meaning else { return }
                        Task { await report(.answered(meaning), of: link) }
                    }
                } else {
                    _ = try? jetStream.connection.publish(value, to: subject, headers: headers)
                }
            }
        }
    }

    // MARK: Reading

    private static func reading(_ topic: String, over link: LiveLink) -> Task<Void, Never> {
        Task { await read(topic, over: link) }
    }

    /// Reads the entries of a topic until the task is cancelled, at the latest when the connection ends.
    private static func read(_ topic: String, over link: LiveLink) async {
        guard let jetStream = link.jetStream else { return }
        while !Task.isCancelled, jetStream.connection.isOpen {
            do throws(NATSError) {
                try await read(topic, over: link, jetStream)
            } catch {
                if let answer = PresenceMachine.Answer(error) {
                    // Reading starts again when the network is asked again.
                    if !Task.isCancelled { await report(.answered(answer), of: link) }
                    return
                }
                // A consumer that is lost while the connection is open is created again.
            }
            do { try await link.surroundings.clock.sleep(for: .seconds(1)) } catch { return }
        }
    }

    private static func read(_ topic: String, over link: LiveLink, _ jetStream: JetStream) async throws(NATSError) {
        var messages = try jetStream.orderedMessages(
            in: PresenceEntry.stream, filter: PresenceEntry.filter(topic: topic), from: .lastPerSubject
        ).makeAsyncIterator()
        try await messages.open()
        guard !Task.isCancelled else { return }
        await report(.watched(topic: topic), of: link)
        var listed = messages.initiallyPending ?? 0
        // Existing entries are handled together, since only their times of writing show how old each is.
        var items: [PresenceTable.Item] = []
        if listed == 0 { await report(.heard(items, topic: topic), of: link) }
        let limits = LiveConsumer.BatchLimits(count: batch)
        while let batch = try await messages.nextBatch(limits, isolation: nil) {
            for message in batch {
                if let item = PresenceTable.Item(message, isListed: listed > 0) { items.append(item) }
                // An entry that is replaced before its delivery never arrives, so the count alone does not show the end
                // of the list; the last one has nothing pending after it.
                listed = message.pending == 0 ? 0 : listed > 0 ? listed - 1 : 0
            }
            guard !Task.isCancelled else { return }
            guard listed == 0 || items.count >= PresenceTable.entryLimit else { continue }
            await report(.heard(items, topic: topic), of: link)
            items = []
        }
    }

    private static func report(_ event: PresenceMachine.Event, of link: LiveLink) async {
        await link.inOwner { client in _ = client.presence.handle(event, for: client) }
    }
}

extension PresenceTable.Item {
    /// Decodes a stored message; nil if it is no valid entry.
    init?(_ message: StoredMessage, isListed: Bool) {
        guard let entry = PresenceEntry(KeyValueEntry(message)) else { return nil }
        self.init(entry: entry, time: message.time.nanoseconds, isListed: isListed)
    }
}
