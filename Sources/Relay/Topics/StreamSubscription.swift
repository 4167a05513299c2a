import NATS
import NIOConcurrencyHelpers

/// Where a subscription begins.
public enum SubscriptionStart: Hashable, Sendable {
    /// With what is stored from now on.
    case new
    /// With the oldest message that the stream holds.
    case all
    /// With the first message at or after this time.
    case time(Timestamp)
    /// With this sequence.
    case sequence(UInt64)
    /// With this many of the newest messages.
    case recent(Int)
}

/// What a subscription reports beside its elements.
enum SubscriptionNews<Element: Sendable>: Sendable {
    case element(Element)
    case lost(UInt64)
    case live
}

/// A part of a stream followed through any number of connections: each message once, in order.
///
/// The cursor outlives connections. While one stands, a task reads an ordered consumer and waits for the reader's room,
/// so that nothing is lost to a slow reader: what it has not taken stays on the server.
final class StreamSubscription<Element: Sendable>: Sendable {
    /// Makes an element of a stored message: the stream's incarnation and whether it was missed come along.
    typealias Decoder = @Sendable (StoredMessage, _ incarnation: UInt64, _ isRecovered: Bool) -> (Element, id: String?)

    private struct State {
        var cursor = TopicCursor()
        var hasBegun = false
        var incarnation: UInt64 = 0
        var task: Task<Void, Never>?
        /// What the cursor has passed and the channel had no room for when the connection was lost.
        var held: [SubscriptionNews<Element>] = []

        /// Keeps a loss to be told, in one figure with one that has not been told yet.
        mutating func holdLoss(_ count: UInt64) {
            if case .lost(let earlier)? = held.last {
                held[held.count - 1] = .lost(earlier + count)
            } else {
                held.append(.lost(count))
            }
        }
    }

    let channel: BoundedChannel<SubscriptionNews<Element>>
    private let start: SubscriptionStart
    private let decode: Decoder
    private let state = NIOLockedValueBox(State())

    init(from start: SubscriptionStart, capacity: Int = 2_048, decode: @escaping Decoder) {
        self.start = start
        self.decode = decode
        channel = BoundedChannel(capacity: capacity)
    }

    /// Follows the stream over this connection, in place of an earlier one.
    ///
    /// - Returns: fulfilled once the server's consumer stands, so that nothing stored later is missed.
    func follow(_ source: StreamSource) -> Completion<Result<Void, NATSError>> {
        let opened = Completion<Result<Void, NATSError>>()
        state.withLockedValue { state in
            let previous = state.task
            previous?.cancel()
            state.task = Task { [self] in
                // Two readers at once would deliver out of order.
                await previous?.value
                await run(source, opened)
                opened.fulfil(.failure(.cancelled))
            }
        }
        return opened
    }

    /// Stops reading, as when the connection is gone; the cursor stays.
    func pause() {
        state.withLockedValue { $0.task?.cancel() }
    }

    /// Ends the subscription for good.
    func end(_ ending: Result<Void, RelayError> = .success(())) {
        pause()
        channel.close(ending)
    }

    private func run(_ source: StreamSource, _ opened: Completion<Result<Void, NATSError>>) async {
        let jetStream = source.jetStream
        var failures = 0
        while !Task.isCancelled {
            do throws(NATSError) {
                try await read(source, opened)
                return
            } catch {
                guard jetStream.connection.isOpen, error != .cancelled else {
                    opened.fulfil(.failure(error))
                    return
                }
                guard Self.passes(error, jetStream) else {
                    if !opened.fulfil(.failure(error)) {
                        channel.close(.failure(RelayError(error, during: source.name)))
                    }
                    return
                }
                // The stream is without a leader for a moment. The other topics and the outbox do not wait for long.
                failures += 1
                if failures == 2 { opened.fulfil(.success(())) }
                try? await Task.sleep(for: .milliseconds(min(250 << min(failures, 4), 2_000)))
            }
        }
    }

    /// Whether a failure passes by itself while the connection stands.
    private static func passes(_ error: NATSError, _ jetStream: JetStream) -> Bool {
        // Nobody answers for good where the server has no JetStream.
        if case .noResponders = error { return jetStream.connection.info.hasJetStream == true }
        return error.isRetryable
    }

