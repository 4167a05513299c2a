// What the system says about its networks.
extension RelayClient {
    /// Has the system's networks pause and hasten the attempts, from the first connect on. A network that is asked for
    /// its servers before every dial is on this machine and needs none.
    func followNetwork(_ configuration: RelayConfiguration) {
        guard configuration.followsNetwork, networkWatcher == nil, case .fixed(let servers) = configuration.servers
        else { return }
        let proxy = configuration.proxy.map { ServerAddress(host: $0.host, port: $0.port) }
        networkWatcher = Task { [weak self] in
            let monitor = NetworkPathMonitor(servers: proxy.map { [$0] } ?? servers)
            var isFirst = true
            for await change in monitor.changes {
                // A network that is there from the beginning is no news.
                defer { isFirst = false }
                if isFirst, change != .unavailable { continue }
                await self?.setNetworkAvailable(change != .unavailable)
            }
        }
    }
}
