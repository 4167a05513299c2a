import Relay
import RelayNetwork

/// The server's side of a cluster on this machine, which its host looks after and which other programs use too: the
/// administrator's acts, the death of the server that one is connected to, from which the host brings it back by
/// itself, that of the server that leads the topics' stream, for as long as is wanted, and a disk that the network
/// finds full.
public actor LabLocalCluster: LabServerSide {
    private let cluster: LocalCluster
    private let administrator: LabAdministrator
    private let ownServer: @Sendable () async -> String?
    /// The server that was killed last.
    private var killed: String?
    /// As long as it is kept, the server that led is gone.
    private var outage: RehearsedOutage?
    /// As long as it is kept, the network's disk is full.
    private var disk: RehearsedFullDisk?

    /// - Parameters:
    ///   - cluster: the cluster.
    ///   - user: the user whom the administrator's acts are about.
    ///   - ownServer: the name of the server that the client under test is connected to; nil while it is to none.
    public init(_ cluster: LocalCluster, user: String, ownServer: @escaping @Sendable () async -> String?) {
        self.cluster = cluster
        self.ownServer = ownServer
        administrator = LabAdministrator(directory: cluster.directory, user: user)
    }

    /// Does one of the acts that need a network. A leader that is started again is there a moment later.
    ///
    /// - Throws: `LabActError.needsConnection` where there is no server to kill, `NetworkError` for what hinders the
    ///   act.
    public func perform(_ act: LabAct) async throws {
        switch act.name {
        case .killServer:
            guard let name = await ownServer() else { throw LabActError.needsConnection(act.name) }
            killed = name
            try await cluster.killServer(named: name)
        case .startServer: if let killed { try await cluster.awaitServer(named: killed) }
        case .stopLeader:
            // Without a second one nobody could lead.
            guard outage == nil else { return }
            outage = try await cluster.stopServer(named: try await cluster.leader())
        case .startLeader: outage = nil
        case .fillDisk: if disk == nil { disk = try cluster.directory.fillDisk() }
        case .freeDisk: disk = nil
        default: try await administrator.perform(act)
        }
    }
}
