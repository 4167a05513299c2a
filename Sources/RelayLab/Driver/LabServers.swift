import Platform
import Relay
import RelayNetwork

/// Servers of a network whose folder is at hand, so that all acts are possible.
public protocol LabServers: LabServerSide {
    /// Carries out the administrator's acts.
    var administrator: LabAdministrator { get }
    /// Kills a server, or returns once it is back; throws if that fails.
    func change(_ name: LabAct.Name) async throws
}

extension LabServers {
    /// Carries out an act that needs a network; throws if that fails.
    public func perform(_ act: LabAct) async throws {
        switch act.name.row.deed {
        case .server: try await change(act.name)
        case .administrator(let body): try await body(administrator, act)
        case .condition, .restore, .strike, .message, .client, .send, .reading: throw LabActError.notHere(act.name)
        }
    }
}

/// The administrator's acts on one user of a network, and on the network's disk.
public actor LabAdministrator {
    nonisolated let network: NetworkAdministrator
    nonisolated let user: String
    /// When the user's access ended before a rehearsal expired it; the inner nil means never.
    private var endBefore: Int64??
    /// The network's disk is full while this is kept.
    private var disk: Rehearsal?

    /// - Parameter user: the user that the acts affect.
    init(_ directory: NetworkDirectory, user: String) {
        network = NetworkAdministrator(directory: directory, name: "the lab")
        self.user = user
    }

    /// Ends the user's access now, and remembers when it would have ended.
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

/// The server of a private network that other programs use too. Its host is another process, which restarts it.
public struct LabHostedNetwork: LabServers {
    private let ensureRunning: @Sendable () async throws -> Void
    /// Carries out the administrator's acts.
    public let administrator: LabAdministrator

    /// - Parameters:
    ///   - user: the user that the administrator's acts affect.
    ///   - ensureRunning: starts the network's server if necessary, and returns once it is running.
    public init(directory: NetworkDirectory, user: String, ensureRunning: @escaping @Sendable () async throws -> Void) {
        self.ensureRunning = ensureRunning
        administrator = LabAdministrator(directory, user: user)
    }

    /// Kills the server, or makes sure that it is running.
    public func change(_ name: LabAct.Name) async throws {
        switch name {
        case .killServer: administrator.network.directory.killServer()
        case .startServer: try await ensureRunning()
        default: throw LabActError.notHere(name)
        }
    }
}

/// The servers of a cluster on this machine that other programs use too. The client's own server is restarted by the
/// cluster's host after it was killed; the leader stays dead for as long as required.
public actor LabLocalCluster: LabServers {
    private let cluster: LocalCluster
    private let ownServer: @Sendable () async -> String?
    /// The last server that was killed.
    private var killed: String?
    /// The former leader is down while this is kept.
    private var outage: Rehearsal?
    /// Carries out the administrator's acts.
    public nonisolated let administrator: LabAdministrator

    /// - Parameters:
    ///   - user: the user that the administrator's acts affect.
    ///   - ownServer: returns the name of the server that the client under test is connected to, if any.
    public init(_ cluster: LocalCluster, user: String, ownServer: @escaping @Sendable () async -> String?) {
        (self.cluster, self.ownServer) = (cluster, ownServer)
        administrator = LabAdministrator(cluster.directory, user: user)
    }

    /// Kills the client's own server or the leader, or restarts one.
    ///
    /// - Throws: `LabActError.needsConnection` if the client is not connected, `NetworkError` if the act fails.
    public func change(_ name: LabAct.Name) async throws {
        switch name {
        case .killServer:
            guard let own = await ownServer() else { throw LabActError.needsConnection(name) }
            killed = own
            try await cluster.killServer(named: own)
        case .startServer: if let killed { try await cluster.awaitServer(named: killed) }
        // Only once: no leader is possible without a second server.
        case .stopLeader: if outage == nil { outage = try await cluster.stopServer(named: try await cluster.leader()) }
        // It is back a moment later.
        case .startLeader: outage = nil
        default: throw LabActError.notHere(name)
        }
    }
}
