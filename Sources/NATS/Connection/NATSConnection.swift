import NIOCore
import NIOPosix

/// One connection to one NATS server, from login to its end. It never reconnects: the caller opens a new one.
///
/// Publishing is synchronous: it appends to a buffer that the event loop writes once a turn, so thousands of small
/// messages need few system calls. The socket closes with the last reference.
public final class NATSConnection: Sendable {
    let core: ConnectionCore
    private let handler: NIOLoopBound<ConnectionHandler>
    /// The server this connection was made to.
    public let address: ServerAddress

    private init(core: ConnectionCore, handler: NIOLoopBound<ConnectionHandler>, address: ServerAddress) {
        self.core = core
        self.handler = handler
        self.address = address
    }

    deinit {
        core.end(.closed)
        core.channel?.close(promise: nil)
    }

    /// Connects and logs in. A user or token in the address wins over `options.authentication`. The host is resolved by
    /// `resolver`, or by the system without one.
    ///
    /// - Returns: A connection whose login the server has confirmed.
    /// - Throws: The reason of the failure, or `cancelled` if the task was cancelled meanwhile.
    public static func connect(
        to address: ServerAddress, options: ConnectOptions = ConnectOptions(),
        group: any EventLoopGroup = NIOSingletons.posixEventLoopGroup, resolver: (any Resolver & Sendable)? = nil
    ) async throws(NATSError) -> NATSConnection {
        try await logIn(to: address, options: options, on: group.next()) { attempt in
            let failure = options.proxy.map { ProxyFailure(proxy: $0, server: address) }
            let bootstrap = ClientBootstrap(group: attempt.core.eventLoop)
                .resolver(resolver)
                .channelOption(ChannelOptions.socketOption(.so_keepalive), value: 1)
                .channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
                .channelOption(
                    ChannelOptions.recvAllocator,
                    value: AdaptiveRecvByteBufferAllocator(minimum: 2_048, initial: 8_192, maximum: 256 << 10)
                )
                .connectTimeout(attempt.timeout)
            let (host, port) = options.proxy.map { ($0.host, $0.port) } ?? (address.host, address.port)
            // A numeric address needs no thread for name resolution.
            let isNumber = resolver == nil && (0...65_535).contains(port)
            let number = isNumber ? try? SocketAddress(ipAddress: host, port: port) : nil
            (number.map { bootstrap.connect(to: $0) } ?? bootstrap.connect(host: host, port: port))
                .assumeIsolated()
                // A host may have several addresses: only the first socket to connect gets the handler, before anything
                // is read from it.
                .flatMapThrowing { channel in
                    try attempt.begin(in: channel) {
                        if let failure { try ProxyTunnel.begin(failure, in: channel) }
                    }
                }
                .whenFailure { error in
                    attempt.fail(failure?.error(error) ?? ErrorTranslation.natsError(error, address: address))
                }
        }
    }

    /// Logs in over a channel that already leads to the server, without a proxy. Nothing may have been read from it
    /// yet: create it with `autoRead` off, which is turned on here. The connection takes it over, and closes it if the
    /// login fails.
    package static func connect(
        over channel: any Channel, to address: ServerAddress, options: ConnectOptions = ConnectOptions()
    ) async throws(NATSError) -> NATSConnection {
        var direct = options
        direct.proxy = nil
        do throws(NATSError) {
            return try await logIn(to: address, options: direct, on: channel.eventLoop) { attempt in
                do {
                    try attempt.begin(in: channel)
                    if channel.isActive { attempt.handler.joinedActiveChannel() }
                    try channel.syncOptions?.setOption(ChannelOptions.autoRead, value: true)
                } catch {
                    attempt.fail(ErrorTranslation.natsError(error, address: address))
                }
            }
        } catch {
            // Needed if the attempt ended before it touched the channel.
            channel.close(promise: nil)
            throw error
        }
    }

    /// One attempt to log in, on its event loop: the handler for a channel, and where to report a failure.
    private struct Attempt {
        let core: ConnectionCore
        let handler: ConnectionHandler
        let timeout: TimeAmount
        let ready: EventLoopPromise<Void>

