import NATS

struct StreamExtent: Hashable, Sendable {
    /// When it was created, in nanoseconds since 1970; nil if unknown.
    var incarnation: UInt64?
    /// The sequence of the oldest message; one more than the last if it is empty.
    var first: UInt64
    /// The sequence of the newest message ever stored.
    var last: UInt64
    /// The server's time; nil if the server did not report it.
    var time: ServerTime?
}

/// A part of a stream, for reading over one connection.
struct StreamSource: Sendable {
    let name: String
    let filter: String?
    let jetStream: JetStream
    /// When the stream was created, for a user who may not ask: the server's answer could name all subjects of the
    /// stream.
    var madeAt: UInt64?
    /// Whether the user may ask the server about the entire stream.
    var mayAsk = true
    /// Asks the network to create a missing stream; nil if it does not do so on request.
    var make: (@Sendable () async -> Void)?

    /// The messages from a sequence on, and how many match after them: read without a consumer if the server has
    /// batches and the user may read the entire stream.
    func page(
        from sequence: UInt64, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        if mayAsk,
            let page = try await jetStream.batch(of: name, filter: filter, from: sequence, limit: limit, bytes: bytes)
        {
            return page
        }
        return try await jetStream.page(
            of: name, filter: filter, from: .sequence(max(1, sequence)), limit: limit, bytes: bytes)
    }

    func extent() async throws(NATSError) -> StreamExtent {
        if mayAsk {
            let info = try await jetStream.streamInfo(name)
            return StreamExtent(
                incarnation: UInt64(clamping: info.created.nanoseconds), first: info.state.firstSequence,
                last: info.state.lastSequence, time: info.time)
        }
        // A new consumer shows the sequence after which it begins.
        async let oldest = look(from: .all)
        async let newest = look(from: .new)
        do {
            let (oldest, newest) = try await (oldest, newest)
            return StreamExtent(
                incarnation: madeAt, first: (oldest.deliveredSequence ?? 0) + 1, last: newest.deliveredSequence ?? 0,
                time: newest.created)
        } catch let error as NATSError {
            throw error
        } catch {
            throw .cancelled
        }
    }

    /// The server's time, as a new consumer shows it.
    func time() async throws(NATSError) -> ServerTime? { try await look(from: .new).created }

    /// The sequence from which `count` matching messages are left before `end`, or a few more if finding the exact one
    /// would take too many requests.
    func sequence(before end: UInt64, newest count: Int, in extent: StreamExtent) async throws(NATSError) -> UInt64 {
        let (first, last) = (max(1, extent.first), max(1, end) - 1)
        guard count > 0, last >= first else { return last + 1 }
        // The server counts to the stream's end, so messages after the wanted part are subtracted.
        let behind = last < extent.last ? try await pending(from: last + 1) : 0
        let wanted = UInt64(count)
        // Matching messages may be thinly spread, so the span grows until it holds enough.
        var span = wanted
        var low = first
        while true {
            low = last - min(last - first, span - 1)
            let found = try await max(behind, pending(from: low)) - behind
            if found >= wanted || low == first {
                guard found > wanted * 2 else { return low }
                break
            }
            span = span.multipliedReportingOverflow(by: 8).overflow ? .max : span * 8
        }
        var high = last
        for _ in 0..<40 where high - low > 1 {
            let middle = low + (high - low) / 2
            let found = try await max(behind, pending(from: middle)) - behind
            if found >= wanted { low = middle } else { high = middle }
            if found >= wanted, found <= wanted + wanted / 4 { break }
        }
        return low
    }

    /// The newest messages of a part of the stream: the requested number, or fewer if they exceed the bytes, but at
    /// least one.
    ///
    /// - Parameters:
    ///   - count: The most messages.
    ///   - start: The part's beginning; it has hardly more messages than requested.
    ///   - end: The last sequence of the part.
    ///   - bytes: The most bytes of all of them together.
    /// - Returns: The messages in order, the sequence from which on they are complete, and whether that is the part's
    ///   beginning. Deletions meanwhile may leave no message of a part that is not complete.
    func newest(
        _ count: Int, from start: UInt64, through end: UInt64, bytes: Int = 64 << 20
    ) async throws(NATSError) -> (messages: [StoredMessage], reached: UInt64, isWhole: Bool) {
        let most = min(40_000, count * 4)
        // Lines of chat are short, so mostly all of them can be read without checking their sizes.
        let glance = try await page(from: start, limit: most, bytes: min(bytes, 4 << 20))
        let seen = glance.messages.filter { $0.sequence <= end }
        if glance.pending == 0 || seen.count < glance.messages.count || seen.last?.sequence == end {
            let newest = Array(seen.suffix(count))
            guard seen.count > count, let first = newest.first else { return (newest, start, true) }
            return (newest, first.sequence, false)
        }
        let sizes = try await sizes(from: start, through: end, atOnce: most)
        var wanted = Self.fitting(sizes.map(\.bytes), count: count, bytes: bytes)
        while wanted > 0 {
            let first = sizes[sizes.count - wanted].sequence
            let found = try await page(from: first, limit: wanted, bytes: bytes)
            if found.messages.count == wanted || found.pending == 0 {
                let isWhole = wanted == sizes.count
                return (found.messages.filter { $0.sequence <= end }, isWhole ? start : first, isWhole)
            }
            // A sender can make a message look smaller than it is. The newest ones were left out, so begin later.
            wanted /= 2
        }
        return ([], start, true)
    }

    /// The sequences and sizes of a part's messages.
    private func sizes(
        from start: UInt64, through end: UInt64, atOnce limit: Int
    ) async throws(NATSError) -> [(sequence: UInt64, bytes: Int)] {
        var sizes: [(sequence: UInt64, bytes: Int)] = []
        var next = start
        while next <= end {
            let page = try await jetStream.heads(of: name, filter: filter, from: .sequence(next), limit: limit)
            sizes += page.messages.filter { $0.sequence <= end }.map { ($0.sequence, $0.sizeWithPayload) }
            guard page.pending > 0, let last = page.messages.last else { break }
            next = last.sequence + 1
        }
        return sizes
    }

    /// How many of the newest messages may be read together: at most `count` with at most this many bytes, but at least
    /// one.
    static func fitting(_ sizes: [Int], count: Int, bytes: Int) -> Int {
        var fitting = 0
        var total = 0
        for size in sizes.reversed() {
            total += size
            guard fitting < count, fitting == 0 || total <= bytes else { break }
            fitting += 1
        }
        return fitting
    }

    /// The number of matching messages from a sequence on.
    private func pending(from sequence: UInt64) async throws(NATSError) -> UInt64 {
        try await look(from: .sequence(sequence)).pending
    }

    private func look(from start: StartPosition) async throws(NATSError) -> ConsumerInfo {
        try await jetStream.glance(at: name, from: start, filter: filter)
    }
}
