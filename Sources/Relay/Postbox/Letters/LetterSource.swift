import NATS

/// Where a ``LetterPage`` reads: a stream of letters, in parts, each with the place to go on.
protocol LetterSource: Sendable {
    /// The messages from a place on, as they were stored.
    ///
    /// - Parameters:
    ///   - start: the lowest sequence.
    ///   - limit: most messages.
    ///   - bytes: most bytes of all of them together, but for a single one that has more.
    /// - Returns: the messages, and where to go on; nil when there are no more.
    func letters(
        from start: UInt64, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], next: UInt64?)

    /// The messages up to a place, the newest first.
    ///
    /// - Parameters:
    ///   - end: the highest sequence.
    ///   - limit: most messages.
    ///   - bytes: most bytes of all of them together, but for a single one that has more.
    ///   - extent: how far the stream goes.
    /// - Returns: the messages, and where to go on downwards; nil when there are no more.
    func letters(
        through end: UInt64, limit: Int, bytes: Int, in extent: StreamExtent
    ) async throws(NATSError) -> (messages: [StoredMessage], next: UInt64?)
}

extension StreamSource: LetterSource {
    func letters(
        from start: UInt64, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], next: UInt64?) {
        let part = try await page(from: start, limit: limit, bytes: bytes)
        guard part.pending > 0, let last = part.messages.last else { return (part.messages, nil) }
        return (part.messages, last.sequence + 1)
    }

    /// No server reads backwards: the place from which so many messages are left is found by counting, and they are
    /// read from there. Letters that come or go meanwhile make the part a little longer or shorter, and nothing else.
    func letters(
        through end: UInt64, limit: Int, bytes: Int, in extent: StreamExtent
    ) async throws(NATSError) -> (messages: [StoredMessage], next: UInt64?) {
        let first = max(1, extent.first)
        guard end >= first else { return ([], nil) }
        let low = try await sequence(before: end + 1, newest: limit, in: extent)
        let part = try await newest(limit, from: low, through: end, bytes: bytes)
        return (part.messages.reversed(), part.reached > first ? part.reached - 1 : nil)
    }
}
