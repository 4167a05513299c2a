/// A client's route to its network.
public struct RelayRoute: Sendable {
    /// The servers.
    public var servers: RelayConfiguration.Servers
    /// The proxy to them; nil dials them directly.
    public var proxy: ProxyAddress?
    /// Whether to try servers that another server advertises.
    public var followsCluster: Bool

    /// Creates a route.
    public init(servers: RelayConfiguration.Servers, proxy: ProxyAddress? = nil, followsCluster: Bool = true) {
        self.servers = servers
        self.proxy = proxy
        self.followsCluster = followsCluster
    }
}

extension RelayConfiguration {
    /// The route of this configuration.
    public var route: RelayRoute {
        get { RelayRoute(servers: servers, proxy: proxy, followsCluster: followsCluster) }
        set { (servers, proxy, followsCluster) = (newValue.servers, newValue.proxy, newValue.followsCluster) }
    }
}
