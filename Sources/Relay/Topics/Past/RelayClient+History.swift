import NATS

// Earlier messages: by time, by sequence and after a place. Stored messages are not requested again; without a
// connection they are all there is, and the answer says so.
extension RelayClient {
    private static let partBytes = 64 << 20

    /// Messages of a topic within a time range, oldest first, in parts. While not connected these are the messages of
    /// the local store, or none if that is no file, like RelayX's call.
    ///
    /// Messages that the local store has without holes are read from it, and only the others are requested from the
    /// network and then stored.
    ///
    /// - Parameters:
    ///   - topic: A topic or pattern.
    ///   - start: The earliest time, by the server's clock; not in its future, and not after `end`. While not
    /// connected,
    ///     this machine's clock and the newest stored message determine the present.
    ///   - end: The latest time, by the server's clock; nil for now.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - sequence: The ``TopicHistory/next`` of an earlier part; nil for the first part.
    ///   - withPayload: As for ``messages(topic:from:withPayload:onScreenOnly:)``.
    ///   - bytes: The most bytes of memory that a part's messages may take.
    /// - Returns: The messages, at least one, but no more than fit into `bytes`; ``TopicHistory/next`` leads to the
    ///   others.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, or
    ///   the network's refusal.
    public func history(
        topic: String, start: Timestamp, end: Timestamp? = nil, limit: Int = 1_000, after sequence: UInt64? = nil,
        withPayload: Bool = false, bytes: Int = 64 << 20
    ) async throws(RelayError) -> TopicHistory {
        if let end, end < start { throw .invalidArgument("The start lies after the end") }
        let pattern = try Self.checked(topic, limit)
        let first = sequence.map { min($0, .max - 1) + 1 }
        let range = History.Range(start: start, first: first, end: end)
        let part = try await forwards(pattern, in: range, limit: limit, bytes: bytes, withPayload: withPayload)
        guard !part.isOffline || start <= .now || part.asOf.map({ start <= $0 }) == true else { throw .startInFuture }
        return part
    }

    /// Messages of a topic within a range of the stream's sequences, oldest first, as
    /// ``history(topic:start:end:limit:after:withPayload:)``.
    ///
    /// - Parameters:
    ///   - topic: A topic or pattern.
    ///   - first: The first sequence, from 1 on; not after `last`.
    ///   - last: The last sequence; nil for the newest.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - withPayload: As for ``messages(topic:from:withPayload:onScreenOnly:)``.
    /// - Throws: ``RelayError/invalidArgument(_:)``, also, while connected, for a start after the stream's next
    ///   message; ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, or the network's refusal.
    public func history(
        topic: String, from first: UInt64, through last: UInt64? = nil, limit: Int = 1_000, withPayload: Bool = false
    ) async throws(RelayError) -> TopicHistory {
        if let last, last < first { throw .invalidArgument("The start lies after the end") }
        let pattern = try Self.checked(topic, limit)
        let range = History.Range(first: max(1, first), last: last)
        return try await forwards(pattern, in: range, limit: limit, withPayload: withPayload)
    }

    /// The messages of a topic after a place, such as ``TopicHistory/place`` of an earlier answer, even of another run
    /// of the program; oldest first, as ``history(topic:start:end:limit:after:withPayload:)``.
    ///
    /// - Parameters:
    ///   - topic: A topic or pattern.
    ///   - place: The place.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - withPayload: As for ``messages(topic:from:withPayload:onScreenOnly:)``.
    /// - Returns: The messages. If the stream was recreated since, they are its first ones, and
    ///   ``TopicHistory/isRestarted`` is true.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, or
    ///   the network's refusal.
    public func history(
        topic: String, behind place: KeptPlace, limit: Int = 1_000, withPayload: Bool = false
    ) async throws(RelayError) -> TopicHistory {
        let pattern = try Self.checked(topic, limit)
        return try await forwards(pattern, in: History.Range(), after: place, limit: limit, withPayload: withPayload)
    }

    private func forwards(
        _ pattern: TopicPattern, in range: History.Range, after place: KeptPlace? = nil, limit: Int,
        bytes: Int = RelayClient.partBytes, withPayload: Bool
    ) async throws(RelayError) -> TopicHistory {
        let found = try await reading(pattern, limit, bytes: bytes, withPayload: withPayload) {
            reader throws(RelayError) in
            try await reader.messages(in: range, after: place)
        }
        if let found { return found }
        return try await keptHistory(
            of: pattern, in: range, after: place, limit: limit, bytes: bytes, withPayload: withPayload)
    }

