/// Which way a client goes to its network.
public struct RelayRoute: Sendable {
    /// Where the servers are.
    public var servers: RelayConfiguration.Servers
    /// The proxy through which they are reached; nil dials them directly.
    public var proxy: ProxyAddress?
    /// Whether servers that a server tells of are tried too.
    public var followsCluster: Bool

    /// Makes a route.
    public init(servers: RelayConfiguration.Servers, proxy: ProxyAddress? = nil, followsCluster: Bool = true) {
        self.servers = servers
        self.proxy = proxy
        self.followsCluster = followsCluster
    }
}

extension RelayConfiguration {
    /// Which way a client goes that is configured so.
    public var route: RelayRoute {
        get { RelayRoute(servers: servers, proxy: proxy, followsCluster: followsCluster) }
        set { (servers, proxy, followsCluster) = (newValue.servers, newValue.proxy, newValue.followsCluster) }
    }
}
