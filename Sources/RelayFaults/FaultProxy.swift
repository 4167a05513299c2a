import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP proxy on this machine, usually on 127.0.0.1, that injects network faults into the connections to one server:
/// cuts, delays, silence, loss. It shows how a client copes with them. It passes bytes, so TLS goes through unchanged;
/// only faults of single messages need their frames.
///
/// Everything is closed with the last reference to the proxy.
public final class FaultProxy: Sendable {
    /// The default address to listen on, which no other machine can reach.
    public static let loopback = "127.0.0.1"

    /// The server that it was started for, or the first of several.
    public let target: ServerAddress
    /// The address for clients; otherwise as the target's, so that its certificate is checked for the target's name.
    public let address: ServerAddress
    private let core: NIOLoopBound<FaultProxyCore>
    private let counted: NIOLockedValueBox<Statistics>
    private let loop: any EventLoop

    private init(target: ServerAddress, port: ReservedPort, loop: any EventLoop, core: FaultProxyCore) {
        self.target = target
        self.loop = loop
        var address = target
        address.certificateName = target.certificateName ?? target.host
        // A listener on all addresses is reached by loopback.
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
    ///   - others: equivalent servers, as in a cluster: if one cannot be reached, new connections go to the next, and
    ///     stay with that.
    ///   - host: the numeric address to listen on. Unless it is loopback, anyone who reaches it reaches the server.
    ///   - port: the port there; 0 lets the system choose.
    ///   - seed: equal seeds give equal jitter for the same connections and reads.
    /// - Throws: `FaultError.port` if the port is not available.
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

    /// Sets the faults from now on, replacing all earlier ones, including a pending cut.
    /// - Parameters:
    ///   - faults: the faults; none, or `passThrough`, to end all.
    ///   - connections: the affected connections. Future ones are refused all or none, so `refuse` needs `all`.
    /// - Throws: `FaultError.port` if the port is no longer available after `refuse`.
    public func set(_ faults: Fault..., on connections: Connections = .all) async throws(FaultError) {
        try await set(faults, on: connections)
    }

    /// As the other, for a list of faults.
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

    /// Sends new connections to other servers, as when a server is back at another port. Open connections stay.
    public func forward(to target: ServerAddress, others: [ServerAddress] = []) async {
        await run { $0.forward(to: [target] + others) }
    }

    /// Cuts connections on both sides after exactly this many more forwarded bytes; bytes still waiting are lost.
    /// - Parameters:
    ///   - afterBytes: how many, counted for each connection, for a future one from its start. 0 means at once.
    ///   - direction: where they are counted; with `both`, whichever direction is first decides.
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

    /// Ends one direction of the open connections: its destination reads the end, the other direction continues.
    public func halfClose(_ direction: Direction) async {
        await run { core in core.flows(direction).forEach { $0.halfClose() } }
    }

    /// Applies a fault to the next message of each open connection, unless it is encrypted.
    public func strike(_ fault: MessageFault, _ direction: Direction = .fromServer) async {
        await run { core in core.flows(direction).forEach { $0.strike(fault) } }
    }

    /// The traffic so far.
    public var statistics: Statistics { counted.withLockedValue { $0 } }

    /// Closes all connections and releases the port. Later calls do nothing.
    public func close() async {
        try? await loop.flatSubmit { [core] in core.value.close() }.get()
    }

    private func run(_ body: @escaping @Sendable (FaultProxyCore) -> Void) async {
        // The process's own loop never ends.
        try? await loop.submit { [core] in body(core.value) }.get()
    }
}

/// An error of the proxy.
public enum FaultError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A port of this machine's address cannot be used; the reason is the system's.
    case port(Int, host: String = FaultProxy.loopback, reason: String)

    /// One sentence, with what to do.
    public var description: String {
        switch self {
        case .port(let port, let host, let reason):
            "Port \(port) of \(host) cannot be used: \(reason). Choose another one, or 0 for any free one."
        }
    }
}
