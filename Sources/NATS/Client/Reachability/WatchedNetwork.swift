/// The network on the way to a client's servers, as the system tells of it, from the first connect on.
struct WatchedNetwork: Sendable {
    /// The servers, or the proxy, whose network is watched.
    private var servers: [ServerAddress]?
    private var watcher: Task<Void, Never>?

    /// Watches the network of these servers, unless it is watched already; `changed` hears what changes, and for which.
    mutating func follow(
        _ servers: [ServerAddress],
        _ changed: @escaping @Sendable (NetworkPath.Change, [ServerAddress]) async -> Void
    ) {
        guard servers != self.servers || watcher == nil else { return }
        // A network that is there from the beginning is no news, except after other servers were judged.
        let isFirst = self.servers == nil
        self.servers = servers
        watcher?.cancel()
        watcher = Task {
            let monitor = NetworkPathMonitor(servers: servers)
            var isNews = !isFirst
            for await change in monitor.changes {
                defer { isNews = true }
                if isNews || change == .unavailable { await changed(change, servers) }
            }
        }
    }

    /// Whether these are the servers of now; news of other ones comes too late.
    func isWatching(_ servers: [ServerAddress]) -> Bool { servers == self.servers }

    /// Forgets the servers; returns whether there were any, whose network says nothing of others.
    mutating func end() -> Bool {
        rest()
        return exchange(&servers, with: nil) != nil
    }

    /// Watches nothing until the next call of `follow`, which reports how things are then.
    mutating func rest() {
        watcher?.cancel()
        watcher = nil
    }
}
