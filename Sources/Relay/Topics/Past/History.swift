import NATS

/// What a stream holds already of a topic: what is here first, and the rest over one connection.
///
/// What the network is asked for is kept, so that it is here the next time.
struct History: Sendable {
    let source: StreamSource
    let pattern: TopicPattern
    /// Where what is read is kept; nil where nothing is.
    let store: LocalStore?
    let own: OwnMessages
    let limit: Int
    /// Most bytes of all of them together, but for a single one that has more.
    let bytes: Int
    var withPayload = false

    /// Which messages of the stream are meant.
    struct Range: Sendable {
        /// The earliest time, where `first` does not say more.
        var start: Timestamp?
        var first: UInt64?
        var end: Timestamp?
        var last: UInt64?
    }

    // MARK: Forwards

    /// The first messages of a range, oldest first.
    ///
    /// - Parameter place: goes on behind this place, where the stream is the one that it names, and begins anew
    ///   otherwise.
    func messages(in range: Range, after place: KeptPlace? = nil) async throws(RelayError) -> TopicHistory {
        let extent = try await extent()
        if let start = range.start { try await check(start, extent) }
        if range.start == nil, let first = range.first, first - 1 > extent.last {
            throw .invalidArgument("The start lies in the future: the newest message is number \(extent.last)")
        }
        let stream = identity(extent)
        var part = HistoryPart(stream, limit: limit, bytes: bytes, withPayload: withPayload)
        var next = range.first
        if let place {
            part.history.isRestarted = place.stream != stream
            next = part.history.isRestarted ? 1 : min(place.sequence, .max - 1) + 1
        }
        let spans = try await spans(stream)
        if next == nil, let start = range.start { next = try await beginning(start, spans, stream, extent) }
        let last = min(range.last ?? .max, extent.last)
        while part.hasRoom {
            if let next, next > last { break }
            if let from = next, let store, let span = spans.span(holding: from) {
                let end = min(span.upperBound, last)
                let (page, endsInTime) = try await store.oldest(
                    part.room, of: pattern, in: stream, from...end, through: range.end, bytes: part.bytesToRead)
                if let rest = part.append(page.messages) {
                    next = rest
                    break
                }
                guard page.isComplete else {
                    next = page.messages.last.map { $0.place.sequence + 1 } ?? end + 1
                    continue
                }
                if endsInTime { return part.history }
                next = end + 1
                continue
            }
            let (found, pending) = try await page(
                of: stream, from: next, or: range.start, part.room, bytes: part.bytesToRead)
            guard let oldest = found.first?.place.sequence, let newest = found.last?.place.sequence else {
                return part.history
            }
            var gap: KeptGap?
            if let from = next, from < extent.first, oldest >= extent.first {
                let gone = KeptGap(end: extent.first, lost: extent.first - from)
                part.history.gaps.append(gone)
                gap = gone
            }
            await keep(found, (next ?? oldest)...newest, of: stream, gap)
            let wanted = found.filter { message in
                message.place.sequence <= last && range.end.map { message.time <= $0 } ?? true
            }
            if let rest = part.append(wanted) {
                next = rest
                break
            }
            guard wanted.count == found.count, pending > 0 else { return part.history }
            next = newest + 1
        }
        if let next, next <= last, part.history.messages.count < limit { part.history.next = next - 1 }
        return part.history
    }

    /// Refuses what begins in the future by the server's clock, whatever the one of this machine shows. Servers that do
    /// not say what time it is are asked for it where that matters.
    private func check(_ start: Timestamp, _ extent: StreamExtent) async throws(RelayError) {
        var present = extent.time
        if present == nil, start > .now {
            do throws(NATSError) { present = try await source.time() } catch {
                throw RelayError(error, during: "reading \(pattern.text)")
            }
        }
        let now = present.map { Timestamp(nanoseconds: $0.nanoseconds) } ?? .now
        guard start <= now else { throw .startInFuture }
    }

    /// The sequence where a time begins, as far as what is here says it; nil where the network has to.
    private func beginning(
        _ start: Timestamp, _ spans: KeptSpans, _ stream: StreamIdentity, _ extent: StreamExtent
    ) async throws(RelayError) -> UInt64? {
        guard let store else { return nil }
        for span in spans.all {
            let isFirst = span.lowerBound <= max(1, extent.first)
            if let first = try await store.beginning(notBefore: start, in: stream, span, isFirst: isFirst) {
                return first
            }
        }
        return nil
    }

