import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// A network that a run has for itself, in a temporary folder, and that ends with it.
public protocol LabPlace: Sendable {
    /// Where its servers listen; the same after each restart.
    var addresses: [ServerAddress] { get }
    /// The servers' version.
    var version: String { get }
    /// The server's side, for a client under test.
    func serverSide(of client: RelayClient) -> any LabServerSide
    /// How a client of this network is configured.
    ///
    /// - Parameters:
    ///   - server: where it connects; the servers themselves when nil.
    ///   - settings: how it is.
    ///   - speed: how many times faster than in earnest its times pass.
    ///   - seed: where its chances come from; nil draws one.
    func configuration(
        server: ServerAddress?, _ settings: LabClientSettings, speed: Double, seed: UInt64?
    ) throws -> RelayConfiguration
    /// Ends the network and deletes its folder.
    func stop() async
}

extension LabPlace {
    /// Looks until something is there that a host of this process is to bring about.
    ///
    /// - Parameter words: what has taken too long when it has.
    /// - Throws: `NetworkError`, why the host has ended where it has.
    static func waiting<Found>(
        for words: String, _ host: Task<NetworkHost.Outcome, Never>, within limit: Duration,
        _ look: () async throws -> Found?
    ) async throws -> Found {
        let ended = NIOLockedValueBox<NetworkHost.Outcome?>(nil)
        let waiting = Task {
            let outcome = await host.value
            ended.withLockedValue { $0 = outcome }
        }
        defer { waiting.cancel() }
        let deadline = ContinuousClock.now + limit
        while true {
            if let found = try await look() { return found }
            if let outcome = ended.withLockedValue(\.self) {
                if case .failed(let error) = outcome { throw error }
                throw NetworkError.notRunning
            }
            guard ContinuousClock.now < deadline else { throw NetworkError.timedOut(words) }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func credentials(_ directory: NetworkDirectory, _ settings: LabClientSettings) throws -> RelayCredentials {
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

/// A cluster of three servers for runs, in a folder of its own. Its host works inside this process, and its servers and
/// services end with this process, however that ends.
public final class LabClusterNetwork: LabPlace {
    private let folder: String
    /// The cluster, and where its servers are.
    package let cluster: LocalCluster
    package let description: NetworkDescription
    private let host: Task<NetworkHost.Outcome, Never>
    /// Where the servers listen; the same after each restart.
    public let addresses: [ServerAddress]
    /// The servers' version.
    public var version: String { description.serverVersion }

    /// Starts a cluster.
    ///
    /// - Parameters:
    ///   - serveCommand: the path of an executable and its arguments that run `NetworkServing` for the file that
    ///     `--services` names behind them.
    ///   - environment: where `PATH` and `PARLEY_NATS_SERVER` are looked up.
    /// - Throws: `NetworkError` when it does not start.
    public static func start(
        serveCommand: [String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> LabClusterNetwork {
        let folder = try TemporaryFolder.make("lab")
        let cluster = LocalCluster(directory: NetworkDirectory(path: folder + "/cluster"))
        var options = LocalClusterHost.Options(serveCommand: serveCommand, environment: environment)
        options.handlesSignals = false
        let running = LocalClusterHost(cluster, options: options)
        let host = Task { await running.run() }
        do {
            let description = try await waiting(for: "Starting the lab's cluster", host, within: .seconds(180)) {
                try await cluster.running()
            }
            _ = try await cluster.credentials(for: LabNetwork.user)
            return LabClusterNetwork(
                folder, cluster, host, try RelayConfiguration.addresses(description.servers), description)
        } catch {
            host.cancel()
            _ = await host.value
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private init(
        _ folder: String, _ cluster: LocalCluster, _ host: Task<NetworkHost.Outcome, Never>,
        _ addresses: [ServerAddress], _ description: NetworkDescription
    ) {
        self.folder = folder
        self.cluster = cluster
        self.host = host
        self.addresses = addresses
        self.description = description
    }

    /// The server's side: all that can be done to a cluster of this machine.
    public func serverSide(of client: RelayClient) -> any LabServerSide {
        LabLocalCluster(cluster, user: LabNetwork.user) { await client.serverName }
    }

    /// How a client of this cluster is configured.
    public func configuration(
        server: ServerAddress?, _ settings: LabClientSettings, speed: Double, seed: UInt64?
    ) throws -> RelayConfiguration {
        settings.configuration(
            server.map { [$0] } ?? addresses, try credentials(cluster.directory, settings), speed: speed, seed: seed)
    }

    /// Ends the cluster and deletes its folder.
    public func stop() async {
        host.cancel()
        _ = await host.value
        try? FileManager.default.removeItem(atPath: folder)
    }
}
