import NATS

/// What a stream holds already of a topic, read over one connection.
struct History: Sendable {
    let source: StreamSource
    /// Most messages that are wanted.
    let limit: Int

    /// Messages within a time range, oldest first.
    ///
    /// - Parameter sequence: behind which place to begin; nil for the range's start.
    /// - Returns: the messages, and behind which place the next part begins; nil when `limit` alone ended this one.
    func messages(
        from start: Timestamp, through end: Timestamp?, after sequence: UInt64?, withPayload: Bool
    ) async throws(RelayError) -> (messages: [TopicMessage], next: UInt64?) {
        let time = ServerTime(nanoseconds: max(0, start.milliseconds) * 1_000_000)
        let position = sequence.map { StartPosition.sequence(min($0, UInt64.max - 1) + 1) } ?? .time(time)
        let page: (messages: [StoredMessage], pending: UInt64)
        do throws(NATSError) {
            page = try await source.jetStream.page(
                of: source.name, filter: source.filter, from: position, limit: limit)
        } catch { throw RelayError(error, during: "reading the history") }
        let inTime = page.messages.filter { message in
            end.map { Timestamp(milliseconds: message.time.milliseconds) <= $0 } ?? true
        }
        let isCut = page.messages.count < limit && page.pending > 0 && inTime.count == page.messages.count
        return (
            inTime.compactMap { TopicMessage(reading: $0, withPayload: withPayload) },
            isCut ? page.messages.last?.sequence : nil
        )
    }

    /// The newest messages before a place in the stream, oldest first.
    ///
    /// - Parameters:
    ///   - sequence: the place; nil for the stream's end.
    ///   - bytes: most bytes of all of them together, but for a single one that has more.
    /// - Returns: the messages, and whether the stream holds none before them.
    func messages(
        before sequence: UInt64?, bytes: Int
    ) async throws(RelayError) -> (messages: [TopicMessage], isComplete: Bool) {
        do throws(NATSError) {
            let extent = try await source.extent()
            let newest = min(extent.last, sequence.map { max(1, $0) - 1 } ?? .max)
            let start = try await source.sequence(before: newest + 1, newest: limit, in: extent)
            guard start <= newest else { return ([], true) }
            let found = try await source.newest(limit, from: start, through: newest, bytes: bytes)
            let isComplete = start <= max(1, extent.first) && found.isWhole
            return (found.messages.compactMap { TopicMessage(reading: $0) }, isComplete)
        } catch { throw RelayError(error, during: "reading the history") }
    }
}
