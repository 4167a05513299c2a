import NATS
import NIOConcurrencyHelpers

/// Where a subscription begins.
public enum SubscriptionStart: Hashable, Sendable {
    /// With the next message that is stored.
    case new
    /// With the oldest message that the stream holds.
    case all
    /// With the first message at or after this time.
    case time(Timestamp)
    /// With this sequence.
    case sequence(UInt64)
    /// Behind a place up to which everything was received before, by another run of the program perhaps. What the
    /// stream no longer holds of what follows is reported as a gap, and that the stream was made anew as that.
    case after(KeptPlace)
    /// With this many of the newest messages.
    case recent(Int)
    /// With the newest message of each topic.
    case newestOfEach
}

/// A part of a stream followed through any number of connections: each message once, in order.
///
/// The cursor outlives connections. While one is open, a task reads an ordered consumer and waits for the reader's
/// room, so that a slow reader loses nothing: what it has not taken stays on the server.
final class StreamSubscription<Event: Sendable>: Sendable {
    private enum Held {
        case news(SubscriptionNews<Event>)
        case lost(UInt64)
    }

    private struct State {
        var cursor = TopicCursor()
        var hasBegun = false
        var incarnation: UInt64 = 0
        /// The stream's name, once it is known.
        var streamName: String?
        /// From which sequence on every message comes: those before it are a choice.
        var wholeFrom: UInt64 = 0
        /// A hole that the next messages are kept with, and its first sequence.
        var hole: (gap: KeptGap, first: UInt64)?
        var task: Task<Void, Never>?
        /// What the cursor has passed and the channel had no room for when the connection was lost.
        var held: [Held] = []
        /// Whether the reader has been sent the news that what comes next was stored before: a reader that never reads
        /// gets it once, however often the connection is lost.
        var isCatchingUp = false
        /// Whether an interruption is among what is held.
        var isInterruptionHeld = false
        /// What the reader knows of the connection.
        var standing = SubscriptionStanding(.resubscribe)

        /// Keeps a loss to be reported, in one figure with one that has not been reported yet.
        mutating func holdLoss(_ count: UInt64) {
            if case .lost(let earlier)? = held.last {
                held[held.count - 1] = .lost(earlier + count)
            } else {
                held.append(.lost(count))
            }
        }
    }

    let channel: BoundedChannel<SubscriptionNews<Event>>
    private let start: SubscriptionStart
    let words: SubscriptionWords<Event>
    /// What the local store is to have; nil where nothing is kept.
    private let keeping: StreamKeeping<Event>?
    private let state: NIOLockedValueBox<State>

    init(
        from start: SubscriptionStart, capacity: Int = 2_048, keeping: StreamKeeping<Event>? = nil,
        _ words: SubscriptionWords<Event>
    ) {
        self.start = start
        self.words = words
        self.keeping = keeping
        var state = State()
        if let policy = words.standing?.policy { state.standing = SubscriptionStanding(policy) }
        if case .after(let place) = start {
            // As if an earlier connection had brought all that.
            state.hasBegun = true
            state.cursor = TopicCursor(last: place.sequence)
            state.incarnation = place.stream.incarnation
            state.streamName = place.stream.name
        }
        self.state = NIOLockedValueBox(state)
        channel = BoundedChannel(capacity: capacity, bytes: 16 << 20) { $0.weight }
    }

    /// The stream that is followed; nil while it is not known.
    var identity: StreamIdentity? {
        state.withLockedValue { state in
            state.streamName.map { StreamIdentity(name: $0, incarnation: state.incarnation) }
        }
    }

    /// Follows the stream over this connection, in place of an earlier one.
    ///
    /// - Parameters:
    ///   - source: where to read; asked again whenever the stream has to be found anew.
    ///   - report: called with each change of the subscription's standing.
    /// - Returns: fulfilled once the server has the consumer, so that nothing stored later is missed, or when it cannot
    ///   have it for now.
    func follow(
        _ clock: any Timekeeper, report: @escaping @Sendable (FollowerStanding) async -> Void,
        _ source: @escaping @Sendable () async -> StreamSource?
    ) -> Completion<Void> {
        let opened = Completion<Void>()
        guard !channel.isClosed else {
            opened.fulfil(())
            return opened
        }
        state.withLockedValue { state in
            let previous = state.task
            previous?.cancel()
            state.task = Task { [self] in
                // Two readers at once would deliver out of order.
                await previous?.value
                await run(clock, opened, report, source)
                opened.fulfil(())
            }
        }
        return opened
    }

