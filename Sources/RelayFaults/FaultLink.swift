import NIOCore
import Platform

/// One connection through the proxy: both sides and the flows between them. Used only on the proxy's event loop.
final class FaultLink {
    enum Side: Sendable { case client, server }

    /// How long a side may take to end when asked to.
    private static let endLimit = TimeAmount.seconds(5)

    let number: Int
    private let core: FaultProxyCore
    private let loop: any EventLoop
    private var client: (any Channel)?
    private var server: (any Channel)?
    /// Whether the server is dialled; not for a connection that begins while silence is set.
    private let isDialled: Bool
    private var isEnding = false
    private let fromClient: FaultFlow
    private let fromServer: FaultFlow

    init(number: Int, plan: FaultPlan, seed: UInt64, core: FaultProxyCore) {
        self.number = number
        self.core = core
        loop = core.loop
        isDialled = !plan.isSilent
        fromClient = FaultFlow(.fromClient, plan.fromClient, seed: seed, core)
        fromServer = FaultFlow(.fromServer, plan.fromServer, seed: seed &+ 1, core)
        fromClient.link = self
        fromServer.link = self
    }

    func flow(from side: Side) -> FaultFlow { side == .client ? fromClient : fromServer }
    func flow(to side: Side) -> FaultFlow { side == .client ? fromServer : fromClient }
    func flows(_ direction: FaultProxy.Direction) -> [FaultFlow] {
        [fromClient, fromServer].filter { direction.includes($0.direction) }
    }
    private func stop() { for flow in flows(.both) { flow.stop() } }

    func joined(_ channel: any Channel, as side: Side) {
        guard !isEnding else { return channel.close(promise: nil) }
        if side == .client { client = channel } else { server = channel }
        flow(to: side).attach(destination: channel)
        flow(from: side).attach(source: channel)
    }

    func inputEnded(of side: Side) {
        flow(from: side).sourceEnded(isLost: false)
        if isEnding { closeWhenBothEnded() }
    }

    func left(_ side: Side) {
        if side == .client { client = nil } else { server = nil }
        if isEnding { return forgetWhenBothLeft() }
        // A side that has received the other direction's end leaves with its own end, which is not reported separately.
        flow(from: side).sourceEnded(isLost: !flow(to: side).lane.isOutputClosed)
        flow(to: side).destinationLost()
        forgetWhenBothLeft()
    }

    private func forgetWhenBothLeft() {
        guard client == nil, server == nil else { return }
        isEnding = true
        stop()
        core.forget(self)
    }

    func change(_ plan: FaultPlan) {
        fromClient.change(plan.fromClient)
        fromServer.change(plan.fromServer)
    }

    func cut(after bytes: Int, _ direction: FaultProxy.Direction, _ ending: FaultProxy.Ending) {
        guard bytes > 0 else { return cutNow(ending) }
        for flow in flows(direction) {
            var rules = flow.lane.rules
            rules.cut = FaultLane.Cut(remaining: bytes, ending: ending)
            flow.change(rules)
        }
    }

    /// Cuts once the system has accepted everything written to a side.
    func cutAfterWriting(_ ending: FaultProxy.Ending, to channel: (any Channel)?) {
        guard let channel else { return cutNow(ending) }
        stop()
        channel.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { _ in self.cutNow(ending) }
    }

    private func cutNow(_ ending: FaultProxy.Ending) {
        guard !isEnding else { return }
        count { $0.cuts += 1 }
        end(ending)
    }

    func end(_ ending: FaultProxy.Ending) {
        guard !isEnding else { return }
        isEnding = true
        stop()
        let channels = [client, server].compactMap(\.self)
        if channels.isEmpty { return forgetWhenBothLeft() }
        switch ending {
        case .reset: channels.forEach(Self.reset)
        case .finish:
            for channel in channels { channel.close(mode: .output, promise: nil) }
            closeWhenBothEnded()
            // In case a side does not end by itself.
            loop.assumeIsolated().scheduleTask(in: Self.endLimit) { self.closeNow() }
        }
    }

    func closeNow() {
        isEnding = true
        for channel in [client, server] { channel?.close(promise: nil) }
        forgetWhenBothLeft()
    }

    func closeIfOver() {
        guard !isEnding, fromClient.lane.isOver, fromServer.lane.isOver || !isDialled else { return }
        closeNow()
    }

    private func closeWhenBothEnded() {
        let isOver = (client == nil || fromClient.lane.hasEnded) && (server == nil || fromServer.lane.hasEnded)
        if isOver { closeNow() }
    }

    private static func reset(_ channel: any Channel) {
        guard let socket = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
        // Closing a socket with a zero linger time resets it.
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
            channel.close(promise: nil)
        }
    }

    func count(_ body: (inout FaultProxy.Statistics) -> Void) { core.statistics.withLockedValue(body) }
}

final class FaultLinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: FaultLink
    private let side: FaultLink.Side
    private var hasLeft = false

    init(_ link: FaultLink, _ side: FaultLink.Side) {
        (self.link, self.side) = (link, side)
    }

    func channelActive(context: ChannelHandlerContext) { link.joined(context.channel, as: side) }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { link.joined(context.channel, as: side) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        link.flow(from: side).received(unwrapInboundIn(data))
    }
    func channelReadComplete(context: ChannelHandlerContext) { link.flow(from: side).readCompleted() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { link.flow(to: side).drive() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { link.inputEnded(of: side) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) { leave() }
    func handlerRemoved(context: ChannelHandlerContext) { leave() }

    private func leave() {
        guard !hasLeft else { return }
        hasLeft = true
        link.left(side)
    }
}
