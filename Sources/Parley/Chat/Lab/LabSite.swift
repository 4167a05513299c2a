import Relay
import RelayLab
import RelayNetwork

/// What the chat's network is to the lab: how much of its server's side is in this person's hands.
enum LabSite: Sendable {
    /// Somebody else's.
    case elsewhere
    /// The private network, with one server.
    case network(LabHostedNetwork)
    /// The cluster of this machine, with where its servers are.
    case cluster(LocalCluster, [ServerAddress])

    /// Why some acts cannot be done here.
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

    /// The server's side; nil where it is somebody else's.
    func server(of client: RelayClient, user: String) -> (any LabServerSide)? {
        switch self {
        case .elsewhere: nil
        case .network(let network): network
        case .cluster(let cluster, _): LabLocalCluster(cluster, user: user) { await client.serverName }
        }
    }

    /// Where newcomers are to go when a server cannot be reached: to the others of its cluster, as without the lab.
    func others(than target: ServerAddress) -> [ServerAddress] {
        guard case .cluster(_, let places) = self else { return [] }
        return places.filter { $0.port != target.port }
    }
}
