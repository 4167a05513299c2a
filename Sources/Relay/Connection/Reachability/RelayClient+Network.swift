// What the system says about its networks.
extension RelayClient {
    /// Has the system's networks pause and hasten the attempts, from the first connect on. A network that is asked for
    /// its servers before every dial is on this machine and needs none.
    func followNetwork(_ configuration: RelayConfiguration) {
        guard configuration.followsNetwork, case .fixed(let servers) = configuration.servers else { return }
        let proxy = configuration.proxy.map { ServerAddress(host: $0.host, port: $0.port) }
        let watched = proxy.map { [$0] } ?? servers
        guard watched != watchedServers else { return }
        // A network that is there from the beginning is no news, except after other servers were judged.
        let isFirst = watchedServers == nil
        watchedServers = watched
        networkWatcher?.cancel()
        networkWatcher = Task { [weak self] in
            let monitor = NetworkPathMonitor(servers: watched)
            var isNews = !isFirst
            for await change in monitor.changes {
                defer { isNews = true }
                if isNews || change == .unavailable { await self?.networkChanged(change, for: watched) }
            }
        }
    }

    private func networkChanged(_ change: NetworkPath.Change, for servers: [ServerAddress]) {
        guard servers == watchedServers else { return }
        setNetworkAvailable(change != .unavailable)
    }
}
