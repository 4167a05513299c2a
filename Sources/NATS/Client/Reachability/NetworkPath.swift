/// A snapshot of the system's networks, as far as they matter to a client: a pure value.
struct NetworkPath: Sendable, Hashable {
    enum Change: Sendable, Hashable {
        /// No server can be reached.
        case unavailable
        /// There is a path again. Whether a server answers is another question.
        case available
        /// The path is a different one: connections over the old one may be dead unnoticed.
        case changed
    }

    struct Interface: Sendable, Hashable {
        /// Such as `eth0`.
        var name: String
        /// Whether it is up and has a carrier.
        var isRunning: Bool
        var isLoopback = false
        /// IP addresses as text, without zones.
        var addresses: Set<String> = []
    }

    struct Route: Sendable, Hashable {
        var interface: String
        /// Destination and prefix length as the system writes them; only compared.
        var destination: String
        /// The router as the system writes it; only compared.
        var gateway = ""
    }

    var interfaces: [String: Interface]
    /// The routes beyond links; nil on systems that do not list them, where an address on a running interface suffices.
    var routes: Set<Route>?

    init(interfaces: [Interface], routes: Set<Route>?) {
        self.interfaces = Dictionary(interfaces.map { ($0.name, $0) }) { first, _ in first }
        self.routes = routes
    }

    /// Whether a client of these servers can hope to reach one.
    ///
    /// Servers on this machine need no route, only the loopback interface; so does a client that knows no server yet.
    func isUsable(for servers: [ServerAddress]) -> Bool {
        guard Self.needsRoute(servers) else { return interfaces.values.contains { $0.isLoopback && $0.isRunning } }
        return !ways.isEmpty || !wayAddresses.isEmpty && routes == nil
    }

    /// The change from `previous` that a client of these servers would notice, if any. Nil for `previous` means that
    /// the system did not answer, which counts as available.
    func change(since previous: NetworkPath?, for servers: [ServerAddress]) -> Change? {
        let isUsable = isUsable(for: servers)
        guard let previous else { return isUsable ? nil : .unavailable }
        if isUsable != previous.isUsable(for: servers) { return isUsable ? .available : .unavailable }
        // Connections within this machine do not depend on the outside.
        guard isUsable, Self.needsRoute(servers) else { return nil }
        return ways == previous.ways && wayAddresses == previous.wayAddresses ? nil : .changed
    }

    static func needsRoute(_ servers: [ServerAddress]) -> Bool { servers.contains { !isLoopback($0.host) } }

    private static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") || IPLiteral(host)?.isLoopback == true
    }

    /// The working routes that lead out of this machine.
    private var ways: Set<Route> {
        (routes ?? []).filter { route in
            // An interface that the system does not list is not known to be down.
            interfaces[route.interface].map { $0.isRunning && !$0.isLoopback } ?? true
        }
    }

    /// The addresses of this machine as seen from outside.
    private var wayAddresses: Set<String> {
        interfaces.values.filter { $0.isRunning && !$0.isLoopback }
            .reduce(into: []) { $0.formUnion($1.addresses.filter { !Self.isLinkLocal($0) }) }
    }

    /// An address that works only between neighbours (RFC 3927, RFC 4291) and exists without any network.
    static func isLinkLocal(_ address: String) -> Bool {
        let lower = address.lowercased()
        return lower.hasPrefix("169.254.")
            || lower.hasPrefix("fe") && ["8", "9", "a", "b"].contains(lower.dropFirst(2).prefix(1))
    }
}
