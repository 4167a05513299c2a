import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// A run's own network, in a temporary folder, so that killing servers and banning users harms no one. Its host runs
/// inside this process, and its servers end with this process, even if it is killed.
public struct LabNetwork: Sendable {
    /// The user of the clients under test.
    public static let user = "lab"

    /// Its folder.
    public let directory: NetworkDirectory
    /// The servers' addresses; unchanged by restarts.
    public let addresses: [ServerAddress]
    package let description: NetworkDescription
    /// Makes the server's side for a client under test.
    public let serverSide: @Sendable (RelayClient) -> any LabServerSide
    /// Ends the network and deletes its folder.
    public let stop: @Sendable () async -> Void

    /// The servers' version.
    public var version: String { description.serverVersion }

    /// Starts a private network with one server, which is found by the environment's `PATH` and `PARLEY_NATS_SERVER`.
    ///
    /// - Throws: `NetworkError` if it does not start.
    public static func start(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> LabNetwork {
        let folder = try TemporaryFolder.make("lab")
        var options = NetworkHost.Options(environment: environment)
        options.handlesSignals = false
        options.idleTimeout = .seconds(24 * 3_600)
        options.startTimeout = .seconds(60)
        let server = LabServer(NetworkDirectory(path: folder + "/network"), options)
        return try await started(server.administrator.network.directory, in: folder, stop: { await server.stop() }) {
            (try await server.start(), { _ in server })
        }
    }

    /// Starts a cluster of three servers.
    ///
    /// - Throws: `NetworkError` if it does not start.
    public static func startCluster(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> LabNetwork {
        let folder = try TemporaryFolder.make("lab")
        let cluster = LocalCluster(directory: NetworkDirectory(path: folder + "/cluster"))
        var options = NetworkHost.Options(environment: environment)
        options.handlesSignals = false
        let running = LocalClusterHost(cluster, options: options)
        let host = LabHost { await running.run() }
        return try await started(cluster.directory, in: folder, stop: { await host.end() }) {
            let description = try await host.brings(within: .seconds(180)) { try await cluster.directory.running() }
            _ = try await cluster.credentials(for: user)
            return (description, { client in LabLocalCluster(cluster, user: user) { await client.serverName } })
        }
    }

    private static func started(
        _ directory: NetworkDirectory, in folder: String, stop: @escaping @Sendable () async -> Void,
        _ start: () async throws -> (NetworkDescription, @Sendable (RelayClient) -> any LabServerSide)
    ) async throws -> LabNetwork {
        let end: @Sendable () async -> Void = {
            await stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
        do {
            let (description, side) = try await start()
            let addresses = try RelayConfiguration.addresses(description.servers)
            return LabNetwork(
                directory: directory, addresses: addresses, description: description, serverSide: side, stop: end)
        } catch {
            await end()
            throw error
        }
    }

    /// The configuration of a client of this network.
    ///
    /// - Parameters:
    ///   - server: where it connects; nil for the servers themselves.
    ///   - speed: the speed-up factor over real time.
    ///   - seed: the random seed; nil draws one.
    public func configuration(
        server: ServerAddress? = nil, _ settings: LabClientSettings, speed: Double, seed: UInt64? = nil
    ) throws -> RelayConfiguration {
        let servers = server.map { [$0] } ?? addresses
        return settings.configuration(servers, try credentials(settings), speed: speed, seed: seed)
    }

    private func credentials(_ settings: LabClientSettings) throws -> RelayCredentials {
        guard let lifetime = settings.tokenLifetime else {
            return RelayCredentials(try directory.credentials(for: Self.user))
        }
        let seconds = max(1, LabTime(lifetime).microseconds / 1_000_000)
        let token = { @Sendable [directory] in
            RelayCredentials(try directory.credentials(for: Self.user, lifetime: seconds))
        }
        return settings.renewsToken ? .provided(startingWith: try token()) { try token() } : try token()
    }
}

/// A network's host inside this process.
private struct LabHost: Sendable {
    private let running: Task<NetworkHost.Outcome, Never>
    private let ended = NIOLockedValueBox<NetworkHost.Outcome?>(nil)

    init(_ run: @escaping @Sendable () async -> NetworkHost.Outcome) {
        running = Task { [ended] in
            let outcome = await run()
            ended.withLockedValue { $0 = outcome }
            return outcome
        }
    }

    /// Polls until the host has produced a result; throws its failure if it has ended.
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
}

/// The server of a private network whose host ends with it, so that it stays dead until it is started again.
private actor LabServer: LabServers {
    nonisolated let administrator: LabAdministrator
    private let options: NetworkHost.Options
    /// Nil while the server is dead.
    private var host: LabHost?
    private var lease: NetworkLease?

    init(_ directory: NetworkDirectory, _ options: NetworkHost.Options) {
        self.options = options
        administrator = LabAdministrator(directory, user: LabNetwork.user)
    }

    func start() async throws -> NetworkDescription {
        let directory = administrator.network.directory
        let running = NetworkHost(directory: directory, options: options)
        let host = LabHost { await running.run() }
        self.host = host
        try await host.brings(within: .seconds(90)) { try await directory.running().map { _ in } }
        lease?.release()
        // It is running, so no host needs to be started.
        let lease = try await NetworkLease.acquire(directory: directory, hostCommand: [])
        self.lease = lease
        return lease.description
    }

    func stop() async {
        lease?.release()
        lease = nil
        await host?.end()
    }

    func change(_ name: LabAct.Name) async throws {
        switch name {
        case .killServer:
            guard let host, let lease else { return }
            let description = try await lease.ensureRunning()
            // Its host has just described it, so the id is the server's.
            _ = kill(description.serverPid, SIGKILL)
            self.host = nil
            await host.end()
        case .startServer:
            guard host == nil, let before = lease?.description else { return }
            guard try await start().servers == before.servers else {
                throw NetworkError.serverFailed("another program has taken the server's port meanwhile")
            }
        default: throw LabActError.notHere(name)
        }
    }
}