        /// Adds the handler to a connected channel, after those that `prepare` adds.
        func begin(in channel: any Channel, after prepare: () throws -> Void = {}) throws {
            do {
                guard core.isOpen else { throw NATSError.cancelled }
                try prepare()
                try channel.pipeline.syncOperations.addHandler(handler)
            } catch {
                channel.close(promise: nil)
                throw error
            }
        }

        func fail(_ error: NATSError) {
            core.end(error)
            ready.fail(error)
        }
    }

    /// Logs in over the channel that `open` provides, which is called on the event loop.
    private static func logIn(
        to address: ServerAddress, options: ConnectOptions, on loop: any EventLoop,
        through open: @escaping @Sendable (Attempt) -> Void
    ) async throws(NATSError) -> NATSConnection {
        // On a busy machine a dial can finish before its caller starts to wait and notices its cancellation.
        if Task.isCancelled { throw .cancelled }
        let authentication = address.authentication ?? options.authentication
        let prefix =
            try options.inboxPrefix.map { text throws(NATSError) in
                guard Subject.isPublishable(text) else { throw .invalidSubject(text) }
                return text
            } ?? authentication.permittedInboxPrefix
        let core = ConnectionCore(options: options, server: address, inboxPrefix: prefix, eventLoop: loop)
        core.log.connecting()
        let outcome = Completion<Result<NIOLoopBound<ConnectionHandler>, NATSError>>()
        loop.execute {
            let timeout = TimeAmount.nanoseconds(max(1, options.connectTimeout.nanoseconds))
            let deadline = NIODeadline.now() + timeout
            let ready = loop.makePromise(of: Void.self)
            let handler = ConnectionHandler(core: core, address: address, loginDeadline: deadline, ready: ready)
            let bound = NIOLoopBound(handler, eventLoop: loop)
            ready.futureResult.assumeIsolated().whenComplete { result in
                switch result {
                case .success:
                    core.log.connected(core.info)
                    outcome.fulfil(.success(bound))
                case .failure(let error):
                    let error = ErrorTranslation.natsError(error, address: address)
                    outcome.fulfil(.failure(options.proxy.map { error.through($0) } ?? error))
                }
            }
            open(Attempt(core: core, handler: handler, timeout: timeout, ready: ready))
        }
        let handler = try await outcome.result {
            core.end(.cancelled)
            core.channel?.close(promise: nil)
        }
        return NATSConnection(core: core, handler: handler, address: address)
    }

    /// The newest INFO of the server.
    public var info: ServerInfo { core.info }

    /// The largest message that the server accepts, in bytes.
    public var maximumPayload: Int { core.maximumPayload }

    /// The prefix of the subjects on which answers to this connection's requests arrive.
    public var inboxPrefix: String { core.inboxPrefix }

    /// Whether the connection is still open, as far as this side knows.
    public var isOpen: Bool { core.isOpen }

    package var hasOpenRequests: Bool { !core.requests.isEmpty }

    /// Returns a unique subject under the permitted inbox prefix.
    public func newInbox() -> String { core.inboxPrefix + "." + UniqueToken.next() }

    // MARK: Publishing

    /// Publishes a message of at most ``maximumPayload``, headers included. It is written soon; `flush` returns once
    /// the server has it.
    ///
    /// - Returns: Whether fewer bytes wait than the high-water mark. If not, await `drained()` before the next.
    /// - Throws: `invalidSubject`, `payloadTooLarge`, `outboundBufferFull`, or the reason for the connection's end.
    @discardableResult
    public func publish(
        _ payload: ByteBuffer, to subject: String, reply: String? = nil, headers: NATSHeaders? = nil
    ) throws(NATSError) -> Bool {
        guard Subject.isPublishable(subject) else { throw .invalidSubject(subject) }
        if let reply, !Subject.isPublishable(reply) { throw .invalidSubject(reply) }
        let block = try headers.flatMap { headers throws(NATSError) in try headers.block() }
        return try publishChecked(payload, to: subject, reply: reply, block: block)
    }

    /// Publishes bytes; see the variant with a buffer.
    @discardableResult
    public func publish(
        _ payload: [UInt8], to subject: String, reply: String? = nil, headers: NATSHeaders? = nil
    ) throws(NATSError) -> Bool {
        try publish(ByteBuffer(bytes: payload), to: subject, reply: reply, headers: headers)
    }

