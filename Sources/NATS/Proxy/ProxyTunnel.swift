import NIOCore
import NIOSOCKS

/// Sits between the handlers that talk to the proxy and the connection's own. For the latter, the channel becomes
/// active once the tunnel is open, and any earlier error is reported as the proxy's failure.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    private let failure: ProxyFailure
    private var isEstablished = false
    private var isActive = false
    /// The handler that talks to the proxy.
    private var client: (any RemovableChannelHandler)?

    private init(failure: ProxyFailure) { self.failure = failure }

    // MARK: Building

    /// Adds the handlers that ask the proxy for a tunnel; throws `invalidArgument` if it cannot name the server.
    static func begin(_ failure: ProxyFailure, in channel: any Channel) throws {
        // An address need not come from a URL, and these bytes go into a request unchanged.
        guard URLAuthority.isUsable(host: failure.server.host), (1...65_535).contains(failure.server.port) else {
            throw NATSError.invalidArgument("The server's address cannot be named to a proxy.")
        }
        let tunnel = ProxyTunnel(failure: failure)
        switch failure.proxy.kind {
        case .http: try tunnel.add(HTTPTunnel(failure), to: channel)
        case .socks5: try tunnel.add(socksHandler(failure.server), to: channel)
        }
    }

    private func add(_ client: some ChannelHandler & RemovableChannelHandler, to channel: any Channel) throws {
        self.client = client
        try channel.pipeline.syncOperations.addHandlers([client, self])
    }

    private static func socksHandler(_ server: ServerAddress) -> SOCKSClientHandler {
        let address = try? SocketAddress(ipAddress: server.host, port: server.port)
        return SOCKSClientHandler(
            targetAddress: address.map { .address($0) } ?? .domain(server.host, port: server.port))
    }

    // MARK: Events

    func channelActive(context: ChannelHandlerContext) {
        isActive = true
        if isEstablished { context.fireChannelActive() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is SOCKSProxyEstablishedEvent || event is HTTPTunnel.Established else {
            return context.fireUserInboundEventTriggered(event)
        }
        if !isEstablished {
            isEstablished = true
            if isActive || context.channel.isActive { context.fireChannelActive() }
        }
        // The handler is still executing the call that fired this event.
        let pipeline = context.pipeline.syncOperations
        context.eventLoop.assumeIsolated().execute {
            if let client = self.client { pipeline.removeHandler(client, promise: nil) }
            pipeline.removeHandler(self, promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(isEstablished ? error : failure.error(error))
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !isEstablished { context.fireErrorCaught(failure.closed) }
        context.fireChannelInactive()
    }
}
