import NATS

// What was said before: by time, by sequence and behind a place. What is on this machine is not asked for again; where
// there is no connection it is all there is, and the answer says so.
extension RelayClient {
    private static let partBytes = 64 << 20

    /// Messages of a topic within a time range, oldest first, in parts. While not connected it is what
    /// the local store has, and nothing where the store is no file, as RelayX's call has it.
    ///
    /// What the local store has without a hole comes from it, and the rest from the network, which is asked for no more
    /// and waited for no longer. What that brings is kept.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - start: the earliest time, by the server's clock; not in its future, not after `end`. While not connected
    ///     this machine's clock and the newest stored message say what the future is.
    ///   - end: the latest time, by the server's clock; nil for now.
    ///   - limit: most messages, 1 to 10,000.
    ///   - sequence: what an earlier part said; nil for the first part.
    ///   - withPayload: as for ``messages(topic:from:withPayload:onScreenOnly:)``.
    ///   - bytes: most bytes of memory that a part's messages may take.
    /// - Returns: the messages, of those that take more than `bytes` together only the first, and one in any case;
    ///   ``TopicHistory/next`` is what to ask for the others with.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, and
    ///   what the network refuses.
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
    ///   - topic: a topic or pattern.
    ///   - first: the first sequence, from 1 on; not after `last`.
    ///   - last: the last sequence; nil for the newest.
    ///   - limit: most messages, 1 to 10,000.
    ///   - withPayload: as for ``messages(topic:from:withPayload:onScreenOnly:)``.
    /// - Throws: ``RelayError/invalidArgument(_:)``, also for a start behind the stream's next message, while
    ///   connected; ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, and what the network refuses.
    public func history(
        topic: String, from first: UInt64, through last: UInt64? = nil, limit: Int = 1_000, withPayload: Bool = false
    ) async throws(RelayError) -> TopicHistory {
        if let last, last < first { throw .invalidArgument("The start lies after the end") }
        let pattern = try Self.checked(topic, limit)
        let range = History.Range(first: max(1, first), last: last)
        return try await forwards(pattern, in: range, limit: limit, withPayload: withPayload)
    }

    /// The messages of a topic behind a place, such as ``TopicHistory/place`` of an earlier answer, even of another run
    /// of the program; oldest first, as ``history(topic:start:end:limit:after:withPayload:)``.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - place: the place.
    ///   - limit: most messages, 1 to 10,000.
    ///   - withPayload: as for ``messages(topic:from:withPayload:onScreenOnly:)``.
    /// - Returns: the messages. Where the stream was made anew since then, they are its first ones, and
    ///   ``TopicHistory/isRestarted`` says so.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, and
    ///   what the network refuses.
    public func history(
        topic: String, behind place: KeptPlace, limit: Int = 1_000, withPayload: Bool = false
    ) async throws(RelayError) -> TopicHistory {
        let pattern = try Self.checked(topic, limit)
        return try await forwards(
            pattern, in: History.Range(), after: place, limit: limit, withPayload: withPayload)
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

    /// The messages of a topic before a place in the stream, oldest first: those that are here, and the rest from the
    /// network, which is kept.
    ///
    /// - Parameters:
    ///   - topic: a topic or pattern.
    ///   - sequence: the place; nil for the stream's end.
    ///   - limit: most messages, 1 to 10,000.
    ///   - bytes: most bytes of all of them together.
    /// - Returns: the messages, the holes between them, and whether nothing is before them. Fewer than `limit` come,
    ///   the newest ones, where all have more than `bytes`, and one in any case. While not connected it is what the
    ///   local store has, with a hole of 0 messages where the network may have more.
    /// - Throws: ``RelayError/notConnected`` where nothing is kept on this machine; ``RelayError/invalidArgument(_:)``,
    ///   ``RelayError/invalidTopic(_:)``, ``RelayError/storage(_:)``, and what the network refuses.
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

    /// How often a part is read over a further connection after the server has cut off the one before, and how long
    /// that connection is waited for.
    private static let cuts = 8
    private static let patience = Duration.seconds(30)

    /// Reads a topic's past from the network; nil while there is no connection.
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
                // A server drops a reader that is slow; the next connection asks it for less at once.
                guard case .connection = error, !jetStream.connection.isOpen, cuts <= Self.cuts,
                    await isConnectedAgain(after: jetStream.connection)
                else { throw error }
            }
        }
        return nil
    }

    /// Waits for the connection that follows another; false where none comes in time, or the session ends.
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

    /// What the store has of a topic's past, in the stream as it was last met.
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
        // Between what came nothing may be missing in silence.
        history.gaps = try await store.holes(of: pattern, in: stream, among: sequences).filter { $0.end > begin }
        return history
    }

    private static func checked(_ topic: String, _ limit: Int) throws(RelayError) -> TopicPattern {
        try LocalStore.check(limit)
        return try pattern(topic)
    }
}
