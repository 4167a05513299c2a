import NIOConcurrencyHelpers
import NIOCore
import Synchronization

/// State shared by callers on any thread and the event loop, each part under a small lock of its own.
final class ConnectionCore: Sendable {
    private struct State {
        var info = ServerInfo()
        var subscriptions: [UInt64: Subscription] = [:]
        var nextSID: UInt64 = 2
        /// The pings that were sent, and the deadlines of their answers.
        var pongs: [(waiter: Completion<Result<Void, NATSError>>, deadline: NIODeadline)] = []
        var eventStreams: [UInt64: AsyncStream<NATSConnectionEvent>.Continuation] = [:]
        var nextEventStream: UInt64 = 0
        var ending: Ending?
    }

    /// A subscription as the server was asked for it, and the buffer of its messages.
    private struct Subscription {
        var subject: String
        var queue: String?
        var buffer: SubscriptionBuffer
        /// Whether it survives a refusal by the server, and is requested again.
        var isStanding = false
    }

    private struct Ending {
        var error: NATSError?
    }

    /// The one subscription on which all answers arrive.
    static let inboxSID: UInt64 = 1

    let options: ConnectOptions
    let log: ConnectionLog
    let outbound: OutboundBuffer
    let requests: RequestTable
    let inboxPrefix: String
    let eventLoop: any EventLoop
    private let channelBox = NIOLockedValueBox<(any Channel)?>(nil)
    private let state = NIOLockedValueBox(State())
    private let payloadLimit = Atomic(ServerInfo().maximumPayload)
    /// Whether the event loop watches the deadlines of unanswered questions.
    private let isClockRunning = Atomic(false)
    private let isCutNoted = Atomic(false)

    init(options: ConnectOptions, server: ServerAddress, inboxPrefix: String, eventLoop: any EventLoop) {
        self.options = options
        log = ConnectionLog(options.logger, to: server)
        self.inboxPrefix = inboxPrefix
        self.eventLoop = eventLoop
        requests = RequestTable(inbox: inboxPrefix + "." + UniqueToken.next())
        outbound = OutboundBuffer(highWaterMark: options.outboundHighWaterMark, limit: options.outboundLimit)
    }

    var info: ServerInfo { state.withLockedValue(\.info) }

    func informed(_ newest: ServerInfo) {
        state.withLockedValue { $0.info = newest }
        payloadLimit.store(newest.maximumPayload, ordering: .relaxed)
    }

    /// The largest message that the server accepts, in bytes, from its newest INFO.
    var maximumPayload: Int { payloadLimit.load(ordering: .relaxed) }

    var channel: (any Channel)? {
        get { channelBox.withLockedValue { $0 } }
        set { channelBox.withLockedValue { $0 = newValue } }
    }

    // MARK: Sending

    /// Appends frames and has them written soon.
    @inline(__always)
    @discardableResult
    func send(_ write: (inout ByteBuffer) -> Void) throws(NATSError) -> Bool {
        let appended = try outbound.append(write)
        if appended.needsFlush { startFlush() }
        return appended.isBelowHighWaterMark
    }

    /// Delays writes until ``release()``, so that they leave together; false if a flush is scheduled already.
    func hold() -> Bool { outbound.hold() }

    /// Flushes what was written since ``hold()``.
    func release() { if outbound.release() { startFlush() } }

    private func startFlush() { eventLoop.execute { self.flushOnLoop() } }

    private func flushOnLoop() {
        guard let channel, var chunk = outbound.take() else { return }
        // In pieces, so that there is room for more before a slow peer has taken all of a large chunk.
        while let piece = chunk.readSlice(length: min(chunk.readableBytes, Self.pieceSize)), piece.readableBytes > 0 {
            let bytes = piece.readableBytes
            let isLast = chunk.readableBytes == 0
            channel.write(piece).whenComplete { [self] _ in
                outbound.written(bytes)
                if isLast, outbound.ended() { startFlush() }
            }
        }
        channel.flush()
    }

    private static let pieceSize = 128 << 10

    /// How far this side's bytes have come. Call it on the event loop.
    var outboundProgress: LivenessMachine.Outbound {
        let (written, unwritten) = outbound.progress
        let queued = channel.map { SocketQueues.unacknowledgedBytes($0) } ?? 0
        let taken = written - queued
        // Only the system sees each byte leave: a piece counts as written once all of it is, and TLS joins pieces.
        let acknowledged = channel.flatMap { SocketQueues.acknowledgedBytes($0) } ?? taken
        return LivenessMachine.Outbound(acknowledged: acknowledged, taken: taken, waiting: unwritten + queued)
    }

