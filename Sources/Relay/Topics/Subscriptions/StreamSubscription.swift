import NATS
import NIOConcurrencyHelpers

/// Where a subscription starts.
public enum SubscriptionStart: Hashable, Sendable {
    /// At the next message to be stored.
    case new
    /// At the oldest message of the stream.
    case all
    /// At the first message from this time on.
    case time(Timestamp)
    /// At this sequence.
    case sequence(UInt64)
    /// After a position saved by an earlier run. Messages that the stream has lost since are reported as a gap, and a
    /// recreated stream as restarted.
    case after(KeptPlace)
    /// At this many of the newest messages.
    case recent(Int)
    /// At the newest message of each topic.
    case newestOfEach
}

/// A part of a stream followed across connections: each message once, in order.
///
/// The position in the stream outlives connections. While one is open, a task waits for the reader's room before it
/// reads from a consumer, so that a slow reader loses nothing: the server keeps everything else.
final class StreamSubscription<Event: Sendable>: Follower {
    private struct State {
        /// The position while no task is reading.
        var progress = StreamProgress()
        var stream: StreamIdentity?
        var task: Task<Void, Never>?
        /// Whether the reader knows that the following messages were stored before.
        var isCatchingUp = false
        /// The connection's status as the reader knows it.
        var standing = SubscriptionStanding(.resubscribe)
    }

    let id = UniqueToken.next()
    let name: String
    /// The stream to read, by the network's names and JetStream.
    private let source: @Sendable (RelayConfiguration.Namespace, JetStream) -> StreamSource
    let channel: BoundedChannel<SubscriptionNews<Event>>
    /// A queue that gets the events instead of the channel, under this name.
    private let receiver: (queue: any EventReceiver<Event>, name: String)?
    private let start: SubscriptionStart
    let words: SubscriptionWords<Event>
    /// How to store the messages; nil without a store.
    private let keeping: StreamKeeping<Event>?
    private let state: NIOLockedValueBox<State>

    init(
        _ name: String, from start: SubscriptionStart, capacity: Int = 2_048, keeping: StreamKeeping<Event>? = nil,
        into receiver: (queue: any EventReceiver<Event>, name: String)? = nil, _ words: SubscriptionWords<Event>,
        source: @escaping @Sendable (RelayConfiguration.Namespace, JetStream) -> StreamSource
    ) {
        (self.name, self.start, self.source) = (name, start, source)
        self.receiver = receiver
        self.words = words
        self.keeping = keeping
        var state = State()
        if let policy = words.standing?.policy { state.standing = SubscriptionStanding(policy) }
        if case .after(let place) = start {
            // As if an earlier connection had delivered everything before.
            state.progress = StreamProgress(after: place)
            state.stream = place.stream
        }
        self.state = NIOLockedValueBox(state)
        channel = BoundedChannel(capacity: capacity, bytes: 16 << 20) { $0.weight }
    }

    /// The stream being followed; nil while unknown.
    var identity: StreamIdentity? { state.withLockedValue(\.stream) }

    func follow(
        over link: LiveLink, _ namespace: RelayConfiguration.Namespace,
        report: @escaping @Sendable (FollowerStanding) async -> Void
    ) -> Completion<Void> {
        let isFirst = NIOLockedValueBox(true)
        return follow(link.surroundings.clock, report: report) { [source] in
            var namespace = namespace
            if !isFirst.withLockedValue({ exchange(&$0, with: false) }) {
                // The stream may have been recreated, which the network tells users who may not ask the server.
                namespace = await link.namespaceNow(instead: namespace)
            }
            return link.jetStream.map { source(namespace, $0) }
        }
    }

    /// Follows the stream over this connection, replacing an earlier one.
    ///
    /// - Parameters:
    ///   - source: The stream to read; called again whenever the stream must be found again.
    ///   - report: Called with each change of the subscription's standing.
    /// - Returns: Fulfilled once the server has the consumer, so that nothing stored later is missed, or has refused it
    ///   for now.
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

    /// Stops reading, as after the loss of the connection; the cursor stays.
    func pause() { state.withLockedValue { $0.task?.cancel() } }

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