    @inline(__always)
    func publishChecked(
        _ payload: ByteBuffer, to subject: String, reply: String? = nil, block: ByteBuffer? = nil
    ) throws(NATSError) -> Bool {
        try checkSize(payload.readableBytes + (block?.readableBytes ?? 0))
        // Branching here specializes the writer for each of the two frames.
        guard let block else {
            return try core.send {
                ProtocolEncoder.writePublish(payload, headers: nil, subject: subject, reply: reply, into: &$0)
            }
        }
        return try core.send {
            ProtocolEncoder.writePublish(payload, headers: block, subject: subject, reply: reply, into: &$0)
        }
    }

    @inline(__always)
    private func checkSize(_ bytes: Int) throws(NATSError) {
        let limit = core.maximumPayload
        guard bytes <= limit else { throw .payloadTooLarge(bytes: bytes, limit: limit) }
    }

    /// Waits until less than half the high-water mark is unsent.
    public func drained() async throws(NATSError) {
        guard let waiter = try core.outbound.drainWaiter() else { return }
        try await waiter.result()
    }

    /// Waits until the server has processed everything published before. The timeout is accurate to 50 ms.
    public func flush(timeout: Duration = .seconds(10)) async throws(NATSError) {
        let waiter = try core.sendPing(until: .now() + .nanoseconds(max(0, timeout.nanoseconds)))
        startClockIfNeeded()
        try await waiter.result()
    }

    /// Measures the round trip to the server. The timeout is accurate to 50 ms.
    public func ping(timeout: Duration = .seconds(5)) async throws(NATSError) -> Duration {
        let start = ContinuousClock.now
        try await flush(timeout: timeout)
        return start.duration(to: .now)
    }

    /// Asks the server to confirm everything sent so far. Without this, silence goes unnoticed for a question whose
    /// answer arrives over a subscription of its own.
    func confirm() {
        guard (try? core.sendPing()) != nil else { return }
        startClockIfNeeded()
    }

    /// Starts the timer that watches unanswered questions unless it is running.
    @inline(__always)
    private func startClockIfNeeded() {
        if core.claimClock() { core.eventLoop.execute { [handler] in handler.value.keepAlive?.startClock() } }
    }

    // MARK: Requests

    /// Sends a request and waits for one answer over the connection's shared inbox. The timeout is accurate to 50 ms.
    ///
    /// - Throws: `noResponders` at once if the subject has no subscriber, `timeout`, `publishNotPermitted`,
    ///   or `cancelled`, among others.
    public func request(
        _ payload: ByteBuffer, to subject: String, headers: NATSHeaders? = nil, timeout: Duration = .seconds(5)
    ) async throws(NATSError) -> NATSMessage {
        guard Subject.isPublishable(subject) else { throw .invalidSubject(subject) }
        let block = try headers.flatMap { headers throws(NATSError) in try headers.block() }
        return try await requestAPI(payload, to: subject, block: block, timeout: timeout)
    }

    /// As ``request(_:to:headers:timeout:)``, also for subjects of JetStream's API, which may end in a consumer's
    /// wildcard filter.
    func requestAPI(
        _ payload: ByteBuffer, to subject: String, block: ByteBuffer? = nil, timeout: Duration
    ) async throws(NATSError) -> NATSMessage {
        let completion = Completion<Result<NATSMessage, NATSError>>()
        let token = try request(payload, to: subject, block: block, timeout: timeout) { completion.fulfil($0) }
        return try await completion.result { [core] in core.requests.remove(token) }
    }

    /// Sends a request and calls `answer` once, on the event loop: the form for many requests in flight. A patient
    /// request that may still be in flight when its time is up gets the same time again once the server has it.
    @discardableResult
    func request(
        _ payload: ByteBuffer, to subject: String, block: ByteBuffer? = nil, timeout: Duration, isPatient: Bool = false,
        answer: @escaping RequestTable.Answer
    ) throws(NATSError) -> RequestToken {
        guard Subject.isSubscribable(subject) else { throw .invalidSubject(subject) }
        let time = TimeAmount.nanoseconds(timeout.nanoseconds)
        let token = try core.requests.add(
            subject: subject, deadline: .now() + time, patience: isPatient ? time : nil, for: .message(answer))
        startClockIfNeeded()
        do throws(NATSError) {
            _ = try publishChecked(payload, to: subject, reply: core.requests.reply(for: token), block: block)
        } catch {
            core.requests.remove(token)
            throw error
        }
        return token
    }