    // MARK: Subscriptions

    func addSubscription(
        to subject: String, queue: String?, limits: BufferLimits, isStanding: Bool
    ) throws(NATSError) -> SubscriptionBuffer {
        let buffer = sharedBuffer(named: subject, limits: limits)
        try list(Subscription(subject: subject, queue: queue, buffer: buffer, isStanding: isStanding), as: buffer.sid)
        return buffer
    }

    /// A buffer for subscriptions that come and go but share one reader. `addSource` adds to it.
    func sharedBuffer(named name: String, limits: BufferLimits) -> SubscriptionBuffer {
        SubscriptionBuffer(sid: newSID(), subject: name, limits: limits, on: eventLoop)
    }

    /// Delivers a further subject's messages into a buffer, in order of arrival.
    ///
    /// - Returns: The number of this subscription, for `removeSource`.
    func addSource(_ subject: String, to buffer: SubscriptionBuffer) throws(NATSError) -> UInt64 {
        let sid = newSID()
        try list(Subscription(subject: subject, buffer: buffer), as: sid)
        return sid
    }

    private func newSID() -> UInt64 {
        state.withLockedValue { state in
            defer { state.nextSID += 1 }
            return state.nextSID
        }
    }

    private func list(_ subscription: Subscription, as sid: UInt64) throws(NATSError) {
        try state.withLockedValueThrowing { state throws(NATSError) in
            if let ending = state.ending { throw ending.error ?? .closed }
            state.subscriptions[sid] = subscription
        }
        do throws(NATSError) {
            try ask(for: subscription.subject, queue: subscription.queue, as: sid)
        } catch {
            _ = state.withLockedValue { $0.subscriptions.removeValue(forKey: sid) }
            throw error
        }
    }

    private func ask(for subject: String, queue: String? = nil, as sid: UInt64) throws(NATSError) {
        try send { ProtocolEncoder.writeSubscribe(subject: subject, queue: queue, sid: sid, into: &$0) }
    }

    func subscribeInbox() throws(NATSError) { try ask(for: requests.subscription, as: Self.inboxSID) }

    /// Asks the server again for what it refused; false if it is no longer needed.
    func subscribeAgain(_ sid: UInt64) throws(NATSError) -> Bool {
        if sid == Self.inboxSID {
            try subscribeInbox()
            return true
        }
        guard let subscription = state.withLockedValue({ $0.subscriptions[sid] }) else { return false }
        try ask(for: subscription.subject, queue: subscription.queue, as: sid)
        return true
    }

    func buffer(of sid: UInt64) -> SubscriptionBuffer? { state.withLockedValue { $0.subscriptions[sid]?.buffer } }

    /// Ends a subscription and tells the server, unless the connection is gone anyway.
    func removeSubscription(_ buffer: SubscriptionBuffer) {
        removeSource(buffer.sid)
        buffer.end(.finished)
    }

    /// Ends one subscription; the buffer that it shares with others stays.
    func removeSource(_ sid: UInt64) {
        guard state.withLockedValue({ $0.subscriptions.removeValue(forKey: sid) }) != nil else { return }
        // The server would keep it forever.
        let appended = try? outbound.append(isEnding: true) {
            ProtocolEncoder.writeUnsubscribe(sid: sid, after: nil, into: &$0)
        }
        if appended?.needsFlush == true { startFlush() }
    }

    /// The server refused or withdrew a subscription; without a number, its subject and queue group identify it.
    ///
    /// - Returns: The standing subscriptions, which the caller must ask for again.
    func failSubscriptions(to subject: String, queue: String?, sid: UInt64?, with error: NATSError) -> [UInt64] {
        if subject == requests.subscription || sid == Self.inboxSID {
            // Without its inbox no request of this connection can be answered.
            requests.refuse(error)
            return [Self.inboxSID]
        }
        let (standing, buffers) = state.withLockedValue { state -> ([UInt64], [SubscriptionBuffer]) in
            let found = state.subscriptions.filter { number, subscription in
                sid.map { $0 == number } ?? (subscription.subject == subject && subscription.queue == queue)
            }
            let ended = found.filter { !$0.value.isStanding }
            for number in ended.keys { state.subscriptions.removeValue(forKey: number) }
            return (found.filter(\.value.isStanding).map(\.key), ended.values.map(\.buffer))
        }
        for buffer in buffers { buffer.end(.failed(error)) }
        return standing
    }

