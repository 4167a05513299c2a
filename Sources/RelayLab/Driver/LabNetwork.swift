import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// A network that a run has for itself, in a temporary folder, and that ends with it.
public protocol LabPlace: Sendable {
    /// Its folder.
    var directory: NetworkDirectory { get }
    /// Where its servers listen; the same after each restart.
    var addresses: [ServerAddress] { get }
    /// The servers' version.
    var version: String { get }
    /// The server's side, for a client under test.
    func serverSide(of client: RelayClient) -> any LabServerSide
    /// Ends the network and deletes its folder.
    func stop() async
}

extension LabPlace {
    /// How a client of this network is configured.
    ///
    /// - Parameters:
    ///   - server: where it connects; the servers themselves when nil.
    ///   - settings: how it is.
    ///   - speed: how many times faster than in earnest its times pass.
    ///   - seed: where its chances come from; nil draws one.
    public func configuration(
        server: ServerAddress? = nil, _ settings: LabClientSettings, speed: Double, seed: UInt64? = nil
    ) throws -> RelayConfiguration {
        let servers = server.map { [$0] } ?? addresses
        return settings.configuration(servers, try credentials(settings), speed: speed, seed: seed)
    }

    private func credentials(_ settings: LabClientSettings) throws -> RelayCredentials {
        let directory = directory
        guard let lifetime = settings.tokenLifetime else {
            return RelayCredentials(try directory.credentials(for: LabNetwork.user))
        }
        let seconds = max(1, LabTime(lifetime).microseconds / 1_000_000)
        let first = RelayCredentials(try directory.credentials(for: LabNetwork.user, lifetime: seconds))
        guard settings.renewsToken else { return first }
        return .provided(startingWith: first) {
            RelayCredentials(try directory.credentials(for: LabNetwork.user, lifetime: seconds))
        }
    }
}

/// A network's host inside this process, with the folder that it ends with.
private struct LabHost: Sendable {
    let folder: String
    let running: Task<NetworkHost.Outcome, Never>
    private let ended = NIOLockedValueBox<NetworkHost.Outcome?>(nil)

    init(in folder: String, _ run: @escaping @Sendable () async -> NetworkHost.Outcome) {
        self.folder = folder
        running = Task { [ended] in
            let outcome = await run()
            ended.withLockedValue { $0 = outcome }
            return outcome
        }
    }