    /// Reports the connection's status. A reader without room gets the newest as soon as it has some.
    private func tell(_ status: PlatformSubscriptionStatus) {
        if let told = words.standing?.told { channel.markWithRoom(.event(told(status))) }
    }

    private func run(
        _ clock: any Timekeeper, _ opened: Completion<Void>,
        _ report: @escaping @Sendable (FollowerStanding) async -> Void,
        _ source: @escaping @Sendable () async -> StreamSource?
    ) async {
        // Only this task changes it while it runs.
        var progress = state.withLockedValue { exchange(&$0.progress, with: StreamProgress()) }
        defer { state.withLockedValue { [progress] in $0.progress = progress } }
        var failures = 0
        var told: (error: NATSError, passes: Bool)?
        // Messages stored by now are delivered before new ones, however long that takes.
        markCatchingUp()
        while !Task.isCancelled {
            guard let source = await source() else { return }
            var openedAt: ContinuousClock.Instant?
            do throws(NATSError) {
                let (extent, position) = try await beginning(source, clock, &progress)
                let consumer = try await LiveConsumer(
                    in: source.name, filter: source.filter, from: position, source.jetStream)
                openedAt = clock.now
                await report(.live)
                // The connection counts as restored however slow this reader is.
                opened.fulfil(())
                told = nil
                guard let hasProgressed = try await read(consumer, of: source, from: extent, &progress) else { return }
                // Its stream may have been recreated, so the position is determined again.
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
                // A momentary failure is not reported; other topics and the outbox wait no longer than that.
                if !passes || failures > 1 {
                    await report(.failed(passes: passes))
                    opened.fulfil(())
                    // A temporary failure is reported once, at whichever step it is noticed.
                    if told.map({ $0.passes != passes || !passes && $0.error != error }) ?? true {
                        let failure = RelayError(error, during: words.operation)
                        state.withLockedValue { state in
                            state.standing.wasInterrupted(failure, passes: passes)
                            state.isCatchingUp = false
                        }
                        guard !channel.isClosed else { return }
                        if tell(interruption: words.interrupted(failure, passes)) { told = (error, passes) }
                    }
                }
                try? await clock.sleep(for: Self.pause(after: failures, passes))
            }
        }
    }

    /// Reports that the following messages were stored before. A reader without room gets this just before them, once,
    /// however often the connection is lost until then.
    private func markCatchingUp() {
        guard receiver == nil, !channel.isFull,
            state.withLockedValue({ !exchange(&$0.isCatchingUp, with: true) })
        else { return }
        channel.mark(.catchingUp)
    }

    /// Reports an interruption without waiting. A reader without room gets it as soon as it has some.
    ///
    /// - Returns: False if it should be reported again should it last.
    private func tell(interruption event: Event) -> Bool {
        if let receiver { return receiver.queue.offer(event, of: receiver.name) }
        channel.markWithRoom(.event(event))
        return true
    }

    private func waitForRoom() async -> Bool {
        guard let receiver else { return await channel.waitForRoom() }
        return await receiver.queue.waitForRoom() && !channel.isClosed
    }

    /// Passes on events for which there is room.
    private func hand(_ events: consuming [Event], bytes: Int) async {
        guard !events.isEmpty else { return }
        guard let receiver else { return channel.mark(.events(events, bytes: bytes)) }
        await receiver.queue.receive(events, of: receiver.name)
    }

    /// Whether a subscription worked for so long that its end is unrelated to earlier failures.
    private static func hasStood(since moment: ContinuousClock.Instant?, _ clock: any Timekeeper) -> Bool {
        moment.map { clock.now - $0 > .seconds(30) } ?? false
    }

    /// The pause before the next attempt, shorter after temporary failures.
    private static func pause(after failures: Int, _ passes: Bool) -> Duration {
        passes
            ? .milliseconds(min(125 << min(failures, 4), 2_000)) : .milliseconds(min(500 << min(failures, 6), 30_000))
    }

    private static func isMissingStream(_ error: NATSError) -> Bool {
        if case .jetStream(let failure) = error { failure.errorCode == JetStreamFailure.streamNotFound } else { false }
    }