    private func read(
        _ source: StreamSource, _ opened: Completion<Result<Void, NATSError>>
    ) async throws(NATSError) {
        let extent = try await source.extent()
        let position = try await position(extent, source)
        var iterator = try source.jetStream.orderedMessages(in: source.name, filter: source.filter, from: position)
            .makeAsyncIterator()
        try await iterator.open(isolation: nil)
        // The connection counts as restored however slow this one reader is.
        opened.fulfil(.success(()))
        guard await sendHeld() else { return }
        var isLive = false
        if iterator.initiallyPending == 0 {
            isLive = true
            state.withLockedValue { $0.cursor.reach(extent.last) }
            guard await channel.send(.live) else { return }
        }
        var batch: [StoredMessage] = []
        while let message = try await iterator.next(isolation: nil) {
            batch.append(message)
            while batch.count < Self.batch, batch.last?.pending != 0 || isLive, let next = iterator.nextReady() {
                batch.append(next)
            }
            guard await deliver(batch) else { return }
            if !isLive, batch.last?.pending == 0 {
                isLive = true
                guard await channel.send(.live) else { return }
            }
            batch.removeAll(keepingCapacity: true)
        }
    }

    /// So many messages that have come together are handed over together.
    private static var batch: Int { 256 }

    /// Hands messages over, each that is new. The cursor is this task's own meanwhile: nobody else moves it, and decoding
    /// needs no lock.
    private func deliver(_ messages: [StoredMessage]) async -> Bool {
        var (cursor, incarnation) = state.withLockedValue { state in
            (exchange(&state.cursor, with: TopicCursor()), state.incarnation)
        }
        var news: [SubscriptionNews<Element>] = []
        news.reserveCapacity(messages.count)
        for message in messages {
            let (element, id) = decode(message, incarnation, !cursor.isLive)
            if case .deliver = cursor.receive(sequence: message.sequence, id: id) { news.append(.element(element)) }
        }
        state.withLockedValue { $0.cursor = cursor }
        guard !news.isEmpty else { return !channel.isClosed }
        let sent = await channel.send(contentsOf: news)
        guard sent < news.count else { return true }
        state.withLockedValue { $0.held += news[sent...] }
        return false
    }

    /// Hands over what earlier connections left.
    private func sendHeld() async -> Bool {
        for news in state.withLockedValue({ $0.held }) {
            guard await channel.send(news) else { return false }
            state.withLockedValue { _ = $0.held.removeFirst() }
        }
        return true
    }

    /// Where to begin on this connection: behind the cursor, or where the subscription was asked to.
    private func position(
        _ extent: StreamExtent, _ source: StreamSource
    ) async throws(NATSError) -> StartPosition {
        let (first, last) = (extent.first, extent.last)
        let resumed = state.withLockedValue { state -> StartPosition? in
            let incarnation = extent.incarnation ?? state.incarnation
            let isSameStream = state.incarnation == 0 || state.incarnation == incarnation
            state.incarnation = incarnation
            guard state.hasBegun, state.cursor.last != nil else { return nil }
            // A stream made anew has nothing in common with the old one but its name: everything in it is new.
            if !isSameStream {
                state.cursor = TopicCursor(last: 0)
            } else if let seen = state.cursor.last, seen > last {
                // The server lost its newest messages (power went before the disk had them) and gives their sequences
                // to what comes now.
                state.cursor = TopicCursor(last: last)
            }
            let resumption = state.cursor.resume(first: first, newest: last)
            if resumption.lost > 0 { state.holdLoss(resumption.lost) }
            return resumption.start.map { .sequence($0) } ?? .new
        }
        if let resumed { return resumed }
        let begin: UInt64
        switch start {
        case .new: begin = last + 1
        case .all: begin = first
        case .sequence(let sequence): begin = sequence
        case .recent(let count):
            begin = try await source.sequence(before: last + 1, newest: count, in: extent)
        case .time(let time):
            // Until a message comes the time itself is the position, on every connection.
            state.withLockedValue { $0.hasBegun = true }
            let (nanoseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1_000_000)
            return .time(ServerTime(nanoseconds: overflow ? 0 : max(0, nanoseconds)))
        }
        state.withLockedValue { state in
            state.hasBegun = true
            state.cursor = TopicCursor(last: max(begin, 1) - 1)
        }
        return .sequence(max(begin, 1))
    }
}
