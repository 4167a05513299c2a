import NIOCore
import NIOExtras
import NIOHTTP1
import NIOSOCKS

/// Sits between the handlers that speak with the proxy and the connection's own. For the latter, the channel becomes
/// active when the tunnel is open, and anything that goes wrong before is reported as the proxy's failure.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let failure: ProxyFailure
    private var isEstablished = false
    private var isActive = false
    private var socks: SOCKSClientHandler?

    private init(failure: ProxyFailure) { self.failure = failure }

    // MARK: Building

    /// Adds the handlers that ask the proxy for a tunnel to the server.
    ///
    /// - Throws: `invalidArgument` when the proxy's protocol cannot name the server.
    static func begin(_ failure: ProxyFailure, deadline: NIODeadline, in channel: any Channel) throws {
        // Addresses need not come from a URL; these bytes go into a request as they are.
        guard URLAuthority.isUsable(host: failure.server.host), (1...65_535).contains(failure.server.port) else {
            throw NATSError.invalidArgument("The server's address cannot be named to a proxy.")
        }
        let tunnel = ProxyTunnel(failure: failure)
        switch failure.proxy.kind {
        case .http: try tunnel.addHTTP(deadline, channel)
        case .socks5: try tunnel.addSOCKS(channel)
        }
    }

    private func addHTTP(_ deadline: NIODeadline, _ channel: any Channel) throws {
        let server = failure.server
        let authority = URLAuthority.text(host: server.host, port: server.port)
        var headers = HTTPHeaders([("Host", authority)])
        if let authorization = failure.proxy.authorization {
            headers.add(name: "Proxy-Authorization", value: authorization)
        }
        let gate = HTTPTunnelGate()
        let encoder = HTTPRequestEncoder()
        let decoder = ByteToMessageHandler(HTTPResponseDecoder(), maximumBufferSize: 64 << 10)
        let status = HTTPTunnelStatus(failure: failure)
        let answered = channel.eventLoop.makePromise(of: Void.self)
        let request = NIOHTTP1ProxyConnectHandler(
            targetHost: server.host.contains(":") ? "[\(server.host)]" : server.host, targetPort: server.port,
            headers: headers, deadline: deadline, promise: answered)
        answered.futureResult.assumeIsolated().whenSuccess {
            // Nothing may be written before the encoder and the decoder have gone: they know HTTP alone.
            gate.hold()
            let pipeline = channel.pipeline.syncOperations
            pipeline.removeHandler(encoder, promise: nil)
            pipeline.removeHandler(status, promise: nil)
            let left = channel.eventLoop.makePromise(of: Void.self)
            left.futureResult.assumeIsolated().whenSuccess { self.openGate(gate, pipeline) }
            pipeline.removeHandler(decoder, promise: left)
        }
        try channel.pipeline.syncOperations.addHandlers([gate, encoder, decoder, status, request, self])
    }

    private func openGate(_ gate: HTTPTunnelGate, _ pipeline: ChannelPipeline.SynchronousOperations) {
        guard let own = try? pipeline.context(handler: self), let front = try? pipeline.context(handler: gate) else {
            return
        }
        established(own)
        gate.open(front)
        pipeline.removeHandler(gate, promise: nil)
        pipeline.removeHandler(self, promise: nil)
    }

    private func addSOCKS(_ channel: any Channel) throws {
        let server = failure.server
        let target: SOCKSAddress
        if let address = try? SocketAddress(ipAddress: server.host, port: server.port) {
            target = .address(address)
        } else {
            target = .domain(server.host, port: server.port)
        }
        let handler = SOCKSClientHandler(targetAddress: target)
        socks = handler
        try channel.pipeline.syncOperations.addHandlers([handler, self])
    }

    // MARK: Events

    func channelActive(context: ChannelHandlerContext) {
        isActive = true
        if isEstablished { context.fireChannelActive() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is SOCKSProxyEstablishedEvent else { return context.fireUserInboundEventTriggered(event) }
        established(context)
        // Its handler is still at work in the call that brought this event.
        let pipeline = context.pipeline.syncOperations
        context.eventLoop.assumeIsolated().execute {
            if let socks = self.socks { pipeline.removeHandler(socks, promise: nil) }
            pipeline.removeHandler(self, promise: nil)
        }
    }

    private func established(_ context: ChannelHandlerContext) {
        guard !isEstablished else { return }
        isEstablished = true
        if isActive || context.channel.isActive { context.fireChannelActive() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(isEstablished ? error : failure.error(error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isEstablished { context.fireErrorCaught(failure.closed) }
        context.fireChannelInactive()
    }
}