    /// Whether a failure is temporary while the connection is open.
    private static func passes(_ error: NATSError, _ jetStream: JetStream) -> Bool {
        // A server without JetStream will never answer.
        if case .noResponders = error { return jetStream.connection.info.hasJetStream == true }
        return error.isRetryable
    }

    /// Reads until the consumer is lost, the reader leaves or the task is cancelled.
    ///
    /// - Returns: If the consumer is lost, whether anything has arrived; otherwise nil.
    private func read(
        _ first: LiveConsumer, of source: StreamSource, from extent: StreamExtent, _ progress: inout StreamProgress
    ) async throws(NATSError) -> Bool? {
        guard await waitForRoom() else { return nil }
        markCatchingUp()
        await hand(words.events(progress.takeUntold()), bytes: 0)
        var consumer = first
        var isLive = false
        var hasProgressed = false
        var limits = LiveConsumer.BatchLimits(count: Self.batch, bytes: Self.batchBytes)
        while await waitForRoom() {
            if !isLive, consumer.pending == 0 {
                isLive = true
                let reached = max(extent.last, progress.last ?? 0)
                guard await becomeLive(through: reached, &progress) else { return nil }
            }
            limits.endsWhenCaughtUp = !isLive
            var arrived = try await consumer.next(limits)
            guard let last = arrived.last else {
                switch consumer.ending {
                case .cut:
                    let next = (progress.last ?? 0) &+ 1
                    consumer = try await LiveConsumer(
                        in: source.name, filter: source.filter, from: .sequence(next), caution: LiveConsumer.caution,
                        source.jetStream)
                    continue
                case .lost: return hasProgressed
                // The outstanding messages are gone from the stream.
                case nil where !isLive && consumer.pending == 0: continue
                case .closed, .failed, nil: return nil
                }
            }
            hasProgressed = true
            // With the next one last, each is removed without a copy.
            arrived.reverse()
            guard await handOver(&arrived, &progress) else { return nil }
            limits.gathering = Int(clamping: min(last.pending ?? 0, UInt64(Self.gathered)))
        }
        return nil
    }

    /// Reports that everything up to a sequence has been delivered. The stream's newest messages may not be for this
    /// subscription.
    private func becomeLive(through sequence: UInt64, _ progress: inout StreamProgress) async -> Bool {
        progress.reach(sequence)
        let changes = state.withLockedValue(\.standing.changes)
        // Reading stops before a lost connection is reported; if that happens meanwhile, the status below corrects it.
        guard await waitForRoom(), !Task.isCancelled else { return false }
        if receiver == nil { channel.mark(.live(through: sequence)) } else { await hand([words.live], bytes: 0) }
        let lost = state.withLockedValue { state -> PlatformSubscriptionStatus? in
            state.isCatchingUp = false
            guard state.standing.changes == changes else { return state.standing.status }
            state.standing.becameLive()
            return nil
        }
        // The connection was lost while the reader was told that it is live.
        if let lost { tell(lost) }
        return true
    }

    /// The most messages and bytes passed on together.
    static var batch: Int { 256 }
    private static var batchBytes: Int { 1 << 20 }
    /// While the server has this many more, they are awaited together.
    private static var gathered: Int { 128 }

    /// Decodes a batch of messages as there is room, and passes on the new ones. Everything decoded reaches the reader.
    ///
    /// - Parameter arrived: The messages, the next one last.
    /// - Returns: False if the rest was not decoded, and arrives again over the next connection.
    private func handOver(_ arrived: inout [StoredMessage], _ progress: inout StreamProgress) async -> Bool {
        let stream = progress.stream ?? StreamIdentity(name: "", incarnation: 0)
        while !arrived.isEmpty {
            guard await waitForRoom() else { return false }
            let passed = progress.last
            var part = take(&arrived, of: stream, &progress)
            if let keeping, let last = progress.last, last != passed {
                // Stored before the reader gets them: whatever was on a screen can be shown again. Messages without
                // room in the store are missing from its complete parts; repetitions, which are not stored, are not.
                let changes = progress.takeChanges(
                    of: keeping.name, behind: passed, first: part.kept.first?.place.sequence ?? last,
                    through: KeptPlace(stream: stream, sequence: last))
                await keeping.opening.value?.append(exchange(&part.kept, with: []), changes)
            }
            guard !part.events.isEmpty else { continue }
            if let completed = words.completed { part.events = await completed(part.events) }
            // No one else holds them, so that the reader may modify them without a copy.
            await hand(exchange(&part.events, with: []), bytes: part.bytes)
        }
        return true
    }