    private func page(
        of stream: StreamIdentity, from sequence: UInt64?, or start: Timestamp?, _ count: Int, bytes: Int
    ) async throws(RelayError) -> (messages: [KeptMessage], pending: UInt64) {
        let (nanoseconds, overflow) = max(0, start?.milliseconds ?? 0).multipliedReportingOverflow(by: 1_000_000)
        let time = ServerTime(nanoseconds: overflow ? .max : nanoseconds)
        do throws(NATSError) {
            let page =
                if let sequence {
                    try await source.page(from: sequence, limit: count, bytes: bytes)
                } else {
                    try await source.jetStream.page(
                        of: source.name, filter: source.filter, from: .time(time), limit: count, bytes: bytes)
                }
            return (read(page.messages, of: stream), page.pending)
        } catch { throw RelayError(error, during: "reading \(pattern.text)") }
    }

    /// Reads what the network brought, once for the store and for the caller.
    private func read(_ messages: [StoredMessage], of stream: StreamIdentity) -> [KeptMessage] {
        messages.map { KeptMessage(reading: $0, of: stream, own: own) }
    }

    // MARK: Backwards

    /// The newest messages before a place in the stream, oldest first.
    ///
    /// - Parameter sequence: the place; nil for the stream's end.
    func messages(before sequence: UInt64?) async throws(RelayError) -> TopicHistory {
        let extent = try await extent()
        let stream = identity(extent)
        let spans = try await spans(stream)
        let first = max(1, extent.first)
        var part = HistoryPart(stream, limit: limit, bytes: bytes, withPayload: withPayload)
        let end = min(extent.last, sequence.map { max(1, $0) - 1 } ?? .max)
        var gaps: [KeptGap] = []
        // Everything above this is there.
        var next = end
        while part.hasRoom, next > 0 {
            if let store, let span = spans.span(holding: next) {
                let page = try await store.newest(
                    part.room, of: pattern, in: stream, span.lowerBound...next, bytes: part.bytesLeft)
                let isCut = !page.isComplete && page.messages.count < part.room
                if let rest = part.prepend(page.messages, isCut: isCut) {
                    next = rest
                    break
                }
                next = max(1, page.isComplete ? span.lowerBound : page.messages.first?.place.sequence ?? 0) - 1
                continue
            }
            let here = spans.span(below: next)?.upperBound
            if next < first {
                guard let here else { break }
                // What the network had between that and this is gone.
                let gap = KeptGap(end: next + 1, lost: next - here)
                gaps.append(gap)
                await keep([], here + 1...next, of: stream, gap)
                next = here
                continue
            }
            let found = try await newest(part.room, in: max(first, (here ?? 0) + 1)...next, extent, part.bytesLeft)
            let messages = read(found.messages, of: stream)
            await keep(messages, found.reached...next, of: stream)
            if let rest = part.prepend(messages, isCut: !found.isWhole && messages.count < part.room) {
                next = rest
                break
            }
            next = max(1, found.reached) - 1
        }
        part.history.isComplete =
            next == 0 || next < first && spans.span(holding: next) == nil && spans.span(below: next) == nil
        if let store {
            let known = try await store.gaps(of: pattern, in: stream)
            gaps += known.filter { gap in
                gap.end > next + 1 && gap.end <= end + 1 && !gaps.contains { $0.end == gap.end }
            }
        }
        part.history.gaps = gaps.sorted { $0.end < $1.end }
        return part.history
    }

    /// The newest messages of a part of the stream, as the network has them.
    ///
    /// - Returns: the messages, from which sequence on they are all there are, and whether that is as low as was asked.
    private func newest(
        _ count: Int, in part: ClosedRange<UInt64>, _ extent: StreamExtent, _ bytes: Int
    ) async throws(RelayError) -> (messages: [StoredMessage], reached: UInt64, isWhole: Bool) {
        do throws(NATSError) {
            let start = try await source.sequence(before: part.upperBound + 1, newest: count, in: extent)
            let low = min(max(start, part.lowerBound), part.upperBound)
            return try await source.newest(count, from: low, through: part.upperBound, bytes: bytes)
        } catch { throw RelayError(error, during: "reading \(pattern.text)") }
    }