    // MARK: Pings

    /// Sends PING. The waiter is listed before the bytes can leave, so that answers match. The caller starts the clock
    /// for the deadline.
    func sendPing(until deadline: NIODeadline = .distantFuture) throws(NATSError) -> Completion<Result<Void, NATSError>>
    {
        let waiter = Completion<Result<Void, NATSError>>()
        try state.withLockedValueThrowing { state throws(NATSError) in
            if let ending = state.ending { throw ending.error ?? .closed }
            state.pongs.append((waiter, deadline))
        }
        do throws(NATSError) {
            try send { $0.writeStaticString("PING\r\n") }
        } catch {
            // No PONG will come for it, and it must not take another's.
            state.withLockedValue { state in state.pongs.removeAll { $0.waiter === waiter } }
            throw error
        }
        return waiter
    }

    /// Answers the ping that has waited longest, and returns it.
    @discardableResult
    func pongReceived() -> Completion<Result<Void, NATSError>>? {
        let waiter = state.withLockedValue { state in state.pongs.isEmpty ? nil : state.pongs.removeFirst().waiter }
        waiter?.fulfil(.success(()))
        return waiter
    }

    /// Ends the waits whose time is up. Their pings stay listed, as their answers precede those of later ones.
    func expirePings(at now: NIODeadline) {
        let late = state.withLockedValue { state -> [Completion<Result<Void, NATSError>>] in
            let late = state.pongs.indices.filter { state.pongs[$0].deadline <= now }
            for index in late { state.pongs[index].deadline = .distantFuture }
            return late.map { state.pongs[$0].waiter }
        }
        for waiter in late { waiter.fulfil(.failure(.timeout("the server did not confirm what was sent"))) }
    }

    // MARK: Deadlines

    private var isAwaitingAnswers: Bool { !requests.isEmpty || state.withLockedValue { !$0.pongs.isEmpty } }

    /// Whether the caller, which has just asked something, must start the timer that watches unanswered questions.
    func claimClock() -> Bool { !isClockRunning.exchange(true, ordering: .acquiringAndReleasing) }

    /// Handles the timer. Returns whether it must be set again.
    func clockTicked() -> Bool {
        if isAwaitingAnswers { return true }
        _ = isClockRunning.exchange(false, ordering: .acquiringAndReleasing)
        // Something may have been added between the check and the exchange, while the timer still counted as running.
        return isAwaitingAnswers && claimClock()
    }

    // MARK: Events

    func events() -> AsyncStream<NATSConnectionEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NATSConnectionEvent.self, bufferingPolicy: .bufferingNewest(256))
        let ended = state.withLockedValue { state -> Ending? in
            if let ending = state.ending { return ending }
            let key = state.nextEventStream
            state.nextEventStream += 1
            state.eventStreams[key] = continuation
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLockedValue { $0.eventStreams.removeValue(forKey: key) }
            }
            return nil
        }
        if let ended {
            continuation.yield(.closed(ended.error))
            continuation.finish()
        }
        return stream
    }

    func emit(_ event: NATSConnectionEvent) {
        log.note(event)
        let continuations = state.withLockedValue { Array($0.eventStreams.values) }
        for continuation in continuations { continuation.yield(event) }
    }

    // MARK: Ending

    var isOpen: Bool { state.withLockedValue { $0.ending == nil } }

    /// Why the connection has ended; nil while it is open, and if its owner closed it.
    var endReason: NATSError? { state.withLockedValue { $0.ending?.error } }

    /// Whether the caller is the first of several readers to notice that the server cut off the connection.
    func claimCut() -> Bool { !isCutNoted.exchange(true, ordering: .relaxed) }

    /// Ends everything that waits, once. Nil means `close()`.
    func end(_ error: NATSError?) {
        let ended = state.withLockedValue { state -> State? in
            guard state.ending == nil else { return nil }
            state.ending = Ending(error: error)
            let old = state
            state.subscriptions = [:]
            state.pongs = []
            state.eventStreams = [:]
            return old
        }
        guard let ended else { return }
        log.note(.closed(error))
        let reason = error ?? .closed
        outbound.close(reason)
        requests.close(reason)
        for pong in ended.pongs { pong.waiter.fulfil(.failure(reason)) }
        for buffer in ended.subscriptions.values.map(\.buffer) { buffer.end(error.map { .failed($0) } ?? .finished) }
        for stream in ended.eventStreams.values {
            stream.yield(.closed(error))
            stream.finish()
        }
    }
}
