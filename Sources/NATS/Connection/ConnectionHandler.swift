import NIOCore
import NIOSSL
import NIOTLS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lives in the channel's pipeline, on its event loop: decodes, answers pings, keeps time, delivers batches.
final class ConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let core: ConnectionCore
    private let address: ServerAddress
    private let ready: EventLoopPromise<Void>
    private var machine: HandshakeMachine
    private var decoder = ProtocolDecoder()
    private var context: ChannelHandlerContext?

    /// Messages of the current read for one reader, handed over together.
    private var staged: [NATSMessage] = []
    private var stagedBytes = 0
    private var stagedBuffer: SubscriptionBuffer?
    /// The subscription of the last of them.
    private var stagedSID: UInt64?
    /// The read that is being decoded: its number, and how much memory its messages keep.
    private var chunk = ReadChunk(number: 0, capacity: 0)
    /// The last subject as bytes and text: a run of messages on one subject shares one string.
    private var lastSubject = ""
    private var lastSubjectBytes: [UInt8] = []

    /// Whether the decoder is at work. A write from inside it that fails has the channel read to its end and close before
    /// it returns: what arrives so waits its turn, and so does the loss behind it.
    private var isDecoding = false
    private var chunksInWaiting: [ByteBuffer] = []
    private var lossInWaiting: NATSError?

    private var pongs = PongDebt()
    private var isAnsweringPings = false
    private var allowance = ServerAllowance(now: ConnectionHandler.now)

    private let loginDeadline: NIODeadline
    private var loginAlarm: Scheduled<Void>?
    /// What to say when the deadline comes: whoever has not answered by then.
    private var lateness: NATSError
    private var liveness: LivenessMachine?
    private var livenessAlarm: Scheduled<Void>?
    /// Whether the socket was left unread since the liveness was last asked.
    private var hasLeftUnread = false
    /// The liveness's own ping under way, and when it was sent.
    private var ping: (waiter: Completion<Result<Void, NATSError>>, sent: NIODeadline)?
    private var requestClock: Scheduled<Void>?
    private var ending: NATSError?

    init(core: ConnectionCore, address: ServerAddress, loginDeadline: NIODeadline, ready: EventLoopPromise<Void>) {
        self.core = core
        self.address = address
        self.loginDeadline = loginDeadline
        self.ready = ready
        lateness =
            core.options.proxy.map { ProxyFailure(proxy: $0, server: address).unanswered } ?? Self.lateLogin(address)
        machine = HandshakeMachine(
            wantsTLS: address.usesTLS || core.options.tls != nil,
            handshakesFirst: core.options.tls?.handshakesFirst ?? false)
    }

    // MARK: Channel life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        core.channel = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        loginAlarm = context.eventLoop.scheduleTask(deadline: loginDeadline) {
            bound.value.fail(bound.value.lateness)
        }
    }

    private static func lateLogin(_ address: ServerAddress) -> NATSError {
        .timeout("the server at \(address) did not complete the login")
    }

    /// The channel became active before this handler joined it, so nobody else says so.
    func joinedActiveChannel() {
        guard let context else { return }
        channelActive(context: context)
    }

    func channelActive(context: ChannelHandlerContext) {
        // Whoever gave up while this was dialling found no channel to close.
        guard core.isOpen else { return context.close(promise: nil) }
        // Behind a proxy this comes when the tunnel stands.
        lateness = Self.lateLogin(address)
        guard machine.state == .securingFirst else { return context.fireChannelActive() }
        startTLS(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        lost(.closedByServer(nil))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        finish(ending ?? .closed)
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The system gave up a peer that acknowledged nothing for as long as it was told to wait.
        if machine.state == .ready, (error as? IOError)?.errnoCode == ETIMEDOUT { return lost(.staleConnection) }
        lost(ErrorTranslation.natsError(error, address: address, certificate: certificate(context)))
    }

    /// The server's certificate, also of a handshake that has just failed.
    private func certificate(_ context: ChannelHandlerContext) -> CertificateSummary? {
        guard machine.isSecuring else { return nil }
        let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate()
        return certificate.flatMap { $0 }.map { CertificateSummary($0) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? TLSUserEvent, case .handshakeCompleted = event { secured(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func read(context: ChannelHandlerContext) {
        // While a subscription is over its limit the socket stays unread; the reader asks again when it has room.
        if core.isReadingPaused { hasLeftUnread = true } else { context.read() }
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let chunk = unwrapInboundIn(data)
        liveness?.heard()
        guard !isDecoding else { return chunksInWaiting.append(chunk) }
        isDecoding = true
        do throws(NATSError) {
            try decode(chunk)
            while !chunksInWaiting.isEmpty { try decode(chunksInWaiting.removeFirst()) }
        } catch {
            chunksInWaiting = []
            fail(error)
        }
        isDecoding = false
        deliverStaged()
        if let loss = lossInWaiting { fail(loss) }
    }

    private func decode(_ bytes: ByteBuffer) throws(NATSError) {
        chunk = ReadChunk(number: chunk.number &+ 1, capacity: bytes.storageCapacity)
        try decoder.decode(bytes, into: self)
        // Messages of one read are kept apart from those of the next, as they keep other memory.
        deliverStaged()
        answerPings()
    }

    /// The channel ends because of `error`; what it has read until then counts first.
    private func lost(_ error: NATSError) {
        guard isDecoding else { return fail(error) }
        lossInWaiting = lossInWaiting ?? error
    }

    private func deliverStaged() {
        guard let buffer = stagedBuffer, !staged.isEmpty else { return }
        let bytes = stagedBytes
        stagedBytes = 0
        switch buffer.deliver(&staged, bytes: bytes, of: chunk) {
        case .accepted: break
        case .dropped(let total): core.emit(.slowConsumer(subject: buffer.subject, dropped: total))
        case .pause: core.readingPaused()
        }
    }

    // MARK: Handshake

    private func run(_ action: HandshakeMachine.Action) {
        guard let context else { return }
        switch action {
        case .wait: break
        case .startTLS: startTLS(context)
        case .login(let info): login(info, context)
        case .succeed: succeed(context)
        case .fail(let error): fail(error)
        }
    }

    private func startTLS(_ context: ChannelHandlerContext) {
        do {
            let handler = try TLSContext.clientHandler(
                for: address, options: core.options.tls ?? TLSOptions(), isProxied: core.options.proxy != nil)
            try context.pipeline.syncOperations.addHandler(handler, position: .first)
        } catch let error as NATSError {
            fail(error)
        } catch {
            fail(.tls("\(error)"))
        }
    }

    /// The library also takes a certificate for the IP address of the socket's other end, whoever that is: a proxy, or
    /// wherever a false name server has led to. The name that was asked for is what counts.
    private func secured(_ context: ChannelHandlerContext) {
        let name = address.expectedCertificateName
        let found = certificate(context)
        guard found?.isFor(name) == true else {
            return fail(.tls(TLSFailure(name: name, certificate: found).wrongName))
        }
        run(machine.secured())
    }

    private func login(_ info: ServerInfo, _ context: ChannelHandlerContext) {
        core.info = machine.info
        do throws(NATSError) {
            let secured = address.usesTLS || core.options.tls != nil || info.requiresTLS == true
            let request = try ConnectRequest(
                options: core.options, authentication: address.authentication ?? core.options.authentication,
                nonce: info.nonce, tls: secured, headers: info.supportsHeaders == true)
            var buffer = context.channel.allocator.buffer(capacity: 2_048)
            buffer.writeBytes(try request.line())
            buffer.writeStaticString("PING\r\n")
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        } catch {
            fail(error)
        }
    }

    private func succeed(_ context: ChannelHandlerContext) {
        loginAlarm?.cancel()
        loginAlarm = nil
        _ = try? core.send {
            ProtocolEncoder.writeSubscribe(
                subject: self.core.requests.subscription, queue: nil, sid: ConnectionCore.inboxSID, into: &$0)
        }
        startPings(context)
        ready.succeed(())
    }

    // MARK: Clocks

    private func startPings(_ context: ChannelHandlerContext) {
        let interval = core.options.pingInterval
        if interval > .zero { SendQueue.setTimeout(interval + core.options.pongTimeout, context.channel) }
        // Without an interval a ping leaves only when somebody asks for it.
        let machine = LivenessMachine(
            interval: interval > .zero ? interval.nanoseconds : .max, limit: core.options.pongTimeout.nanoseconds,
            now: Self.now)
        liveness = machine
        askLiveness(at: machine.nextPing, context)
    }

    private static var now: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

    /// Has the liveness judged now, ahead of its time.
    func probe(limit: Duration) {
        guard let context, core.isOpen, liveness?.hasten(now: Self.now, limit: limit.nanoseconds) == true else {
            return
        }
        livenessAlarm?.cancel()
        askLiveness(at: Self.now, context)
    }

    private func askLiveness(at moment: Int64, _ context: ChannelHandlerContext) {
        guard moment < .max else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        livenessAlarm = context.eventLoop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(clamping: moment))) {
            bound.value.livenessMoment()
        }
    }

    private func livenessMoment() {
        guard let context, core.isOpen else { return }
        let isPaused = core.isReadingPaused
        if hasLeftUnread, !isPaused {
            hasLeftUnread = false
            liveness?.readingResumed()
        }
        let action = liveness?.momentCame(now: Self.now, isPaused: isPaused, outbound: core.outboundProgress)
        switch action {
        case .stale: fail(.staleConnection)
        case .wait(let moment): askLiveness(at: moment, context)
        case .ping(let moment):
            ping = (try? core.sendPing()).map { ($0, .now()) }
            if ping == nil { liveness?.pingFailed() }
            askLiveness(at: moment, context)
        case nil: break
        }
    }

    private func answered(_ waiter: Completion<Result<Void, NATSError>>?) {
        guard let ping, ping.waiter === waiter else { return }
        self.ping = nil
        liveness?.answered()
        core.emit(.roundTrip(.nanoseconds((NIODeadline.now() - ping.sent).nanoseconds)))
    }

    private func expireRequests() {
        let late = core.requests.expire(at: .now())
        guard !late.isEmpty else { return }
        // A dead link is found by the liveness; a slow one has brought the requests when it has brought a ping behind them.
        probe(limit: core.options.pongTimeout)
        guard let waiter = try? core.sendPing() else { return core.requests.arrived(late, at: .now()) }
        Task { [core] in
            do throws(NATSError) { try await waiter.result() } catch { return }
            core.requests.arrived(late, at: .now())
        }
    }

    /// Runs only while requests wait; answers are late by at most one tick when they time out.
    func startRequestClock() {
        guard requestClock == nil, let context else { return }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        requestClock = context.eventLoop.scheduleTask(in: .milliseconds(50)) {
            bound.value.requestClock = nil
            bound.value.expireRequests()
            if !bound.value.core.requests.isEmpty { bound.value.startRequestClock() }
        }
    }

    // MARK: Ending

    /// Ends the connection because of `error`.
    func fail(_ error: NATSError) {
        if ending == nil { ending = error }
        _ = machine.failed(error)
        deliverStaged()
        finish(ending ?? error)
        context?.close(promise: nil)
    }

    private func finish(_ error: NATSError) {
        loginAlarm?.cancel()
        livenessAlarm?.cancel()
        requestClock?.cancel()
        loginAlarm = nil
        livenessAlarm = nil
        ping = nil
        requestClock = nil
        core.end(error)
        ready.fail(error)
    }
}

extension ConnectionHandler: ProtocolSink {
    @inline(__always)
    func received(
        sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
        content: ByteBuffer
    ) {
        if sid == ConnectionCore.inboxSID {
            return core.requests.resolve(subject) {
                NATSMessage(
                    subject: String(decoding: subject, as: UTF8.self),
                    reply: reply.map { String(decoding: $0, as: UTF8.self) }, content: content,
                    headerLength: headerLength)
            }
        }
        if stagedSID != sid {
            guard let buffer = core.buffer(of: sid) else { return }
            if buffer !== stagedBuffer { deliverStaged() }
            (stagedSID, stagedBuffer) = (sid, buffer)
        }
        staged.append(
            NATSMessage(
                subject: text(ofSubject: subject), reply: reply.map { String(decoding: $0, as: UTF8.self) },
                content: content, headerLength: headerLength, source: UInt32(truncatingIfNeeded: sid)))
        stagedBytes += NATSMessage.size(content: content, texts: subject.count + (reply?.count ?? 0))
    }

    private func text(ofSubject bytes: UnsafeRawBufferPointer) -> String {
        let isSame = lastSubjectBytes.withUnsafeBytes { last in
            last.count == bytes.count && last.elementsEqual(bytes)
        }
        if !isSame {
            lastSubject = String(decoding: bytes, as: UTF8.self)
            lastSubjectBytes = Array(bytes)
        }
        return lastSubject
    }

    func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool) {
        guard ending == nil else { return }
        do throws(NATSError) {
            try allowance.informed(bytes: json.count, now: Self.now)
            let info = try ServerInfo.decode(json)
            let isReady = machine.state == .ready
            let action = machine.infoReceived(info, hasTrailingBytes: hasTrailingBytes)
            core.info = machine.info
            run(action)
            if isReady {
                core.emit(.infoChanged(machine.info))
                if info.isLameDuck == true { core.emit(.lameDuck) }
            }
        } catch { fail(error) }
    }

    func receivedPing() {
        guard ending == nil else { return }
        do throws(NATSError) { try pongs.pinged() } catch { fail(error) }
    }

    /// Answers from the loop, before anything that waits in the outbound buffer; what came in one read in one write.
    private func answerPings() {
        // A write that is taken at once comes back here while it is being made.
        guard !isAnsweringPings else { return }
        isAnsweringPings = true
        defer { isAnsweringPings = false }
        while let context, ending == nil {
            let count = pongs.nextBatch()
            guard count > 0 else { return }
            var buffer = context.channel.allocator.buffer(capacity: count * 6)
            for _ in 0..<count { buffer.writeStaticString("PONG\r\n") }
            context.writeAndFlush(wrapOutboundOut(buffer)).assumeIsolated().whenComplete { _ in
                self.pongs.taken()
                self.answerPings()
            }
        }
    }

    func receivedPong() {
        // Whoever waits for a PONG counts on what came before it.
        deliverStaged()
        switch machine.pongReceived() {
        case .succeed:
            if let context { succeed(context) }
        case .wait, .startTLS, .login, .fail:
            answered(core.pongReceived())
        }
    }

    func receivedError(_ text: String) {
        guard ending == nil else { return }
        deliverStaged()
        do throws(NATSError) {
            try allowance.refused(afterSending: core.outbound.progress.written)
        } catch { return fail(error) }
        switch ServerErrorText(text) {
        case .fatal(let error): fail(error)
        case .publishRefused(let subject):
            let error = NATSError.publishNotPermitted(subject: subject)
            core.requests.fail(subject: subject, with: error)
            core.emit(.notice(error))
        case .subscriptionRefused(let subject, let queue, let sid):
            let error = NATSError.subscribeNotPermitted(subject: subject)
            // Without its inbox no request of this connection can ever be answered.
            if subject == core.requests.subscription || sid == ConnectionCore.inboxSID { core.requests.close(error) }
            core.failSubscriptions(to: subject, queue: queue, sid: sid, with: error)
            core.emit(.notice(error))
        case .notice(let error): core.emit(.notice(error))
        }
    }
}