    /// Stops reading, as when the connection is gone; the cursor stays.
    func pause() {
        state.withLockedValue { $0.task?.cancel() }
    }

    func end(_ ending: Result<Void, RelayError> = .success(())) {
        pause()
        channel.close(ending)
    }

    func connectionChanged(_ status: ConnectionStatus) {
        guard let told = words.standing?.told else { return }
        let step = state.withLockedValue { $0.standing.connectionChanged(status) }
        switch step {
        case .nothing: break
        case .tell(let status): tell(status)
        case .end(let status):
            channel.mark(.event(told(status)), isLast: true)
            if case .error(let error) = status { end(.failure(error)) } else { end() }
        }
    }

    /// Tells of the connection. A reader without room for it hears the newest as soon as it has some.
    private func tell(_ status: PlatformSubscriptionStatus) {
        if let told = words.standing?.told { channel.markWithRoom(.event(told(status))) }
    }

    private func run(
        _ clock: any Timekeeper, _ opened: Completion<Void>,
        _ report: @escaping @Sendable (FollowerStanding) async -> Void,
        _ source: @escaping @Sendable () async -> StreamSource?
    ) async {
        var failures = 0
        var told: (error: NATSError, passes: Bool)?
        // What is stored by now is delivered before anything new, however long it takes to get it.
        markCatchingUp()
        while !Task.isCancelled {
            guard let source = await source() else { return }
            var openedAt: ContinuousClock.Instant?
            do throws(NATSError) {
                let (extent, position) = try await beginning(source, clock)
                let consumer = try await LiveConsumer(
                    in: source.name, filter: source.filter, from: position, source.jetStream)
                openedAt = clock.now
                if told != nil { markCatchingUp() }
                await report(.live)
                // The connection counts as restored however slow this one reader is.
                opened.fulfil(())
                told = nil
                guard let hasProgressed = try await read(consumer, of: source, from: extent) else { return }
                // Its stream may have been made anew, so the place to go on is found again.
                failures = hasProgressed || Self.hasStood(since: openedAt, clock) ? 0 : failures + 1
                markCatchingUp()
                if failures > 0 { try? await clock.sleep(for: Self.pause(after: failures, true)) }
            } catch {
                guard source.jetStream.connection.isOpen, error != .cancelled else { return }
                if let openedAt {
                    if Self.hasStood(since: openedAt, clock) { failures = 0 }
                    markCatchingUp()
                }
                failures += 1
                if failures == 1, Self.isMissingStream(error), let make = source.make {
                    await make()
                    continue
                }
                let passes = Self.passes(error, source.jetStream)
                // What passes in a moment is no news; the other topics and the outbox do not wait for longer.
                if !passes || failures > 1 {
                    await report(.failed(passes: passes))
                    opened.fulfil(())
                    // A failure that passes is reported once, at whichever step it is noticed.
                    if told.map({ $0.passes != passes || !passes && $0.error != error }) ?? true {
                        told = (error, passes)
                        let failure = RelayError(error, during: words.operation)
                        state.withLockedValue { $0.standing.wasInterrupted(failure, passes: passes) }
                        let event = words.interrupted(failure, passes)
                        guard !channel.isClosed else { return }
                        tell(interruption: event)
                    }
                }
                try? await clock.sleep(for: Self.pause(after: failures, passes))
            }
        }
    }

    private func markCatchingUp() {
        let isNews = state.withLockedValue { !exchange(&$0.isCatchingUp, with: true) }
        if isNews { channel.mark(.catchingUp) }
    }

