import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// A private network for runs, in a folder of its own, whose server can be killed and whose users can be banned without
/// harm to anybody. Its host works inside this process, and its server ends with this process, however that ends.
public actor LabNetwork: LabServerSide, LabPlace {
    /// The user as whom clients under test connect.
    public static let user = "lab"

    private let folder: String
    /// Its folder, and where its server and its processes are.
    package nonisolated let directory: NetworkDirectory
    package nonisolated let description: NetworkDescription
    private let options: NetworkHost.Options
    private let isDiskFull: NIOLockedValueBox<Bool>
    private var host: Task<NetworkHost.Outcome, Never>?
    private var lease: NetworkLease?
    /// Where the server listens; the same after each restart.
    public nonisolated let address: ServerAddress
    /// The server's version.
    public nonisolated var version: String { description.serverVersion }
    /// The same address, as the only one.
    public nonisolated var addresses: [ServerAddress] { [address] }

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
        let isDiskFull = NIOLockedValueBox(false)
        var options = NetworkHost.Options(environment: environment)
        options.handlesSignals = false
        options.idleTimeout = .seconds(24 * 3_600)
        options.startTimeout = .seconds(60)
        options.freeDiskSpace = { _ in isDiskFull.withLockedValue(\.self) ? 0 : .max }
        let host = Self.host(directory, options)
        do {
            let lease = try await answering(directory, host)
            let address = try RelayConfiguration.addresses([lease.url])[0]
            return LabNetwork(
                folder: folder, directory: directory, options: options, isDiskFull: isDiskFull, host: host,
                lease: lease,
                address: address)
        } catch {
            host.cancel()
            _ = await host.value
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    private init(
        folder: String, directory: NetworkDirectory, options: NetworkHost.Options,
        isDiskFull: NIOLockedValueBox<Bool>, host: Task<NetworkHost.Outcome, Never>, lease: NetworkLease,
        address: ServerAddress
    ) {
        self.folder = folder
        self.directory = directory
        self.options = options
        self.isDiskFull = isDiskFull
        self.host = host
        self.lease = lease
        self.address = address
        description = lease.description
    }

    /// Ends the network and deletes its folder.
    public func stop() async {
        lease?.release()
        lease = nil
        await stopHost()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// How a client of this network is configured.
    ///
    /// - Parameters:
    ///   - server: where it connects; the server itself when nil.
    ///   - settings: how it is.
    ///   - speed: how many times faster than in earnest its times pass.
    ///   - seed: where its chances come from; nil draws one.
    public nonisolated func configuration(
        server: ServerAddress? = nil, _ settings: LabClientSettings, speed: Double, seed: UInt64? = nil
    ) throws -> RelayConfiguration {
        settings.configuration(
            [server ?? address], try credentials(directory, settings), speed: speed, seed: seed)
    }

    // MARK: Acts

    /// Does one of the acts that need a network.
    public func perform(_ act: LabAct) async throws {
        switch act.name {
        case .killServer: try await kill()
        case .startServer: try await startAgain()
        case .fillDisk: isDiskFull.withLockedValue { $0 = true }
        case .freeDisk: isDiskFull.withLockedValue { $0 = false }
        default: try await LabAdministrator(directory: directory, user: Self.user).perform(act)
        }
    }

    private func kill() async throws {
        guard host != nil, let lease else { return }
        let description = try await lease.ensureRunning()
        // Its host has just described it: the id is the server's.
        _ = systemKill(description.serverPid)
        await stopHost()
    }

    private func stopHost() async {
        guard let host else { return }
        self.host = nil
        host.cancel()
        _ = await host.value
    }

    private func startAgain() async throws {
        guard host == nil else { return }
        let host = Self.host(directory, options)
        self.host = host
        lease?.release()
        let lease = try await Self.answering(directory, host)
        self.lease = lease
        guard try RelayConfiguration.addresses([lease.url])[0].port == address.port else {
            throw NetworkError.serverFailed("another program has taken the server's port meanwhile")
        }
    }

    // MARK: Parts

    private static func host(
        _ directory: NetworkDirectory, _ options: NetworkHost.Options
    ) -> Task<NetworkHost.Outcome, Never> {
        let host = NetworkHost(directory: directory, options: options)
        return Task { await host.run() }
    }

    private static func answering(
        _ directory: NetworkDirectory, _ host: Task<NetworkHost.Outcome, Never>
    ) async throws -> NetworkLease {
        try await waiting(for: "Starting the lab's network", host, within: .seconds(90)) {
            try await directory.status().running ? () : nil
        }
        // It runs, so that no host has to be started for it.
        return try await NetworkLease.acquire(directory: directory, hostCommand: [])
    }
}

/// Outside the actor, whose own method has the system call's name.
private func systemKill(_ process: Int32) -> Int32 { kill(process, SIGKILL) }

extension LabClientSettings {
    /// How a client is configured that is so.
    ///
    /// - Parameters:
    ///   - servers: where it goes, and nowhere else: what a server tells of others leads around the link.
    ///   - speed: how many times faster than in earnest its times pass.
    ///   - seed: where its chances come from; nil draws one.
    public func configuration(
        _ servers: [ServerAddress], _ credentials: RelayCredentials, speed: Double, seed: UInt64? = nil
    ) -> RelayConfiguration {
        var configuration = RelayConfiguration(
            servers: .fixed(servers), credentials: credentials, reconnect: reconnectPolicy(speed: speed))
        configuration.followsCluster = false
        configuration.seed = seed
        // The link's faults are the proxy's, and no news of the system is to hasten what is rehearsed.
        configuration.followsNetwork = false
        configuration.lifecycle = suspendAfter.map { .suspend(after: $0 / speed) } ?? .ignore
        if let policy = KickPolicy(rawValue: session) { configuration.sessions = .exclusive(policy) }
        if let ping { configuration.pingInterval = ping / speed }
        if let pong { configuration.pongTimeout = pong / speed }
        if reconnect == "relayx" { configuration.outbox = .relayx }
        return configuration
    }
}
