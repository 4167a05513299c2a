/// The network between a client and its servers, watched from the first connect on.
struct WatchedNetwork: Sendable {
    /// The servers, or the proxy, whose network is watched.
    private var servers: [ServerAddress]?
    private var watcher: Task<Void, Never>?

    /// Watches the network of these servers unless it is watched already. `changed` receives each change and its
    /// servers.
    mutating func follow(
        _ servers: [ServerAddress],
        _ changed: @escaping @Sendable (NetworkPath.Change, [ServerAddress]) async -> Void
    ) {
        guard servers != self.servers || watcher == nil else { return }
        // An available network is no news at the beginning, but it is after a switch of servers.
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

    /// Whether these are the present servers; a change reported for others is stale.
    func isWatching(_ servers: [ServerAddress]) -> Bool { servers == self.servers }

    /// Forgets the servers; returns whether there were any.
    mutating func end() -> Bool {
        rest()
        return exchange(&servers, with: nil) != nil
    }

    /// Stops watching until the next call of `follow`, which reports the state then.
    mutating func rest() {
        watcher?.cancel()
        watcher = nil
    }
}