    /// The messages of a topic before a place in the stream, oldest first: from the store, and the rest from the
    /// network, which is then stored.
    ///
    /// - Parameters:
    ///   - topic: A topic or pattern.
    ///   - sequence: The place; nil for the stream's end.
    ///   - limit: The most messages, 1 to 10,000.
    ///   - bytes: The most bytes of all of them together.
    /// - Returns: The messages, the holes between them, and whether nothing precedes them. If they exceed `bytes`, only
    ///   the newest are returned, at least one. While not connected these are the messages of the local store, with a
    ///   hole of 0 messages wherever the network may have more.
    /// - Throws: ``RelayError/notConnected`` without a local store; ``RelayError/invalidArgument(_:)``,
    ///   ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, or the network's refusal.
    public func history(
        topic: String, before sequence: UInt64?, limit: Int, bytes: Int = 64 << 20
    ) async throws(RelayError) -> TopicHistory {
        let pattern = try Self.checked(topic, limit)
        let found = try await reading(pattern, limit, bytes: max(1, bytes)) { reader throws(RelayError) in
            try await reader.messages(before: sequence)
        }
        if let found { return found }
        guard let store = await keptStore() else { throw .notConnected }
        let page = try await store.received(
            of: pattern, before: sequence, limit: limit, bytes: max(1, bytes), acrossHoles: true)
        var part = HistoryPart(
            page.messages.last?.place.stream, isOffline: true, limit: limit, bytes: max(1, bytes), withPayload: false)
        let rest = part.prepend(page.messages, isCut: false)
        part.history.gaps = page.gaps.filter { $0.end > rest ?? 0 }
        part.history.isComplete = page.isComplete && rest == nil
        part.history.asOf = try await store.newestTime(of: pattern)
        return part.history
    }

    /// How often reading a part continues over another connection after the server has cut off the previous one, and
    /// how long to wait for that connection.
    private static let cuts = 8
    private static let patience = Duration.seconds(30)

    /// Reads a topic's history from the network; nil without a connection.
    private func reading(
        _ pattern: TopicPattern, _ limit: Int, bytes: Int, withPayload: Bool = false,
        _ read: (History) async throws(RelayError) -> TopicHistory
    ) async throws(RelayError) -> TopicHistory? {
        let store = await keptStore()
        var cuts = 0
        // The connection may be gone by now.
        while let jetStream = link?.jetStream, let namespace {
            let reader = History(
                source: namespace.source(of: pattern, jetStream), pattern: pattern, store: store, own: ownMessages,
                limit: limit, bytes: bytes, withPayload: withPayload)
            do throws(RelayError) { return try await read(reader) } catch {
                cuts += 1
                // A server cuts off a slow reader; over the next connection it is asked for less at once.
                guard case .connection = error, !jetStream.connection.isOpen, cuts <= Self.cuts,
                    await isConnectedAgain(after: jetStream.connection)
                else { throw error }
            }
        }
        return nil
    }

    /// Waits for the connection that follows another; false if there is none in time, or the session ends.
    private func isConnectedAgain(after old: NATSConnection) async -> Bool {
        let found = Completion<Bool>()
        let alarm = found.fulfil(false, after: Self.patience)
        let watch = Task { [weak self, statuses] in
            for await status in statuses {
                guard let self else { return }
                let isOther = await self.link?.connection !== old
                if status.state == .connected, isOther { found.fulfil(true) }
                if status.state == .disconnected || status.state == .suspended { found.fulfil(false) }
            }
        }
        defer {
            alarm.cancel()
            watch.cancel()
        }
        return await found.value(onCancel: false)
    }

    /// The stored history of a topic, in the newest known stream.
    private func keptHistory(
        of pattern: TopicPattern, in range: History.Range, after place: KeptPlace?, limit: Int, bytes: Int,
        withPayload: Bool
    ) async throws(RelayError) -> TopicHistory {
        guard let store = await keptStore(), let stream = try await store.stream(of: pattern) else {
            return TopicHistory(messages: [], isOffline: true)
        }
        var part = HistoryPart(stream, isOffline: true, limit: limit, bytes: bytes, withPayload: withPayload)
        part.history.asOf = try await store.newestTime(of: pattern)
        part.history.isRestarted = place.map { $0.stream != stream } ?? false
        var first = range.first ?? 1
        if let place, !part.history.isRestarted { first = min(place.sequence, .max - 1) + 1 }
        let last = range.last ?? .max
        let begin = first
        while part.hasRoom, first <= last {
            let (page, _) = try await store.oldest(
                part.room, of: pattern, in: stream, first...last, from: range.start, through: range.end,
                bytes: part.bytesToRead)
            if let rest = part.append(page.messages) {
                part.history.next = rest - 1
                break
            }
            guard let newest = page.messages.last?.place.sequence else { break }
            first = newest + 1
            if page.isComplete { break }
            if !part.hasRoom, part.room > 0 { part.history.next = newest }
        }
        var history = part.history
        let sequences = (history.messages.map(\.sequence) + history.unreadable.map(\.place.sequence)).sorted()
        // Every hole between the messages must be reported.
        history.gaps = try await store.holes(of: pattern, in: stream, among: sequences).filter { $0.end > begin }
        return history
    }

    private static func checked(_ topic: String, _ limit: Int) throws(RelayError) -> TopicPattern {
        try LocalStore.check(limit)
        return try pattern(topic)
    }
}
