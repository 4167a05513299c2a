import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The proxy's listening socket, its connections and the plans for future ones. Used only on one event loop.
final class FaultProxyCore {
    private static let dialLimit = TimeAmount.seconds(10)
    /// How many bytes the system may receive ahead of the proxy. By default up to 32 MiB, so a throttled link would
    /// swallow at once what it should carry slowly.
    private static let receiveBuffer: ChannelOptions.Types.SocketOption.Value = 256 << 10

    let loop: any EventLoop
    let begin = NIODeadline.now()
    let statistics = NIOLockedValueBox(FaultProxy.Statistics())
    private var targets: [ServerAddress]
    /// The index of the target for new connections.
    private var current = 0
    private var port: ReservedPort?
    private let seed: UInt64

    private var plan = FaultPlan()
    private var nextPlan: FaultPlan?
    private var links: [Int: FaultLink] = [:]
    private var listener: (channel: any Channel, descriptor: Int32)?
    private var isClosed = false

    init(targets: [ServerAddress], port: ReservedPort, seed: UInt64, loop: any EventLoop) {
        (self.targets, self.port) = (targets, port)
        (self.seed, self.loop) = (seed, loop)
    }

    func forward(to new: [ServerAddress]) {
        // New connections stay with their server if it is still among the targets.
        let present = targets[current]
        targets = new
        current = new.firstIndex(of: present) ?? 0
    }

    /// Changes the plan of future connections, and the open connections.
    func change(
        _ connections: FaultProxy.Connections, plan change: (inout FaultPlan) -> Void, open act: (FaultLink) -> Void
    ) {
        switch connections {
        case .present: break
        case .next:
            var changed = nextPlan ?? plan
            change(&changed)
            nextPlan = changed
        case .all:
            change(&plan)
            if var next = nextPlan {
                change(&next)
                nextPlan = next
            }
        }
        if connections != .next { links.values.forEach(act) }
    }

    func flows(_ direction: FaultProxy.Direction) -> [FaultFlow] { links.values.flatMap { $0.flows(direction) } }

    func close() -> EventLoopFuture<Void> {
        isClosed = true
        for link in links.values { link.closeNow() }
        let isClosed = settleListener()
        port = nil
        return isClosed
    }

    func forget(_ link: FaultLink) {
        guard links.removeValue(forKey: link.number) != nil else { return }
        statistics.withLockedValue { $0.openConnections -= 1 }
    }

    func settleListener() -> EventLoopFuture<Void> {
        let shouldListen = !isClosed && !plan.isRefusing
        guard shouldListen != (listener != nil) else { return loop.makeSucceededVoidFuture() }
        if let listener {
            self.listener = nil
            ReservedPort.stopListening(listener.descriptor)
            return listener.channel.close().recover { _ in }
        }
        return listen()
    }

    private func listen() -> EventLoopFuture<Void> {
        guard let port else { return loop.makeSucceededVoidFuture() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(ChannelOptions.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            .childChannelOption(ChannelOptions.autoRead, value: false)
            .childChannelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
            .childChannelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.accept(channel) }
            }
        let descriptor: Int32
        do throws(FaultError) { descriptor = try port.listeningSocket() } catch { return loop.makeFailedFuture(error) }
        return bootstrap.withBoundSocket(descriptor).flatMap { channel in
            let core = bound.value
            // Another call may have changed this meanwhile.
            guard core.listener == nil, !core.isClosed, !core.plan.isRefusing else {
                ReservedPort.stopListening(descriptor)
                return channel.close().recover { _ in }
            }
            core.listener = (channel, descriptor)
            return channel.eventLoop.makeSucceededVoidFuture()
        }
    }

    private func accept(_ channel: any Channel) throws {
        let current = nextPlan ?? plan
        nextPlan = nil
        let number = statistics.withLockedValue { statistics in
            statistics.acceptedConnections += 1
            statistics.openConnections += 1
            return statistics.acceptedConnections
        }
        let link = FaultLink(number: number, plan: current, seed: seed &+ UInt64(number) &* 2, core: self)
        links[number] = link
        try channel.pipeline.syncOperations.addHandler(FaultLinkHandler(link, .client))
        if !current.isSilent { dial(link, tries: targets.count) }
    }

    private func dial(_ link: FaultLink, tries: Int) {
        let place = current
        let target = targets[place]
        ClientBootstrap(group: loop)
            .channelOption(ChannelOptions.socketOption(.so_rcvbuf), value: Self.receiveBuffer)
            .channelOption(ChannelOptions.autoRead, value: false)
            .channelOption(ChannelOptions.allowRemoteHalfClosure, value: true)
            .channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(Self.dialLimit)
            .connect(host: target.host, port: target.port)
            .assumeIsolated()
            // A host may have several addresses: only the socket that connected first belongs to the link.
            .flatMapThrowing { channel in
                try channel.pipeline.syncOperations.addHandler(FaultLinkHandler(link, .server))
            }
            .whenFailure { [self] _ in
                // Another link may have found this out already.
                if current == place { current = (place + 1) % targets.count }
                guard tries > 1, !isClosed else { return link.end(.reset) }
                dial(link, tries: tries - 1)
            }
    }
}