    /// Reports an interruption. A reader without room for it hears it as soon as it has some.
    private func tell(interruption event: Event) {
        let hasRoom = !channel.isFull
        let isHeld = state.withLockedValue { state -> Bool in
            state.isCatchingUp = false
            // Messages of several topics are put in order: what is held for want of room comes before it.
            guard !hasRoom, words.standing == nil, !state.held.isEmpty else { return false }
            if !exchange(&state.isInterruptionHeld, with: true) { state.held.append(.news(.event(event))) }
            return true
        }
        if !isHeld { channel.markWithRoom(.event(event)) }
    }

    /// Whether a subscription worked for so long that what ends it now has nothing to do with what failed before.
    private static func hasStood(since moment: ContinuousClock.Instant?, _ clock: any Timekeeper) -> Bool {
        moment.map { clock.now - $0 > .seconds(30) } ?? false
    }

    /// The time until the next try: what passes soon is tried soon.
    private static func pause(after failures: Int, _ passes: Bool) -> Duration {
        passes
            ? .milliseconds(min(125 << min(failures, 4), 2_000)) : .milliseconds(min(500 << min(failures, 6), 30_000))
    }

    private static func isMissingStream(_ error: NATSError) -> Bool {
        if case .jetStream(let failure) = error { failure.errorCode == JetStreamFailure.streamNotFound } else { false }
    }

    /// Whether a failure passes by itself while the connection is open.
    private static func passes(_ error: NATSError, _ jetStream: JetStream) -> Bool {
        // A server without JetStream will never answer.
        if case .noResponders = error { return jetStream.connection.info.hasJetStream == true }
        return error.isRetryable
    }

    /// Reads until the consumer is lost, the reader leaves or the task is cancelled.
    ///
    /// - Returns: whether anything has come, where the consumer is lost; otherwise nil.
    private func read(
        _ first: LiveConsumer, of source: StreamSource, from extent: StreamExtent
    ) async throws(NATSError) -> Bool? {
        guard await sendHeld() else { return nil }
        var consumer = first
        var isLive = false
        if consumer.pendingAtStart == 0 {
            isLive = true
            guard await becomeLive(through: extent.last) else { return nil }
        }
        var hasProgressed = false
        var limits = LiveConsumer.BatchLimits(count: Self.batch, bytes: Self.batchBytes)
        while true {
            limits.endsWhenCaughtUp = !isLive
            let arrived: [StoredMessage]
            switch try await consumer.next(limits) {
            case .messages(let messages): arrived = messages
            case .ended: return nil
            case .lost: return hasProgressed
            case .cut:
                let cursor = state.withLockedValue { $0.cursor.last ?? 0 }
                consumer = try await LiveConsumer(
                    in: source.name, filter: source.filter, from: .sequence(cursor &+ 1), caution: LiveConsumer.caution,
                    source.jetStream)
                continue
            }
            guard let last = arrived.last else { continue }
            hasProgressed = true
            var batch = beginBatch(of: arrived.count)
            for message in arrived {
                // What is read may take much more memory than it had bytes.
                if batch.size >= Self.batchBytes {
                    guard await deliver(consume batch) else { return nil }
                    batch = beginBatch(of: 1)
                }
                message.payload.withUnsafeReadableBytes { take(message, $0, into: &batch) }
            }
            guard await deliver(consume batch) else { return nil }
            limits.gathering = Int(clamping: min(last.pending ?? 0, UInt64(Self.gathered)))
            if !isLive, last.pending == 0 {
                isLive = true
                guard await becomeLive(through: max(extent.last, last.sequence)) else { return nil }
            }
        }
    }

    /// Says that everything up to a sequence has been handed over. The stream's newest messages may be none of this
    /// subscription's.
    private func becomeLive(through sequence: UInt64) async -> Bool {
        let changes = state.withLockedValue { state in
            state.cursor.reach(sequence)
            return state.standing.changes
        }
        // Reading stops before the status tells of a lost connection: what is said from here on is taken back where
        // that comes meanwhile.
        guard !Task.isCancelled, await channel.send(.live(through: sequence)) else { return false }
        let lost = state.withLockedValue { state -> PlatformSubscriptionStatus? in
            state.isCatchingUp = false
            guard state.standing.changes == changes else { return state.standing.status }
            state.standing.becameLive()
            return nil
        }
        // The connection was lost while the reader was told that it stands.
        if let lost { tell(lost) }
        return true
    }

