import NATS

/// How far a stream goes.
struct StreamExtent: Hashable, Sendable {
    /// When it was made, in nanoseconds since 1970; nil when that cannot be found out.
    var incarnation: UInt64?
    /// The sequence of the oldest message; one more than the last when it is empty.
    var first: UInt64
    /// The sequence of the newest message ever stored.
    var last: UInt64
    /// What time it was by the server's clock; nil where the server did not say it.
    var time: ServerTime?
}

/// A part of a stream to be read over one connection.
struct StreamSource: Sendable {
    let name: String
    let filter: String?
    let jetStream: JetStream
    /// When the stream was made, for a user who may not ask: the server's answer to that question could name all
    /// subjects of the stream.
    var madeAt: UInt64?
    /// Whether the user may ask the server about the whole stream.
    var mayAsk = true
    /// Has the network make the stream that is not there yet; nil where nobody does on request.
    var make: (@Sendable () async -> Void)?

    /// The messages from a sequence on, and how many match behind them: read without a consumer where the server gives
    /// batches and the user may read the whole stream.
    func page(
        from sequence: UInt64, limit: Int, bytes: Int
    ) async throws(NATSError) -> (messages: [StoredMessage], pending: UInt64) {
        if mayAsk,
            let page = try await jetStream.batch(
                of: name, filter: filter, from: sequence, limit: limit, bytes: bytes)
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
        // A new consumer shows behind which sequence it begins.
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

    /// What time it is by the server's clock, as a new consumer shows it.
    func time() async throws(NATSError) -> ServerTime? { try await look(from: .new).created }

    /// The sequence from which `count` matching messages are left before `end`, or a little more than that when finding
    /// the exact one would cost more questions than the surplus is worth.
    func sequence(before end: UInt64, newest count: Int, in extent: StreamExtent) async throws(NATSError) -> UInt64 {
        let (first, last) = (max(1, extent.first), max(1, end) - 1)
        guard count > 0, last >= first else { return last + 1 }
        // The server counts to the stream's end, so what lies behind the wanted part is subtracted.
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

    /// The newest messages of a part of the stream: as many as are asked for, or fewer where those have more bytes than
    /// may be read, and one in any case.
    ///
    /// - Parameters:
    ///   - count: most messages.
    ///   - start: where the part begins; it holds hardly more messages than are asked for.
    ///   - end: the last sequence of the part.
    ///   - bytes: most bytes of all of them together.
    /// - Returns: the messages in order, from which sequence on they are all there are, and whether that is the part's
    ///   beginning. What was deleted meanwhile may leave no message at all of a part that is not whole.
    func newest(
        _ count: Int, from start: UInt64, through end: UInt64, bytes: Int = 64 << 20
    ) async throws(NATSError) -> (messages: [StoredMessage], reached: UInt64, isWhole: Bool) {
        let most = min(40_000, count * 4)
        // Lines of chat are short: most often all of them are read without a look at their sizes.
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
            // A sender can have a message look smaller than it is. What was left out is the newest, so begin later.
            wanted /= 2
        }
        return ([], start, true)
    }

    /// The places and sizes of a part's messages.
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

    /// How many of the newest messages may be read together: at most `count` that have no more than so many bytes, and
    /// one in any case.
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

    /// How many matching messages there are from a sequence on.
    private func pending(from sequence: UInt64) async throws(NATSError) -> UInt64 {
        try await look(from: .sequence(sequence)).pending
    }

    private func look(from start: StartPosition) async throws(NATSError) -> ConsumerInfo {
        try await jetStream.glance(at: name, from: start, filter: filter)
    }
}
