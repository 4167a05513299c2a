import NATS
import NIOCore

/// What the system knows of its networks at one moment, as far as it matters to a client: a pure value.
public struct NetworkPath: Sendable, Hashable {
    /// What a client learns.
    public enum Change: Sendable, Hashable {
        /// There is no way to any server.
        case unavailable
        /// There is a way again. It says nothing of whether a server answers.
        case available
        /// The way is another one: connections over the old one may be dead without knowing it.
        case changed
    }

    /// A network interface.
    public struct Interface: Sendable, Hashable {
        /// Such as `eth0`.
        public var name: String
        /// Whether it is switched on and has a carrier.
        public var isRunning: Bool
        /// Whether it leads nowhere but to this machine.
        public var isLoopback: Bool
        /// Its IP addresses as text, without zones.
        public var addresses: Set<String>

        /// Creates an interface.
        public init(name: String, isRunning: Bool, isLoopback: Bool = false, addresses: Set<String> = []) {
            self.name = name
            self.isRunning = isRunning
            self.isLoopback = isLoopback
            self.addresses = addresses
        }
    }

    /// A way to some addresses.
    public struct Route: Sendable, Hashable {
        /// The interface that it goes over.
        public var interface: String
        /// Destination and prefix length as the system writes them; only compared.
        public var destination: String
        /// The router, as the system writes it; only compared.
        public var gateway: String

        /// Creates a route.
        public init(interface: String, destination: String, gateway: String = "") {
            self.interface = interface
            self.destination = destination
            self.gateway = gateway
        }
    }

    /// The interfaces by name.
    public var interfaces: [String: Interface]
    /// The routes beyond links; nil on systems that do not list them, where an address on a running interface counts.
    public var routes: Set<Route>?

    /// Creates a snapshot.
    public init(interfaces: [Interface], routes: Set<Route>?) {
        self.interfaces = Dictionary(interfaces.map { ($0.name, $0) }) { first, _ in first }
        self.routes = routes
    }

    /// Whether a client of these servers can hope to reach one.
    ///
    /// Servers on this machine need no route, only the loopback interface; so does a client that knows no server yet.
    public func isUsable(for servers: [ServerAddress]) -> Bool {
        Self.needsRoute(servers) ? !ways.isEmpty || !wayAddresses.isEmpty && routes == nil : isLoopbackRunning
    }

    /// What to tell a client of these servers when this snapshot follows another; nil when nothing that it would notice
    /// has changed.
    public func change(since previous: NetworkPath, for servers: [ServerAddress]) -> Change? {
        let isUsable = isUsable(for: servers)
        if isUsable != previous.isUsable(for: servers) { return isUsable ? .available : .unavailable }
        // Nothing of the outside touches what stays within this machine.
        guard isUsable, Self.needsRoute(servers) else { return nil }
        return ways == previous.ways && wayAddresses == previous.wayAddresses ? nil : .changed
    }

    /// Whether any of the servers is somewhere else.
    static func needsRoute(_ servers: [ServerAddress]) -> Bool { servers.contains { !isLoopback($0.host) } }

    private static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        switch try? SocketAddress(ipAddress: host, port: 0) {
        case .v4: return name.hasPrefix("127.")
        case .v6(let address):
            let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            return isMapped ? bytes[12] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
        case .unixDomainSocket, nil: return false
        }
    }

    private var isLoopbackRunning: Bool { interfaces.values.contains { $0.isLoopback && $0.isRunning } }

    /// The routes that lead out of this machine and work.
    private var ways: Set<Route> {
        (routes ?? []).filter { route in
            // An interface that the system lists no further is not known to be down.
            interfaces[route.interface].map { $0.isRunning && !$0.isLoopback } ?? true
        }
    }

    /// The addresses under which the outside sees this machine.
    private var wayAddresses: Set<String> {
        interfaces.values.filter { $0.isRunning && !$0.isLoopback }
            .reduce(into: []) { $0.formUnion($1.addresses.filter { !Self.isLinkLocal($0) }) }
    }

    /// An address that works only between neighbours (RFC 3927, RFC 4291) and comes without any network.
    static func isLinkLocal(_ address: String) -> Bool {
        let lower = address.lowercased()
        return lower.hasPrefix("169.254.")
            || lower.hasPrefix("fe") && ["8", "9", "a", "b"].contains(lower.dropFirst(2).prefix(1))
    }
}