    /// Looks until the host has brought something about.
    ///
    /// - Throws: `NetworkError`, why the host has ended where it has.
    func brings<Found>(within limit: Duration, _ look: () async throws -> Found?) async throws -> Found {
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = try await look() { return found }
            if let outcome = ended.withLockedValue(\.self) {
                if case .failed(let error) = outcome { throw error }
                throw NetworkError.notRunning
            }
            guard ContinuousClock.now < deadline else { throw NetworkError.timedOut("Starting the lab's network") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func end() async {
        running.cancel()
        _ = await running.value
    }

    func endForGood() async {
        await end()
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// A private network for runs, in a folder of its own, whose server can be killed and whose users can be banned without
/// harm to anybody. Its host works inside this process, and its server ends with this process, however that ends.
public actor LabNetwork: LabServers, LabPlace {
    /// The user as whom clients under test connect.
    public static let user = "lab"

    private let options: NetworkHost.Options
    private var host: LabHost
    private var lease: NetworkLease?
    private var isRunning = true
    /// Its folder.
    public nonisolated let directory: NetworkDirectory
    /// Where its server and its processes are.
    package nonisolated let description: NetworkDescription
    /// Where the server listens; the same after each restart.
    public nonisolated let address: ServerAddress
    /// The same address, as the only one.
    public nonisolated var addresses: [ServerAddress] { [address] }
    /// The server's version.
    public nonisolated var version: String { description.serverVersion }
    /// The administrator's acts.
    public nonisolated let administrator: LabAdministrator

    /// The network itself.
    public nonisolated func serverSide(of client: RelayClient) -> any LabServerSide { self }

    /// Starts a network.
    ///
    /// - Parameter environment: where `PATH` and `PARLEY_NATS_SERVER` are looked up.
    /// - Throws: `NetworkError` when it does not start.
    public static func start(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> LabNetwork {
        let folder = try TemporaryFolder.make("lab")
        let directory = NetworkDirectory(path: folder + "/network")
        var options = NetworkHost.Options(environment: environment)
        options.handlesSignals = false
        options.idleTimeout = .seconds(24 * 3_600)
        options.startTimeout = .seconds(60)
        let host = Self.host(in: folder, directory, options)
        do { return try LabNetwork(directory, options, host, await lease(directory, host)) } catch {
            await host.endForGood()
            throw error
        }
    }

    private init(
        _ directory: NetworkDirectory, _ options: NetworkHost.Options, _ host: LabHost, _ lease: NetworkLease
    ) throws {
        (self.directory, self.options, self.host, self.lease) = (directory, options, host, lease)
        description = lease.description
        address = try lease.description.address()
        administrator = LabAdministrator(directory, user: Self.user)
    }

    /// Ends the network and deletes its folder.
    public func stop() async {
        lease?.release()
        lease = nil
        await host.endForGood()
    }

    /// Kills the server, which stays dead.
    public func killServer() async throws {
        guard isRunning, let lease else { return }
        let description = try await lease.ensureRunning()
        // Its host has just described it: the id is the server's.
        _ = kill(description.serverPid, SIGKILL)
        isRunning = false
        await host.end()
    }

    /// Starts it again, at the same port.
    public func startServer() async throws {
        guard !isRunning else { return }
        host = Self.host(in: host.folder, directory, options)
        isRunning = true
        lease?.release()
        let lease = try await Self.lease(directory, host)
        self.lease = lease
        guard try lease.description.address().port == address.port else {
            throw NetworkError.serverFailed("another program has taken the server's port meanwhile")
        }
    }

    private static func host(
        in folder: String, _ directory: NetworkDirectory, _ options: NetworkHost.Options
    ) -> LabHost {
        let host = NetworkHost(directory: directory, options: options)
        return LabHost(in: folder) { await host.run() }
    }

    private static func lease(_ directory: NetworkDirectory, _ host: LabHost) async throws -> NetworkLease {
        try await host.brings(within: .seconds(90)) { try await directory.status().running ? () : nil }
        // It runs, so that no host has to be started for it.
        return try await NetworkLease.acquire(directory: directory, hostCommand: [])
    }
}

/// A cluster of three servers for runs, in a folder of its own. Its host works inside this process, and its servers end
/// with this process, however that ends.
public struct LabClusterNetwork: LabPlace {
    private let host: LabHost
    /// The cluster, and where its servers are.
    package let cluster: LocalCluster
    package let description: NetworkDescription
    /// Where the servers listen; the same after each restart.
    public let addresses: [ServerAddress]
    /// Its folder.
    public var directory: NetworkDirectory { cluster.directory }
    /// The servers' version.
    public var version: String { description.serverVersion }

    /// Starts a cluster.
    ///
    /// - Parameters:
    ///   - environment: where `PATH` and `PARLEY_NATS_SERVER` are looked up.
    /// - Throws: `NetworkError` when it does not start.
    public static func start(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> LabClusterNetwork {
        let folder = try TemporaryFolder.make("lab")
        let cluster = LocalCluster(directory: NetworkDirectory(path: folder + "/cluster"))
        var options = NetworkHost.Options(environment: environment)
        options.handlesSignals = false
        let running = LocalClusterHost(cluster, options: options)
        let host = LabHost(in: folder) { await running.run() }
        do {
            let description = try await host.brings(within: .seconds(180)) { try await cluster.running() }
            _ = try await cluster.credentials(for: LabNetwork.user)
            return LabClusterNetwork(
                host: host, cluster: cluster, description: description,
                addresses: try RelayConfiguration.addresses(description.servers))
        } catch {
            await host.endForGood()
            throw error
        }
    }

    /// All that can be done to a cluster of this machine.
    public func serverSide(of client: RelayClient) -> any LabServerSide {
        LabLocalCluster(cluster, user: LabNetwork.user) { await client.serverName }
    }

    /// Ends the cluster and deletes its folder.
    public func stop() async { await host.endForGood() }
}
