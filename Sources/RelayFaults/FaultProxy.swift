import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP proxy on this machine, mostly on 127.0.0.1, in front of one server, which does to its connections what
/// networks do to them: cuts, delays, silence, loss. For rehearsing what a client makes of it. It passes bytes, so TLS
/// goes through as it is; only what is done to single messages needs their frames.
///
/// Everything is closed with the last reference to the proxy.
public final class FaultProxy: Sendable {
    /// Where it listens unless it is said otherwise: nobody reaches that from another machine.
    public static let loopback = "127.0.0.1"

    /// The server that it was started for, or the first of several.
    public let target: ServerAddress
    /// Where clients connect to; as the target's otherwise, so that its certificate is checked for the target's name.
    public let address: ServerAddress
    private let core: NIOLoopBound<FaultProxyCore>
    private let counted: NIOLockedValueBox<Statistics>
    private let loop: any EventLoop

    private init(target: ServerAddress, port: ReservedPort, loop: any EventLoop, core: FaultProxyCore) {
        self.target = target
        self.loop = loop
        var address = target
        address.certificateName = target.certificateName ?? target.host
        // Whoever listens everywhere is reached from here by loopback.
        address.host = ["0.0.0.0": Self.loopback, "::": "::1"][port.host] ?? port.host
        address.port = port.number
        self.address = address
        counted = core.statistics
        self.core = NIOLoopBound(core, eventLoop: loop)
    }

    deinit {
        let core = core
        loop.execute { _ = core.value.close() }
    }

    /// Starts a proxy that passes everything through.
    /// - Parameters:
    ///   - target: the server; it need not run yet.
    ///   - others: servers that do as well, as those of a cluster: where one cannot be reached newcomers go to the
    ///     next, and stay with that.
    ///   - host: the address of this machine to listen at, in numbers. Whoever reaches it reaches the server, unless
    ///     that is loopback.
    ///   - port: the port there; 0 lets the system choose.
    ///   - seed: equal seeds give equal jitter for the same connections and reads.
    /// - Throws: `FaultError.port` when the port cannot be had.
    public static func start(
        target: ServerAddress, others: [ServerAddress] = [], host: String = loopback, port: Int = 0, seed: UInt64 = 0
    ) async throws(FaultError) -> FaultProxy {
        let reserved = try ReservedPort(port, of: host)
        let loop = NIOSingletons.posixEventLoopGroup.next()
        do {
            return try await loop.flatSubmit {
                let core = FaultProxyCore(targets: [target] + others, port: reserved, seed: seed, loop: loop)
                let proxy = FaultProxy(target: target, port: reserved, loop: loop, core: core)
                return core.settleListener().map { proxy }
            }.get()
        } catch {
            throw .port(reserved.number, host: host, reason: systemWords(error))
        }
    }

    /// Sets what goes wrong from now on, in the place of everything that was set before, a cut to come included.
    /// - Parameters:
    ///   - faults: the faults; none, or `passThrough`, ends all.
    ///   - connections: for which connections. Those to come are refused all or none, so `refuse` needs `all`.
    /// - Throws: `FaultError.port` when the port cannot be listened at again after `refuse`.
    public func set(_ faults: Fault..., on connections: Connections = .all) async throws(FaultError) {
        try await set(faults, on: connections)
    }

    /// As the other, for faults that are in a list.
    public func set(_ faults: [Fault], on connections: Connections = .all) async throws(FaultError) {
        let plan = FaultPlan(faults)
        do {
            try await loop.flatSubmit { [core] in
                core.value.change(connections) {
                    $0 = plan
                } open: {
                    $0.change(plan)
                }
                return core.value.settleListener()
            }.get()
        } catch {
            throw .port(address.port, host: address.host, reason: systemWords(error))
        }
    }

    /// Has newcomers go to other servers than before, as where a server has come back at another port. Open connections
    /// stay.
    public func forward(to target: ServerAddress, others: [ServerAddress] = []) async {
        await run { $0.forward(to: [target] + others) }
    }

    /// Cuts connections, on both sides, after exactly so many more bytes have been handed on; nothing that still waits
    /// in the proxy is delivered.
    /// - Parameters:
    ///   - afterBytes: how many, counted for each connection; for one to come, from its begin. 0 means at once.
    ///   - direction: where they are counted; with `both`, the direction that is first decides.
    public func cut(
        afterBytes: Int = 0, direction: Direction = .both, how: Ending = .reset,
        on connections: Connections = .present
    ) async {
        await run { core in
            core.change(connections) {
                $0.cut(after: afterBytes, direction, how)
            } open: {
                $0.cut(after: afterBytes, direction, how)
            }
        }
    }

    /// Ends one direction of the open connections: its destination reads the end, the other direction goes on.
    public func halfClose(_ direction: Direction) async {
        await run { core in core.flows(direction).forEach { $0.halfClose() } }
    }

    /// Does something to the next message of each open connection. On one that is encrypted the proxy can tell none,
    /// and nothing happens.
    public func strike(_ fault: MessageFault, _ direction: Direction = .fromServer) async {
        await run { core in core.flows(direction).forEach { $0.strike(fault) } }
    }

    /// What has gone through so far.
    public var statistics: Statistics { counted.withLockedValue { $0 } }

    /// Closes all connections and gives the port back. Later calls do nothing.
    public func close() async {
        try? await loop.flatSubmit { [core] in core.value.close() }.get()
    }

    private func run(_ body: @escaping @Sendable (FaultProxyCore) -> Void) async {
        // The loop is the process's own and never ends.
        try? await loop.submit { [core] in body(core.value) }.get()
    }
}

/// What the proxy can fail with.
public enum FaultError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A port of this machine's address cannot be used; the reason is the system's.
    case port(Int, host: String = FaultProxy.loopback, reason: String)

    /// One sentence, with what to do.
    public var description: String {
        switch self {
        case .port(let port, let host, let reason):
            "Port \(port) of \(host) cannot be used: \(reason). Choose another one, or 0 for any that is free."
        }
    }
}
