/// The network on the way to a client's servers, as the system tells of it, from the first connect on.
struct WatchedNetwork: Sendable {
    /// The servers, or the proxy, whose network is watched.
    private var servers: [ServerAddress]?
    private var watcher: Task<Void, Never>?

    /// Watches the network of a configuration's servers, unless it is watched already. A network that is asked for its
    /// servers before every dial is on this machine and needs none.
    ///
    /// - Parameter changed: hears what changes, and for which servers.
    mutating func follow(
        _ configuration: RelayConfiguration,
        _ changed: @escaping @Sendable (NetworkPath.Change, [ServerAddress]) async -> Void
    ) {
        guard configuration.followsNetwork, case .fixed(let servers) = configuration.servers else { return }
        let proxy = configuration.proxy.map { ServerAddress(host: $0.host, port: $0.port) }
        let watched = proxy.map { [$0] } ?? servers
        guard watched != self.servers || watcher == nil else { return }
        // A network that is there from the beginning is no news, except after other servers were judged.
        let isFirst = self.servers == nil
        self.servers = watched
        watcher?.cancel()
        watcher = Task {
            let monitor = NetworkPathMonitor(servers: watched)
            var isNews = !isFirst
            for await change in monitor.changes {
                defer { isNews = true }
                if isNews || change == .unavailable { await changed(change, watched) }
            }
        }
    }

    /// Whether these are the servers of now; news of other ones comes too late.
    func isWatching(_ servers: [ServerAddress]) -> Bool { servers == self.servers }

    /// Watches nothing until somebody follows again, who then hears how things stand.
    mutating func rest() {
        watcher?.cancel()
        watcher = nil
    }

    /// Watches no more.
    func end() { watcher?.cancel() }
}