    /// Sends everything that `body` publishes together, in one write if it fits: for a few hundred messages that exist
    /// at once. Nothing else is sent meanwhile, so `body` must not wait for anything.
    public func together<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        let isHeld = core.hold()
        defer { if isHeld { core.release() } }
        return try body()
    }

    /// Asks a stream to store a message under an id. As ``request(_:to:block:timeout:isPatient:answer:)`` with that
    /// single header; subject and id have been checked.
    func requestStorage(
        _ payload: some PublishPayload, to subject: String, messageID: String, timeout: Duration,
        for asker: RequestTable.Asker
    ) throws(NATSError) {
        try checkSize(payload.count + ProtocolEncoder.blockLength(messageID: messageID))
        let time = TimeAmount.nanoseconds(timeout.nanoseconds)
        let requests = core.requests
        let token = try requests.add(subject: subject, deadline: .now() + time, patience: time, for: asker)
        startClockIfNeeded()
        do throws(NATSError) {
            try core.send {
                ProtocolEncoder.writePublish(
                    payload, messageID: messageID, subject: subject, stem: requests.stem, token: token, into: &$0)
            }
        } catch {
            requests.remove(token)
            throw error
        }
    }

    // MARK: Subscriptions

    /// Subscribes to a subject, in which `*` stands for one token and a final `>` for one or more. The server has it
    /// after the next `flush`. Members of a queue group share the messages.
    ///
    /// - Parameter isStanding: Whether it survives a refusal by the server and is requested again after a while.
    ///   Messages published meanwhile are missed.
    /// - Returns: The messages, for one task to read; the subscription ends with its last reference.
    public func subscribe(
        to subject: String, queue: String? = nil, limits: BufferLimits = BufferLimits(), isStanding: Bool = false
    ) throws(NATSError) -> NATSSubscription {
        guard Subject.isSubscribable(subject) else { throw .invalidSubject(subject) }
        if let queue, !Subject.isQueueName(queue) {
            throw .invalidArgument("A queue group's name has no white space.")
        }
        let buffer = try core.addSubscription(to: subject, queue: queue, limits: limits, isStanding: isStanding)
        return NATSSubscription(core: core, buffer: buffer)
    }

    // MARK: Life

    /// The connection's events from now on. At most 256 are buffered; the oldest are dropped.
    public var events: AsyncStream<NATSConnectionEvent> { core.events() }

    /// Checks now, ahead of the next ping, whether the server is alive. The answer is an event: a round trip, or the
    /// end of a stale connection. A server that is slow to read what was sent counts as alive. The limit can only
    /// shorten the usual one, and applies if nothing unsent is queued ahead.
    public func probe(within limit: Duration? = nil) {
        guard core.isOpen else { return }
        core.eventLoop.execute { [core, handler] in
            handler.value.keepAlive?.probe(limit: limit ?? core.options.pongTimeout)
        }
    }

    /// Waits for the end of the connection. Returns nil if `close()` ended it, `cancelled` if the task was cancelled,
    /// else the reason.
    public func waitUntilClosed() async -> NATSError? {
        for await case .closed(let reason) in events { return reason }
        return .cancelled
    }

    /// Writes what waits, as far as the server reads it within `timeout`, and closes. Later calls throw `closed`.
    public func close(timeout: Duration = .seconds(1)) async {
        if core.isOpen, core.outbound.unwrittenBytes > 0 { try? await flush(timeout: timeout) }
        closeNow()
    }

    /// Closes at once; unsent bytes are lost.
    public func closeNow() {
        core.end(nil)
        core.channel?.close(promise: nil)
    }

    /// Closes at once, and returns once the socket is closed or the limit has passed.
    package func closed(within limit: Duration) async {
        closeNow()
        guard let channel = core.channel else { return }
        let closed = Completion<Void>()
        channel.closeFuture.whenComplete { _ in closed.fulfil(()) }
        let alarm = closed.fulfil((), after: limit)
        await closed.value()
        alarm.cancel()
    }
}
