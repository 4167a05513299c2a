import NATS

extension LiveLink {
    /// Entries that are taken in together.
    private static let batch = 500

    /// Reads who is in a topic until the task is cancelled, which happens at the connection's end at the latest.
    func readPresence(of topic: String) async {
        guard let jetStream else { return }
        while !Task.isCancelled, jetStream.connection.isOpen {
            do throws(NATSError) {
                try await readPresence(of: topic, over: jetStream)
            } catch {
                if let answer = PresenceKeeping.Answer(error) {
                    // It is begun anew where the network is asked again.
                    if !Task.isCancelled { await presence(.answered(answer)) }
                    return
                }
                // A consumer that is lost while the connection is open is made anew.
            }
            do { try await surroundings.clock.sleep(for: .seconds(1)) } catch { return }
        }
    }

    private func readPresence(of topic: String, over jetStream: JetStream) async throws(NATSError) {
        var messages = try jetStream.orderedMessages(
            in: PresenceEntry.stream, filter: PresenceEntry.filter(topic: topic), from: .lastPerSubject
        ).makeAsyncIterator()
        try await messages.open()
        guard !Task.isCancelled else { return }
        await presence(.watched(topic: topic))
        var listed = messages.initiallyPending ?? 0
        // Those that were there are taken in together: their times of writing tell how old each of them is.
        var items: [PresenceTable.Item] = []
        if listed == 0 { await presence(.heard(items, topic: topic)) }
        let limits = LiveConsumer.BatchLimits(count: Self.batch)
        while let batch = try await messages.nextBatch(limits, isolation: nil) {
            for message in batch {
                if let item = PresenceTable.Item(message, isListed: listed > 0) { items.append(item) }
                // An entry that is replaced before its delivery never arrives, so the count alone cannot tell the end
                // of the list; the last one has nothing pending behind it.
                listed = message.pending == 0 ? 0 : listed > 0 ? listed - 1 : 0
            }
            guard !Task.isCancelled else { return }
            guard listed == 0 || items.count >= PresenceTable.entryLimit else { continue }
            await presence(.heard(items, topic: topic))
            items = []
        }
    }

    /// Has the client decide about what has happened.
    func presence(_ event: PresenceKeeping.Event) async {
        await inClient { client in
            _ = client.handlePresence(event)
        }
    }
}

extension PresenceTable.Item {
    /// Reads a stored message; nil for one that means nothing.
    init?(_ message: StoredMessage, isListed: Bool) {
        guard let entry = PresenceEntry(KeyValueEntry(message)) else { return nil }
        self.init(entry: entry, time: message.time.nanoseconds, isListed: isListed)
    }
}
