import NIOConcurrencyHelpers
import NIOCore
import Synchronization

/// The state that callers on any thread and the event loop share: every part of it under its own small lock.
final class ConnectionCore: Sendable {
    private struct State {
        var info = ServerInfo()
        var subscriptions: [UInt64: Subscription] = [:]
        var nextSID: UInt64 = 2
        /// The pings that were sent, and until when their answers may come.
        var pongs: [(waiter: Completion<Result<Void, NATSError>>, deadline: NIODeadline)] = []
        var eventStreams: [UInt64: AsyncStream<NATSConnectionEvent>.Continuation] = [:]
        var nextEventStream: UInt64 = 0
        var ending: Ending?
    }

    /// What the server was asked for under a number, and where its messages go.
    private struct Subscription {
        var subject: String
        var queue: String?
        var buffer: SubscriptionBuffer
        /// Whether it goes on when the server refuses it, and is asked for again.
        var isStanding = false
    }

    private struct Ending {
        var error: NATSError?
    }

    /// The one subscription over which all answers come.
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
    /// Whether the event loop looks at the deadlines of what waits for an answer.
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

    /// The largest message that the server takes, in bytes, as its newest INFO says.
    var maximumPayload: Int { payloadLimit.load(ordering: .relaxed) }

    var channel: (any Channel)? {
        get { channelBox.withLockedValue { $0 } }
        set { channelBox.withLockedValue { $0 = newValue } }
    }

    // MARK: Sending

    /// Appends frames and sees to it that they are written soon.
    @inline(__always)
    @discardableResult
    func send(_ write: (inout ByteBuffer) -> Void) throws(NATSError) -> Bool {
        let appended = try outbound.append(write)
        if appended.needsFlush { startFlush() }
        return appended.isBelowHighWaterMark
    }

    /// Delays writes until ``release()``, so that they leave together; false where a flush is scheduled already.
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

    /// How far this side's bytes have come. To be asked on the event loop.
    var outboundProgress: LivenessMachine.Outbound {
        let (written, unwritten) = outbound.progress
        let queued = channel.map { SocketQueues.unacknowledgedBytes($0) } ?? 0
        let taken = written - queued
        // Only the system sees each byte go: a piece counts as written when all of it is, and TLS makes one of many.
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

    /// A buffer for subscriptions that come and go and share one reader: `addSource` has messages come into it.
    func sharedBuffer(named name: String, limits: BufferLimits) -> SubscriptionBuffer {
        SubscriptionBuffer(sid: newSID(), subject: name, limits: limits, on: eventLoop)
    }

    /// Has a further subject's messages come into a buffer, in the order in which they arrive.
    ///
    /// - Returns: the number of this subscription, for `removeSource`.
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

    /// Asks the server once more for what it refused; false where nobody needs it any more.
    func subscribeAgain(_ sid: UInt64) throws(NATSError) -> Bool {
        if sid == Self.inboxSID {
            try subscribeInbox()
            return true
        }
        guard let subscription = state.withLockedValue({ $0.subscriptions[sid] }) else { return false }
        try ask(for: subscription.subject, queue: subscription.queue, as: sid)
        return true
    }

    func buffer(of sid: UInt64) -> SubscriptionBuffer? {
        state.withLockedValue { $0.subscriptions[sid]?.buffer }
    }

    /// Takes a subscription off the list and tells the server, unless the connection is gone anyway.
    func removeSubscription(_ buffer: SubscriptionBuffer) {
        removeSource(buffer.sid)
        buffer.end(.finished)
    }

    /// Ends one subscription; the buffer it shares with others goes on.
    func removeSource(_ sid: UInt64) {
        guard state.withLockedValue({ $0.subscriptions.removeValue(forKey: sid) }) != nil else { return }
        // The server would keep it for ever.
        let appended = try? outbound.append(isEnding: true) {
            ProtocolEncoder.writeUnsubscribe(sid: sid, after: nil, into: &$0)
        }
        if appended?.needsFlush == true { startFlush() }
    }

    /// The server refused or took away a subscription; without a number, subject and queue group identify it.
    ///
    /// - Returns: the standing ones, which go on and are to be asked for again.
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

    /// Sends PING with a waiter in the right order: the waiter is listed before the bytes can leave. The caller starts
    /// the clock for the deadline.
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

    /// The PONG answers the ping that has waited longest, which is returned.
    @discardableResult
    func pongReceived() -> Completion<Result<Void, NATSError>>? {
        let waiter = state.withLockedValue { state in state.pongs.isEmpty ? nil : state.pongs.removeFirst().waiter }
        waiter?.fulfil(.success(()))
        return waiter
    }

    /// Ends the waits whose time is up. Their pings stay on the list, as their answers come before those of later ones.
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

    /// Whether the caller, which has just sent a question, has to start the timer that watches the unanswered ones.
    func claimClock() -> Bool { !isClockRunning.exchange(true, ordering: .acquiringAndReleasing) }

    /// The timer has fired. Returns whether it has to be set again.
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

    /// Why the connection has ended; nil while it is open and where its owner closed it.
    var endReason: NATSError? { state.withLockedValue { $0.ending?.error } }

    /// Whether the caller is the first of several readers to note that the server cut off the connection.
    func claimCut() -> Bool { !isCutNoted.exchange(true, ordering: .relaxed) }

    /// Ends everything that waits, once. `nil` means `close()`.
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
