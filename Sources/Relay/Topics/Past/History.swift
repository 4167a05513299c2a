import NATS

/// Reads the history of a topic: from the store where it can, and the rest from the network over one connection, which
/// is then stored.
struct History: Sendable {
    let source: StreamSource
    let pattern: TopicPattern
    let store: LocalStore?
    let own: OwnMessages
    let limit: Int
    /// The most bytes of all messages together; a single one may have more.
    let bytes: Int
    var withPayload = false

    struct Range: Sendable {
        /// The earliest time, unless `first` is given.
        var start: Timestamp?
        var first: UInt64?
        var end: Timestamp?
        var last: UInt64?
    }

    // MARK: Forwards

    /// The first messages of a range, oldest first.
    ///
    /// - Parameter place: Continues after this place, or from the beginning if its stream was recreated.
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

    /// Rejects a start in the future by the server's clock, whatever this machine's says. Servers that do not report
    /// their time are asked for it if that matters.
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

    /// The sequence where a time begins, as far as the store shows it; nil if the network must be asked.
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

    /// Decodes messages from the network, for both the store and the caller.
    private func read(_ messages: [StoredMessage], of stream: StreamIdentity) -> [KeptMessage] {
        messages.map { KeptMessage(reading: $0, of: stream, own: own) }
    }

    // MARK: Backwards

    /// The newest messages before a place in the stream, oldest first.
    ///
    /// - Parameter sequence: The place; nil for the stream's end.
    func messages(before sequence: UInt64?) async throws(RelayError) -> TopicHistory {
        let extent = try await extent()
        let stream = identity(extent)
        let spans = try await spans(stream)
        let first = max(1, extent.first)
        var part = HistoryPart(stream, limit: limit, bytes: bytes, withPayload: withPayload)
        let end = min(extent.last, sequence.map { max(1, $0) - 1 } ?? .max)
        var gaps: [KeptGap] = []
        // Everything above this is read.
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
                // The network's messages between the two are gone.
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

    /// The newest messages of a part of the stream, from the network.
    ///
    /// - Returns: The messages, the sequence from which on they are complete, and whether that is the part's beginning.
    private func newest(
        _ count: Int, in part: ClosedRange<UInt64>, _ extent: StreamExtent, _ bytes: Int
    ) async throws(RelayError) -> (messages: [StoredMessage], reached: UInt64, isWhole: Bool) {
        do throws(NATSError) {
            let start = try await source.sequence(before: part.upperBound + 1, newest: count, in: extent)
            let low = min(max(start, part.lowerBound), part.upperBound)
            return try await source.newest(count, from: low, through: part.upperBound, bytes: bytes)
        } catch { throw RelayError(error, during: "reading \(pattern.text)") }
    }

    // MARK: The stream and the store

    /// The stream's extent, requested again after a timeout: a stream that has lost its leader does not answer until it
    /// has another.
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

    /// Stores messages from the network, and records that this part of the stream is complete.
    private func keep(
        _ messages: [KeptMessage], _ part: ClosedRange<UInt64>, of stream: StreamIdentity, _ gap: KeptGap? = nil
    ) async {
        guard let store else { return }
        var changes: [StoreChange] = [.received(pattern.text, stream, part)]
        if let gap { changes.append(.gap(pattern.text, stream, gap)) }
        await store.append(messages, changes)
    }
}

/// A part of a topic's history under construction, within its limits.
struct HistoryPart {
    var history: TopicHistory
    private(set) var bytesLeft: Int
    private let limit: Int
    private let withPayload: Bool
    /// The bytes of the payloads read, and those that the messages take.
    private var (read, held) = (0, 0)

    /// Decoded values may take this many times more memory than their payloads: the share of the first read. The ratio
    /// it shows determines the later ones.
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

    /// Adds later messages.
    ///
    /// - Returns: The sequence of the first message without room; nil if all fitted.
    mutating func append(_ kept: some Collection<KeptMessage>) -> UInt64? {
        let (messages, unreadable, rest) = take(kept)
        history.messages += messages
        history.unreadable += unreadable
        return rest
    }

    /// Adds earlier messages, the newest of them first.
    ///
    /// - Parameter isCut: Whether others were left out because of their bytes.
    /// - Returns: The sequence of the newest message without room; nil if all fitted.
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
            // Undecodable messages do not count against the limit, so their size must.
            let taken = decoded?.heldBytes ?? MemoryLayout<KeptMessage>.stride + message.payload.count
            let size = max(message.payload.count, taken)
            // The first one always fits.
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
