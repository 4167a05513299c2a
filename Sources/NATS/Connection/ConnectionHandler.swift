import NIOCore
import NIOSSL
import NIOTLS
import Platform

/// Lives in the channel's pipeline, on its event loop: logs in, decodes, and hands over what arrives.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The connection's life, each part of it with what lives no longer.
    enum Phase {
        case login(Login)
        /// The login has failed, and the server is being asked whether it or this side was to begin with TLS.
        case asking
        case open(KeepAlive, RefusedSubscriptions)
        case ended
    }

    /// From the dial to the server's verdict.
    struct Login {
        var machine: HandshakeMachine
        let deadline: NIODeadline
        var alarm: Scheduled<Void>?
        /// The error for when the deadline passes. It names the proxy until the tunnel is open, and the server after
        /// that.
        var timeoutError: NATSError
        /// The server's end of the socket, where this side has dialled it.
        var remote: SocketAddress?
    }

    /// What arrives while the decoder runs. A write from inside it that fails makes the channel read to its end and
    /// close before the write returns.
    private struct Backlog {
        var chunks: [ByteBuffer] = []
        var loss: NATSError?
    }

    let core: ConnectionCore
    private let address: ServerAddress
    private let ready: EventLoopPromise<Void>
    private(set) var context: ChannelHandlerContext?
    private(set) var phase: Phase
    private var decoder = ProtocolDecoder()
    /// Messages of one read for one reader, which are handed over together.
    var staged: [NATSMessage] = []
    var reader: SubscriptionBuffer?
    private var chunk = ReadChunk(number: 0, capacity: 0)
    /// Nil while the decoder does not run.
    private var backlog: Backlog?
    var pongs = PongDebt()
    var allowance = ServerAllowance(now: KeepAlive.now)

    init(core: ConnectionCore, address: ServerAddress, loginDeadline: NIODeadline, ready: EventLoopPromise<Void>) {
        self.core = core
        self.address = address
        self.ready = ready
        phase = .login(
            Login(
                machine: HandshakeMachine(
                    wantsTLS: address.usesTLS || core.options.tls != nil,
                    handshakesFirst: core.options.tls?.handshakesFirst ?? false,
                    hasCertificate: core.options.tls?.certificateFile != nil),
                deadline: loginDeadline,
                timeoutError: core.options.proxy.map { ProxyFailure(proxy: $0, server: address).unanswered }
                    ?? Self.loginTimedOut(address)))
    }

    /// Whether nothing that the channel has said ended the connection yet.
    var isAlive: Bool {
        switch phase {
        case .login, .open: true
        case .asking, .ended: false
        }
    }

    var keepAlive: KeepAlive? { if case .open(let keepAlive, _) = phase { keepAlive } else { nil } }

    // MARK: Channel life

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        core.channel = context.channel
        guard case .login(var login) = phase else { return }
        login.alarm = core.eventLoop.assumeIsolated().scheduleTask(deadline: login.deadline) { [weak self] in
            if let self, case .login(let login) = phase { fail(login.timeoutError) }
        }
        phase = .login(login)
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
        if case .login(var login) = phase {
            // Behind a proxy the channel becomes active once the tunnel is open.
            login.timeoutError = Self.loginTimedOut(address)
            // A proxy's other end is not this machine's to dial.
            if core.options.proxy == nil { login.remote = context.channel.remoteAddress }
            phase = .login(login)
            if login.machine.state == .securingFirst { startTLS(context) }
        }
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        lost(.closedByServer(nil))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        if isAlive { finish(.closed) }
        self.context = nil
        // Whoever lets go of the connection later asks nothing of an event loop that may have ended.
        core.channel = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        var found: CertificateSummary?
        switch phase {
        case .login(let login):
            if login.machine.state == .securingFirst, TLSFailure.meansPlainText(error) {
                return lost(.speaksBeforeTLS("\(address)"))
            }
            // Also that of a handshake that has just failed.
            if login.machine.isSecuring { found = certificate(context) }
        case .open:
            // The system gave up a peer that acknowledged nothing for as long as it was told to wait.
            if (error as? IOError)?.errnoCode == ETIMEDOUT { return lost(.staleConnection) }
        case .asking, .ended: break
        }
        lost(
            ErrorTranslation.natsError(
                error, address: address, certificate: found,
                hasOwnCertificate: core.options.tls?.certificateFile != nil))
    }

    private func certificate(_ context: ChannelHandlerContext) -> CertificateSummary? {
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
        keepAlive?.heard()
        guard backlog == nil else {
            backlog?.chunks.append(chunk)
            return
        }
        backlog = Backlog()
        do throws(NATSError) {
            try decode(chunk)
            while backlog?.chunks.isEmpty == false, let next = backlog?.chunks.removeFirst() { try decode(next) }
        } catch {
            fail(error)
        }
        let loss = backlog?.loss
        backlog = nil
        if let loss { fail(loss) }
    }

    private func decode(_ bytes: ByteBuffer) throws(NATSError) {
        chunk = ReadChunk(number: chunk.number &+ 1, capacity: bytes.storageCapacity)
        try decoder.decode(bytes, into: self)
        // Messages of one read are kept apart from those of the next, as they keep other memory.
        deliverStaged()
        answerPings()
    }

    func deliverStaged() {
        guard let reader = exchange(&self.reader, with: nil) else { return }
        if let lost = reader.deliver(&staged, of: chunk) {
            core.emit(.slowConsumer(subject: reader.subject, dropped: lost))
        }
    }

    /// The channel ends because of `error`; what it has read until then counts first.
    private func lost(_ error: NATSError) {
        guard backlog != nil else { return fail(error) }
        if backlog?.loss == nil { backlog?.loss = error }
    }

    // MARK: Login

    /// Has the handshake take in an event, if it is not over, and carries out what follows from it.
    func step(_ event: (inout HandshakeMachine) -> HandshakeMachine.Action) {
        guard let context, case .login(var login) = phase else { return }
        let action = event(&login.machine)
        phase = .login(login)
        switch action {
        case .wait: break
        case .startTLS: startTLS(context)
        case .login: logIn(context)
        case .succeed: succeed(login, context)
        case .fail(let error): fail(error)
        }
    }

    private func startTLS(_ context: ChannelHandlerContext) {
        do {
            let handler = try (core.options.tls ?? TLSOptions())
                .clientHandler(for: address, isProxied: core.options.proxy != nil)
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
        step { $0.secured() }
    }

    private func logIn(_ context: ChannelHandlerContext) {
        let info = core.info
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

    private func succeed(_ login: Login, _ context: ChannelHandlerContext) {
        login.alarm?.cancel()
        try? core.subscribeInbox()
        let keepAlive = KeepAlive(core, context.channel) { [weak self] in self?.fail(.staleConnection) }
        phase = .open(keepAlive, RefusedSubscriptions(core))
        ready.succeed(())
    }

    // MARK: Ending

    func fail(_ error: NATSError) {
        deliverStaged()
        let error = if case .login(let login) = phase { login.machine.cause(of: error) } else { error }
        if case .login(let login) = phase, core.isOpen, let remote = login.remote, remote.ipAddress != nil,
            let question = login.machine.question(after: error)
        {
            login.alarm?.cancel()
            phase = .asking
            var limit = TimeAmount.nanoseconds(core.options.timeToAnswer.nanoseconds)
            // The caller waits for a login's time in any case, and silence is the answer to the other question.
            if question == .waitsForTLS { limit = max(limit, login.deadline - NIODeadline.now()) }
            TLSProbe.ask(remote, question, on: core.eventLoop, within: limit).assumeIsolated()
                .whenSuccess { [address] isSo in self.finish(isSo ? question.meaning(for: address) : error) }
        } else if isAlive {
            finish(error)
        }
        context?.close(promise: nil)
    }

    private func finish(_ error: NATSError) {
        switch exchange(&phase, with: .ended) {
        case .login(let login): login.alarm?.cancel()
        case .open(let keepAlive, let refused):
            keepAlive.end()
            refused.end()
        case .asking, .ended: break
        }
        core.end(error)
        ready.fail(error)
    }
}