    /// Decodes the messages to pass on together. Decoded messages may take much more memory than they had bytes.
    @specialized(where Event == TopicEvent)
    private func take(
        _ arrived: inout [StoredMessage], of stream: StreamIdentity, _ progress: inout StreamProgress
    ) -> (events: [Event], kept: [KeptMessage], bytes: Int) {
        var events: [Event] = []
        var kept: [KeptMessage] = []
        events.reserveCapacity(arrived.count)
        if keeping != nil { kept.reserveCapacity(arrived.count) }
        var (read, bytes) = (0, 0)
        while read < Self.batchBytes, let message = arrived.popLast() {
            // Many messages share the payload's memory, so it is retained only once.
            let (event, repetition) = message.payload.withUnsafeReadableBytes {
                words.message(message, $0, stream.incarnation, !progress.isLive)
            }
            let size = max(message.size, words.heldBytes?(event) ?? 0)
            read += size
            guard progress.receive(sequence: message.sequence, repetition: repetition) else { continue }
            bytes += size
            if let message = keeping?.message(event, message, stream) { kept.append(message) }
            events.append(consume event)
        }
        return (events, kept, bytes)
    }

    /// Where to start on this connection: after the cursor, or where the subscription should start.
    private func beginning(
        _ source: StreamSource, _ clock: any Timekeeper, _ progress: inout StreamProgress
    ) async throws(NATSError) -> (extent: StreamExtent, position: StartPosition) {
        var extent = try await source.extent()
        progress.look(at: extent, in: source.name)
        if source.jetStream.connection.info.cluster != nil {
            // A replica that has just become the leader may lag behind for a moment, or, on an old server, until a
            // restart. Only a lasting loss counts. The outbox waits meanwhile: its messages would get sequences that
            // count as received.
            for pause in Self.pausesForReplica where progress.stream(lostBehind: extent, in: source.name) != nil {
                do { try await clock.sleep(for: pause) } catch { throw .cancelled }
                extent = try await source.extent()
                progress.look(at: extent, in: source.name)
            }
        }
        // New messages have the sequences of stored ones, which are moved aside.
        if let keeping, let stream = progress.stream(lostBehind: extent, in: source.name) {
            await keeping.rewind(stream, through: progress.end(of: extent))
        }
        let position = progress.resume(extent, in: source.name)
        state.withLockedValue { [stream = progress.stream] in $0.stream = stream }
        if let position { return (extent, position) }
        return (extent, try await firstPosition(extent, source, &progress))
    }

    /// When to ask a cluster again that seems to have lost messages, for half a minute.
    private static var pausesForReplica: [Duration] {
        Array(repeating: .milliseconds(250), count: 12) + Array(repeating: .seconds(1), count: 27)
    }

    private func firstPosition(
        _ extent: StreamExtent, _ source: StreamSource, _ progress: inout StreamProgress
    ) async throws(NATSError) -> StartPosition {
        let begin: UInt64
        switch start {
        case .new: begin = extent.last + 1
        case .all: begin = extent.first
        case .sequence(let sequence): begin = sequence
        case .after(let place): begin = place.sequence &+ 1
        case .recent(let count):
            begin = try await source.sequence(before: extent.last + 1, newest: count, in: extent)
        case .time(let time):
            // Until a message arrives the time itself is the position, on every connection.
            let (nanoseconds, overflow) = time.milliseconds.multipliedReportingOverflow(by: 1_000_000)
            return .time(ServerTime(nanoseconds: overflow ? 0 : max(0, nanoseconds)))
        case .newestOfEach:
            // Until a message arrives this is the position, on every connection.
            progress.begin(wholeBehind: extent.last)
            return .lastPerSubject
        }
        progress.begin(at: begin, in: extent.last)
        if start == .new, let keeping, let stream = progress.stream {
            await keeping.begin(at: KeptPlace(stream: stream, sequence: extent.last))
        }
        return .sequence(max(begin, 1))
    }
}
