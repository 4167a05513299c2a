import NIOCore
import NIOSSL
import NIOTLS
import Platform

/// Lives in the channel's pipeline, on its event loop: decodes, answers pings, keeps time, delivers batches.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let core: ConnectionCore
    private let address: ServerAddress
    private let ready: EventLoopPromise<Void>
    var machine: HandshakeMachine
    private var decoder = ProtocolDecoder()
    var context: ChannelHandlerContext?

    /// Messages of the current read for one reader, handed over together.
    var staged: [NATSMessage] = []
    var stagedBytes = 0
    var stagedBuffer: SubscriptionBuffer?
    /// The subscription of the last of them.
    var stagedSID: UInt64?
    /// The read that is being decoded: its number, and how much memory its messages keep.
    var chunk = ReadChunk(number: 0, capacity: 0)
    /// The last subject as bytes and text: a run of messages on one subject shares one string.
    var lastSubject = ""
    var lastSubjectBytes: [UInt8] = []

    /// Whether the decoder is running. A write from inside it that fails makes the channel read to its end and close
    /// before the write returns, so the bytes and the loss that arrive meanwhile have to wait.
    private var isDecoding = false
    private var waitingChunks: [ByteBuffer] = []
    private var waitingLoss: NATSError?

    var pongs = PongDebt()
    var isAnsweringPings = false
    var allowance = ServerAllowance(now: ConnectionHandler.now)

    private let loginDeadline: NIODeadline
    private var loginAlarm: Scheduled<Void>?
    /// The server's end of the socket, where this side has dialled it.
    private var remote: SocketAddress?
    /// Whether a server that said nothing is being asked if it waits for TLS.
    private var isAsking = false
    /// The error for when the deadline passes. It names the proxy until the tunnel is open, and the server after that.
    private var loginTimeoutError: NATSError
    var liveness: LivenessMachine?
    var livenessAlarm: Scheduled<Void>?
    /// The liveness's own ping under way, and when it was sent.
    var ping: (waiter: Completion<Result<Void, NATSError>>, sent: NIODeadline)?
    /// The inbox and standing subscriptions that the server refuses, by their numbers.
    var refusals: [UInt64: Refusal] = [:]
    var silence = SilenceMachine()
    /// Ticks while something waits for an answer.
    var clock: Scheduled<Void>?
    var ending: NATSError?

    init(core: ConnectionCore, address: ServerAddress, loginDeadline: NIODeadline, ready: EventLoopPromise<Void>) {
        self.core = core
        self.address = address
        self.loginDeadline = loginDeadline
        self.ready = ready
        loginTimeoutError =
            core.options.proxy.map { ProxyFailure(proxy: $0, server: address).unanswered }
            ?? Self.loginTimedOut(address)
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
            bound.value.fail(bound.value.loginTimeoutError)
        }
    }

    private static func loginTimedOut(_ address: ServerAddress) -> NATSError {
        .timeout("the server at \(address) did not complete the login")
    }

    /// The channel became active before this handler joined it, so nothing else says so.
    func joinedActiveChannel() {
        guard let context else { return }
        channelActive(context: context)
    }

    func channelActive(context: ChannelHandlerContext) {
        // A caller that gave up during the dial found no channel to close.
        guard core.isOpen else { return context.close(promise: nil) }
        // Behind a proxy the channel becomes active once the tunnel is open.
        loginTimeoutError = Self.loginTimedOut(address)
        // A proxy's other end is not this machine's to dial.
        if core.options.proxy == nil { remote = context.channel.remoteAddress }
        if machine.state == .securingFirst { startTLS(context) }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        lost(.closedByServer(nil))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if !isAsking { finish(ending ?? .closed) }
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The system gave up a peer that acknowledged nothing for as long as it was told to wait.
        if machine.state == .ready, (error as? IOError)?.errnoCode == ETIMEDOUT { return lost(.staleConnection) }
        if machine.state == .securingFirst, TLSFailure.meansPlainText(error) {
            return lost(.speaksBeforeTLS("\(address)"))
        }
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

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let chunk = unwrapInboundIn(data)
        liveness?.heard()
        if silence.heard() { core.emit(.heardAgain) }
        guard !isDecoding else { return waitingChunks.append(chunk) }
        isDecoding = true
        do throws(NATSError) {
            try decode(chunk)
            while !waitingChunks.isEmpty { try decode(waitingChunks.removeFirst()) }
        } catch {
            waitingChunks = []
            fail(error)
        }
        isDecoding = false
        deliverStaged()
        if let loss = waitingLoss { fail(loss) }
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
        waitingLoss = waitingLoss ?? error
    }

    // MARK: Handshake

    func run(_ action: HandshakeMachine.Action) {
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

    /// The library also accepts a certificate for the IP address at the socket's other end, which may be a proxy's or
    /// one that a false name server gave. Only the name that was asked for counts.
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
            buffer.writeBytes(request.line)
            buffer.writeStaticString("PING\r\n")
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        } catch {
            fail(error)
        }
    }

    func succeed(_ context: ChannelHandlerContext) {
        loginAlarm?.cancel()
        loginAlarm = nil
        try? core.subscribeInbox()
        startPings(context)
        ready.succeed(())
    }

    // MARK: Ending

    func fail(_ error: NATSError) {
        if ending == nil {
            ending = error
            askForTLS(after: error)
        }
        _ = machine.failed(error)
        deliverStaged()
        if !isAsking { finish(ending ?? error) }
        context?.close(promise: nil)
    }

    /// How long a server has to answer whether it waits for TLS: so much longer a login that got no word takes to fail.
    private static let timeToAnswer = TimeAmount.milliseconds(750)

    /// A server that gave the login up without a word, or let its time pass, may have waited for TLS; one that ended
    /// the handshake may have spoken before it.
    private func askForTLS(after error: NATSError) {
        guard core.isOpen, let context, let remote, remote.ipAddress != nil else { return }
        let (question, meaning): (TLSProbe.Question, NATSError)
        switch (machine.state, error) {
        case (.waitingForInfo, .timeout), (.waitingForInfo, .closedByServer), (.waitingForInfo, .connectionLost):
            guard core.options.tls?.handshakesFirst != true else { return }
            (question, meaning) = (.waitsForTLS, .tlsFirst("\(address)"))
        case (.securingFirst, .closedByServer), (.securingFirst, .connectionLost):
            (question, meaning) = (.speaksFirst, .speaksBeforeTLS("\(address)"))
        case (.securingFirst, .tls(let words)) where words.hasSuffix(TLSFailure.ended):
            (question, meaning) = (.speaksFirst, .speaksBeforeTLS("\(address)"))
        default: return
        }
        isAsking = true
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        TLSProbe.ask(remote, question, on: context.eventLoop, within: Self.timeToAnswer).whenSuccess { isSo in
            bound.value.finish(isSo ? meaning : error)
        }
    }

    private func finish(_ error: NATSError) {
        loginAlarm?.cancel()
        livenessAlarm?.cancel()
        for refusal in refusals.values { refusal.alarm?.cancel() }
        clock?.cancel()
        loginAlarm = nil
        livenessAlarm = nil
        refusals = [:]
        ping = nil
        clock = nil
        core.end(error)
        ready.fail(error)
    }
}