    // MARK: What is here

    /// The stream as it is. It is asked for once more where nobody answers: a stream that has lost its leader is
    /// without an answer until it has another.
    private func extent() async throws(RelayError) -> StreamExtent {
        do throws(NATSError) {
            do throws(NATSError) { return try await source.extent() } catch {
                guard case .timeout = error else { throw error }
                return try await source.extent()
            }
        } catch { throw RelayError(error, during: "reading \(pattern.text)") }
    }

    private func identity(_ extent: StreamExtent) -> StreamIdentity {
        StreamIdentity(name: source.name, incarnation: extent.incarnation ?? 0)
    }

    private func spans(_ stream: StreamIdentity) async throws(RelayError) -> KeptSpans {
        guard let store else { return KeptSpans() }
        return try await store.spans(of: pattern, in: stream)
    }

    /// Keeps what the network brought, and that nothing is missing in this part of the stream.
    private func keep(
        _ messages: [KeptMessage], _ part: ClosedRange<UInt64>, of stream: StreamIdentity, _ gap: KeptGap? = nil
    ) async {
        guard let store else { return }
        var changes: [StoreChange] = [.received(pattern.text, stream, part)]
        if let gap { changes.append(.gap(pattern.text, stream, gap)) }
        await store.append(messages, changes)
    }
}

/// What has been put together of a topic's past, as much of it as may be held.
struct HistoryPart {
    var history: TopicHistory
    private(set) var bytesLeft: Int
    private let limit: Int
    private let withPayload: Bool
    /// The bytes of what was read, and those that it takes.
    private var (read, held) = (0, 0)

    /// What is read first, whose values may take so many times more memory; how much shows how much may be read next.
    private static let firstShare = 32

    init(_ stream: StreamIdentity?, isOffline: Bool = false, limit: Int, bytes: Int, withPayload: Bool) {
        history = TopicHistory(messages: [], isOffline: isOffline)
        history.stream = stream
        self.limit = limit
        self.withPayload = withPayload
        bytesLeft = bytes
    }

    var hasRoom: Bool { room > 0 && bytesLeft > 0 }
    var room: Int { limit - history.messages.count }
    /// How many bytes may be read at once.
    var bytesToRead: Int { max(1, bytesLeft / (read == 0 ? Self.firstShare : max(1, held / read))) }

    /// Adds what comes behind all that is here.
    ///
    /// - Returns: the place of the first for which there was no room; nil where there was for all.
    mutating func append(_ kept: some Collection<KeptMessage>) -> UInt64? {
        let (messages, unreadable, rest) = take(kept)
        history.messages += messages
        history.unreadable += unreadable
        return rest
    }

    /// Adds what comes before all that is here, the newest of it first.
    ///
    /// - Parameter isCut: whether others were left out, as there would have been too many bytes.
    /// - Returns: the place of the newest for which there was no room; nil where there was for all.
    mutating func prepend(_ kept: some BidirectionalCollection<KeptMessage>, isCut: Bool) -> UInt64? {
        let (messages, unreadable, rest) = take(kept.reversed())
        history.messages = messages.reversed() + history.messages
        history.unreadable = unreadable.reversed() + history.unreadable
        if isCut { bytesLeft = 0 }
        return rest
    }

    private mutating func take(
        _ kept: some Collection<KeptMessage>
    ) -> (messages: [TopicMessage], unreadable: [KeptMessage], rest: UInt64?) {
        var (messages, unreadable): ([TopicMessage], [KeptMessage]) = ([], [])
        for message in kept {
            let decoded = message.reading(withPayload: withPayload)
            // What cannot be read does not count as one of so many, and there may be any number of it.
            let taken = decoded?.heldBytes ?? MemoryLayout<KeptMessage>.stride + message.payload.count
            let size = max(message.payload.count, taken)
            // One comes in any case.
            guard size <= bytesLeft || held == 0 else {
                bytesLeft = 0
                return (messages, unreadable, message.place.sequence)
            }
            read += max(1, message.payload.count)
            held += size
            bytesLeft -= size
            if let decoded { messages.append(decoded) } else { unreadable.append(message) }
        }
        return (messages, unreadable, nil)
    }
}

extension RelayError {
    static let startInFuture = RelayError.invalidArgument("The start lies in the future")
}