    /// So many messages that have come together are handed over together, as long as they have fewer bytes than these.
    static var batch: Int { 256 }
    private static var batchBytes: Int { 1 << 20 }
    /// As long as the server has so many more, they are waited for together.
    private static var gathered: Int { 128 }

    /// Messages that have come together, each read where it is taken, so that none is copied in between.
    private struct Batch {
        /// The sequence that the cursor had passed before.
        let passed: UInt64?
        var cursor: TopicCursor
        let stream: StreamIdentity
        let wholeFrom: UInt64
        var events: [Event] = []
        var bytes = 0
        var kept: [KeptMessage] = []
        /// The bytes of all that was taken.
        var size = 0
    }

    /// Begins a batch. Nothing else moves the cursor until it is delivered, and decoding needs no lock.
    ///
    /// - Parameter count: so many messages may come.
    private func beginBatch(of count: Int) -> Batch {
        var batch = state.withLockedValue { state in
            Batch(
                passed: state.cursor.last, cursor: exchange(&state.cursor, with: TopicCursor()),
                stream: StreamIdentity(name: state.streamName ?? "", incarnation: state.incarnation),
                wholeFrom: state.wholeFrom)
        }
        batch.events.reserveCapacity(count)
        if keeping != nil { batch.kept.reserveCapacity(count) }
        return batch
    }

    /// Reads a message. It joins the batch where it is new.
    private func take(_ message: StoredMessage, _ payload: UnsafeRawBufferPointer, into batch: inout Batch) {
        let (event, repetition) = words.message(message, payload, batch.stream.incarnation, !batch.cursor.isLive)
        let size = max(message.size, words.heldBytes?(event) ?? 0)
        batch.size += size
        guard batch.cursor.receive(sequence: message.sequence, repetition: repetition) else { return }
        batch.bytes += size
        if let kept = keeping?.message(event, message, batch.stream) { batch.kept.append(kept) }
        batch.events.append(consume event)
    }

    /// Hands over what of a batch is new. Nobody else has it, or what is kept of it would be copied once more.
    private func deliver(_ batch: consuming Batch) async -> Bool {
        var batch = consume batch
        state.withLockedValue { $0.cursor = batch.cursor }
        guard !batch.events.isEmpty else { return !channel.isClosed }
        if let keeping, let first = batch.kept.first?.place.sequence, let last = batch.kept.last?.place {
            // Before the reader has them: what was on a screen can be shown again.
            let hole = state.withLockedValue { exchange(&$0.hole, with: nil) }
            let follows = hole?.first ?? batch.passed.map { $0 &+ 1 } ?? first
            await keeping.keep(
                exchange(&batch.kept, with: []), through: last, hole?.gap, from: max(follows, batch.wholeFrom))
        }
        var events = exchange(&batch.events, with: [])
        if let completed = words.completed { events = await completed(events) }
        let news = SubscriptionNews.events(consume events, bytes: batch.bytes)
        guard let unsent = await channel.hand(consume news) else { return true }
        state.withLockedValue { $0.held.append(.news(unsent)) }
        return false
    }

    private func sendHeld() async -> Bool {
        for held in state.withLockedValue({ $0.held }) {
            switch held {
            case .news(let news):
                guard await channel.send(news) else { return false }
            case .lost(let count):
                if let lost = words.lost, await !channel.send(.event(lost(count))) { return false }
            }
            state.withLockedValue { _ = $0.held.removeFirst() }
        }
        // The reader heard that stored messages come before it heard of the interruption: they still come.
        if state.withLockedValue({ exchange(&$0.isInterruptionHeld, with: false) }) { channel.mark(.catchingUp) }
        return true
    }

