import Relay
import RelayLab
import RelayNetwork

/// The chat's network as the lab sees it: how much of the server side the user controls.
enum LabSite: Sendable {
    /// A network run by someone else.
    case elsewhere
    /// The private network, with one server.
    case network(LabHostedNetwork)
    /// This machine's cluster and the addresses of its servers.
    case cluster(LocalCluster, [ServerAddress])

    /// The acts that are unavailable here, and why.
    ///
    /// - Parameter isShared: whether a user's sessions live side by side.
    func hindrances(isShared: Bool) -> [LabAct.Name: LabHindrance] {
        var found: [LabAct.Name: LabHindrance] = [:]
        for name in LabAct.Name.allCases {
            switch self {
            case .elsewhere where name.needsNetwork: found[name] = .needsAdministrator
            case .network where name.needsCluster: found[name] = .needsCluster
            default: break
            }
        }
        if isShared { found[.login] = .sessionsAreShared }
        return found
    }

    /// The server side; nil if someone else runs it.
    func server(of client: RelayClient, user: String) -> (any LabServerSide)? {
        switch self {
        case .elsewhere: nil
        case .network(let network): network
        case .cluster(let cluster, _): LabLocalCluster(cluster, user: user) { await client.serverName }
        }
    }

    /// The other servers of the cluster, for the proxy to use when this one cannot be reached.
    func others(than target: ServerAddress) -> [ServerAddress] {
        guard case .cluster(_, let places) = self else { return [] }
        return places.filter { $0.port != target.port }
    }
}
