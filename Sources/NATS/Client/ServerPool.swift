/// The servers of one network in the order in which they are tried, as a pure value.
///
/// Configured servers come first, in their order. Those that a server names in its INFO (`connect_urls`) follow in
/// random order, so that not every client picks the same one. A server that fails moves to the end.
package struct ServerPool: Hashable, Sendable {
    package private(set) var configured: [ServerAddress] = []
    /// Every known server, the next one first.
    package private(set) var order: [ServerAddress] = []
    private var advertised: [ServerAddress] = []
    /// More servers than any client tries; a longer list is cut.
    static let maximumAdvertised = 128

    package init(_ configured: [ServerAddress] = []) { configure(configured) }

    package var next: ServerAddress? { order.first }

    /// Sets the configured servers, which may change: a server that restarts may have another port.
    package mutating func configure(_ servers: [ServerAddress]) {
        guard servers != configured else { return }
        let gone = configured.filter { !servers.contains($0) && !advertised.contains($0) }
        order.removeAll { gone.contains($0) }
        let new = Self.distinct(servers).filter { !order.contains($0) }
        order.insert(contentsOf: new, at: 0)
        configured = servers
    }

    /// Adds the servers that another one named. An empty list changes nothing: a lone server names no others. They
    /// share the TLS settings of the server that named them.
    package mutating func advertise(_ servers: [ServerAddress], using generator: inout some RandomNumberGenerator) {
        guard !servers.isEmpty else { return }
        let current = order.first
        let list = Self.distinct(servers, atMost: Self.maximumAdvertised)
        order.removeAll { advertised.contains($0) && !list.contains($0) && !configured.contains($0) && $0 != current }
        order += list.filter { !order.contains($0) }.shuffled(using: &generator)
        advertised = list
    }

    package mutating func forgetAdvertised() {
        order.removeAll { !configured.contains($0) }
        advertised = []
    }

    /// The dial failed, the connection broke, or the server is shutting down: it moves to the end.
    package mutating func failed(_ server: ServerAddress) {
        guard let index = order.firstIndex(of: server) else { return }
        order.remove(at: index)
        // A server that is in neither list any more is forgotten.
        if configured.contains(server) || advertised.contains(server) { order.append(server) }
    }

    /// The server accepted the connection: it stays the first choice until it fails.
    package mutating func connected(to server: ServerAddress) {
        guard let index = order.firstIndex(of: server), index > 0 else { return }
        order.remove(at: index)
        order.insert(server, at: 0)
    }

    private static func distinct(_ servers: [ServerAddress], atMost limit: Int = .max) -> [ServerAddress] {
        var seen: Set<ServerAddress> = []
        var list: [ServerAddress] = []
        for server in servers where list.count < limit && seen.insert(server).inserted { list.append(server) }
        return list
    }
}
