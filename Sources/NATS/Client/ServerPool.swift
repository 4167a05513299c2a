/// The servers of one network and the order in which they are tried, as a pure value.
///
/// Configured servers come first, in their order; those that a server names in its INFO (`connect_urls`) follow in
/// random order, so that not every client goes to the same one. A server that fails goes to the end.
package struct ServerPool: Hashable, Sendable {
    package private(set) var configured: [ServerAddress] = []
    /// Every known server, the next one first.
    package private(set) var order: [ServerAddress] = []
    private var advertised: [ServerAddress] = []
    /// More servers than any client tries; a longer list is taken for its beginning.
    static let maximumAdvertised = 128

    package init(_ configured: [ServerAddress] = []) { configure(configured) }

    package var next: ServerAddress? { order.first }

    /// Takes in the configured servers, which may have changed: a server that was started anew has another port.
    package mutating func configure(_ servers: [ServerAddress]) {
        guard servers != configured else { return }
        let gone = configured.filter { !servers.contains($0) && !advertised.contains($0) }
        order.removeAll { gone.contains($0) }
        let new = Self.distinct(servers).filter { !order.contains($0) }
        order.insert(contentsOf: new, at: 0)
        configured = servers
    }

    /// Takes in what a server said about the others. An empty list changes nothing: a lone server names no others.
    /// The servers have TLS settings like those of the one that named them.
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

    /// A dial to this server failed, its connection broke, or it is shutting down: it becomes the last one.
    package mutating func failed(_ server: ServerAddress) {
        guard let index = order.firstIndex(of: server) else { return }
        order.remove(at: index)
        // One that is only known from a list that no longer has it is forgotten.
        if configured.contains(server) || advertised.contains(server) { order.append(server) }
    }

    /// This server accepted the connection: it stays the first choice until it fails.
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
