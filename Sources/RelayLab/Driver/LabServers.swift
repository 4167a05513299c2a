import Platform
import Relay
import RelayNetwork

/// Servers of a network whose folder is at hand, so that a rehearsal can do everything to them.
public protocol LabServers: LabServerSide {
    /// The administrator's acts.
    var administrator: LabAdministrator { get }
    /// Kills a server, or returns when one is there again; throws what hinders that.
    func change(_ name: LabAct.Name) async throws
}

extension LabServers {
    /// Does one of the acts that need a network, and throws what hinders it.
    public func perform(_ act: LabAct) async throws {
        switch act.name.row.deed {
        case .server: try await change(act.name)
        case .administrator(let body): try await body(administrator, act)
        case .condition, .restore, .strike, .message, .client, .send, .reading: throw LabActError.notHere(act.name)
        }
    }
}

/// What whoever has a network's folder does to one of its users, and to its disk.
public actor LabAdministrator {
    nonisolated let network: NetworkAdministrator
    nonisolated let user: String
    /// When the user's access ends without a rehearsal, while one has it ended; the inner nil means never.
    private var endBefore: Int64??
    /// As long as it is kept, the network's disk is full.
    private var disk: Rehearsal?

    /// - Parameter user: the user whom the acts are about.
    init(_ directory: NetworkDirectory, user: String) {
        network = NetworkAdministrator(directory: directory, name: "the lab")
        self.user = user
    }

    /// Ends the user's access now, and keeps in mind when it would have ended.
    func expire(_ reason: String?) async throws {
        let before = try await network.users(named: user).first?.expires
        endBefore = endBefore ?? .some(before)
        try await network.expire(user: user, at: Int64(Date().timeIntervalSince1970) - 1, reason: reason)
    }

    func extend() async throws {
        try await network.expire(user: user, at: endBefore ?? nil)
        endBefore = nil
    }

    func fillDisk() throws { if disk == nil { disk = try network.directory.fillDisk() } }
    func freeDisk() { disk = nil }
}

/// The server of a private network whose host is another process, which brings it back from its death by itself, and
/// which other programs use too.
public struct LabHostedNetwork: LabServers {
    private let ensureRunning: @Sendable () async throws -> Void
    /// The administrator's acts.
    public let administrator: LabAdministrator

    /// - Parameters:
    ///   - user: the user whom the administrator's acts are about.
    ///   - ensureRunning: returns when the network's server runs, and starts what it takes for that.
    public init(
        directory: NetworkDirectory, user: String, ensureRunning: @escaping @Sendable () async throws -> Void
    ) {
        self.ensureRunning = ensureRunning
        administrator = LabAdministrator(directory, user: user)
    }

    /// Kills the server, or makes sure that it runs.
    public func change(_ name: LabAct.Name) async throws {
        switch name {
        case .killServer: administrator.network.directory.killServer()
        case .startServer: try await ensureRunning()
        default: throw LabActError.notHere(name)
        }
    }
}

/// The servers of a cluster on this machine, which its host looks after and which other programs use too: the one that
/// is killed is the client's own, which the host brings back, and the one that leads stays dead as long as is wanted.
public actor LabLocalCluster: LabServers {
    private let cluster: LocalCluster
    private let ownServer: @Sendable () async -> String?
    /// The server that was killed last.
    private var killed: String?
    /// As long as it is kept, the server that led is gone.
    private var outage: Rehearsal?
    /// The administrator's acts.
    public nonisolated let administrator: LabAdministrator

    /// - Parameters:
    ///   - user: the user whom the administrator's acts are about.
    ///   - ownServer: the name of the server that the client under test is connected to; nil while it is to none.
    public init(_ cluster: LocalCluster, user: String, ownServer: @escaping @Sendable () async -> String?) {
        (self.cluster, self.ownServer) = (cluster, ownServer)
        administrator = LabAdministrator(cluster.directory, user: user)
    }

    /// Kills the client's own server or the one that leads, or has one started again.
    ///
    /// - Throws: `LabActError.needsConnection` where there is no server of its own, `NetworkError` for what hinders it.
    public func change(_ name: LabAct.Name) async throws {
        switch name {
        case .killServer:
            guard let own = await ownServer() else { throw LabActError.needsConnection(name) }
            killed = own
            try await cluster.killServer(named: own)
        case .startServer: if let killed { try await cluster.awaitServer(named: killed) }
        // Once at most: without a second server nobody could lead.
        case .stopLeader: if outage == nil { outage = try await cluster.stopServer(named: try await cluster.leader()) }
        // It is there a moment later.
        case .startLeader: outage = nil
        default: throw LabActError.notHere(name)
        }
    }
}