    /// Where to begin on this connection: behind the cursor, or where the subscription was asked to.
    private func beginning(
        _ source: StreamSource, _ clock: any Timekeeper
    ) async throws(NATSError) -> (extent: StreamExtent, position: StartPosition) {
        var extent = try await source.extent()
        if source.jetStream.connection.info.cluster != nil {
            // A replica that has just become the leader may lag for a moment. Only what lasts is a loss.
            for _ in 0..<Self.triesForReplica where identity(lostBehind: extent, source) != nil {
                do { try await clock.sleep(for: .milliseconds(250)) } catch { throw .cancelled }
                extent = try await source.extent()
            }
        }
        // What comes has the sequences of what is kept, which is put aside.
        if let keeping, let stream = identity(lostBehind: extent, source) {
            await keeping.rewind(stream, through: extent.last)
        }
        return (extent, try await position(extent, source))
    }

    /// How often a cluster is asked again that seems to have lost messages.
    private static var triesForReplica: Int { 12 }

    /// The stream, where it no longer has the newest that was received of it.
    private func identity(lostBehind extent: StreamExtent, _ source: StreamSource) -> StreamIdentity? {
        state.withLockedValue { state in
            guard let name = state.streamName, name == source.name, let seen = state.cursor.last, seen > extent.last,
                state.incarnation == extent.incarnation ?? state.incarnation
            else { return nil }
            return StreamIdentity(name: name, incarnation: state.incarnation)
        }
    }

    private func position(
        _ extent: StreamExtent, _ source: StreamSource
    ) async throws(NATSError) -> StartPosition {
        let (first, last) = (extent.first, extent.last)
        let resumed = state.withLockedValue { state -> StartPosition? in
            let incarnation = extent.incarnation ?? state.incarnation
            let isSameStream =
                (state.incarnation == 0 || state.incarnation == incarnation)
                && (state.streamName ?? source.name) == source.name
            state.incarnation = incarnation
            state.streamName = source.name
            guard state.hasBegun, state.cursor.last != nil else { return nil }
            // A stream made anew has nothing in common with the old one but its name: everything in it is new.
            if !isSameStream {
                state.cursor = TopicCursor(last: 0)
                state.hole = nil
                state.wholeFrom = 0
                if let restarted = words.restarted { state.held.append(.news(.event(restarted))) }
            } else if let seen = state.cursor.last, seen > last {
                // The server lost its newest messages (power went before the disk had them) and gives their sequences
                // to what comes now.
                state.cursor = TopicCursor(last: last)
                state.hole = nil
                if let rewound = words.rewound { state.held.append(.news(.event(rewound))) }
            }
            let passed = state.cursor.last ?? 0
            let (begin, lost) = state.cursor.resume(first: first, newest: last)
            if lost > 0 {
                if words.lost != nil { state.holdLoss(lost) }
                let earlier = state.hole
                state.hole = (
                    KeptGap(end: first, lost: lost + (earlier?.gap.lost ?? 0)),
                    earlier?.first ?? passed &+ 1
                )
            }
            return begin.map { .sequence($0) } ?? .new
        }
        if let resumed { return resumed }
        let begin: UInt64
        switch start {
        case .new: begin = last + 1
        case .all: begin = first
        case .sequence(let sequence): begin = sequence
        case .after(let place): begin = place.sequence &+ 1
        case .recent(let count):
            begin = try await source.sequence(before: last + 1, newest: count, in: extent)
        case .time(let time):
            // Until a message comes the time itself is the position, on every connection.
            state.withLockedValue { $0.hasBegun = true }
            let (nanoseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1_000_000)
            return .time(ServerTime(nanoseconds: overflow ? 0 : max(0, nanoseconds)))
        case .newestOfEach:
            // Until a message comes this is the position, on every connection.
            state.withLockedValue { state in
                state.hasBegun = true
                state.wholeFrom = last + 1
            }
            return .lastPerSubject
        }
        state.withLockedValue { state in
            state.hasBegun = true
            state.cursor = TopicCursor(last: max(begin, 1) - 1)
        }
        if start == .new, let keeping, let stream = identity {
            await keeping.begin(at: KeptPlace(stream: stream, sequence: last))
        }
        return .sequence(max(begin, 1))
    }
}
