import NIOCore
import NIOSSL
import NIOTLS
import Platform

/// The channel handler of a connection: logs in, decodes, and delivers what arrives, on the channel's event loop.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The connection's life; each phase carries the state that ends with it.
    enum Phase {
        case login(Login)
        /// The login has failed, and the server is being asked which side should have begun with TLS.
        case asking
        case open(KeepAlive, RefusedSubscriptions)
        case ended
    }

    /// From the dial to the server's verdict.
    struct Login {
        var machine: HandshakeMachine
        let deadline: NIODeadline
        var alarm: Scheduled<Void>?
        /// The error if the deadline passes: it names the proxy until the tunnel is open, then the server.
        var timeoutError: NATSError
        /// The server's end of the socket, if this side dialled it directly.
        var remote: SocketAddress?
    }

    /// What arrives while the decoder runs. A failing write from inside it makes the channel read to the end and close
    /// before the write returns.
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
    /// Messages of one read for one reader, delivered together.
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

    /// Whether nothing has ended the connection yet.
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

    /// The channel was active before this handler joined it, so no event reports it.
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
            // This machine cannot dial the far side of a proxy.
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
        // A connection released later must not use an event loop that may have ended.
        core.channel = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        var found: CertificateSummary?
        switch phase {
        case .login(let login):
            if login.machine.state == .securingFirst, TLSFailure.meansPlainText(error) {
                return lost(.speaksBeforeTLS("\(address)"))
            }
            // Available even after a handshake that has just failed.
            if login.machine.isSecuring { found = certificate(context) }
        case .open:
            // The peer acknowledged nothing for as long as the system was told to wait.
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
        // Messages of different reads are delivered apart, as they share other memory.
        deliverStaged()
        answerPings()
    }

    func deliverStaged() {
        guard let reader = exchange(&self.reader, with: nil) else { return }
        if let lost = reader.deliver(&staged, of: chunk) {
            core.emit(.slowConsumer(subject: reader.subject, dropped: lost))
        }
    }

    /// The channel ends because of `error`; what was read before counts first.
    private func lost(_ error: NATSError) {
        guard backlog != nil else { return fail(error) }
        if backlog?.loss == nil { backlog?.loss = error }
    }

    // MARK: Login

    /// Feeds the handshake an event, if it is not over, and carries out the action.
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

    /// The library also accepts a certificate for the IP address of the socket's other end, which may be a proxy's or
    /// that of a false name server. Only the name that was asked for counts.
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
            // A server that waits for TLS answers by silence, so it gets all the time that the login had.
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
