import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// Three servers with a network on them for one run, in a temporary folder. Its host works inside this process; servers
/// and services end with this process, however that ends.
struct BenchCluster: Sendable {
    /// The name under which this program starts itself as a process of the network's services.
    static let role = "network-serve"

    let cluster: LocalCluster
    let description: LocalClusterDescription

    /// Runs the body on a cluster of its own; all processes have ended and the folder is gone when this returns.
    static func run<R>(_ body: (BenchCluster) async throws -> R) async throws -> R {
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await run(in: folder, body)
    }

    /// The same in a folder of the caller's.
    static func run<R>(in folder: String, _ body: (BenchCluster) async throws -> R) async throws -> R {
        let cluster = LocalCluster(directory: NetworkDirectory(path: folder + "/network"))
        var options = LocalClusterHost.Options(serveCommand: [ThisProgram.path, role])
        options.handlesSignals = false
        let host = LocalClusterHost(cluster, options: options)
        let outcome = NIOLockedValueBox<NetworkHost.Outcome?>(nil)
        let running = Task {
            let ending = await host.run()
            outcome.withLockedValue { $0 = ending }
        }
        let result: Result<R, any Error>
        do {
            while true {
                if let description = try await cluster.running() {
                    result = .success(try await body(BenchCluster(cluster: cluster, description: description)))
                    break
                }
                if let ending = outcome.withLockedValue(\.self) { throw ChaosFailure("the cluster's host: \(ending)") }
                try await Task.sleep(for: .milliseconds(20))
            }
        } catch {
            result = .failure(error)
        }
        running.cancel()
        await running.value
        return try result.get()
    }

    /// Answers for a network until a signal comes.
    @concurrent
    static func serve(_ words: [String]) async throws {
        guard words.count == 2, words[0] == "--services" else { throw ChaosFailure("usage: \(role) --services FILE") }
        try await NetworkServing(ServiceAccess(path: words[1])).run()
    }

    /// Where the servers are.
    var addresses: [ServerAddress] { description.servers.compactMap { try? ServerAddress(parsing: $0) } }

    /// Somebody's client.
    func client(_ user: String, _ change: (inout RelayConfiguration) -> Void = { _ in }) async throws -> RelayClient {
        let credentials = try await Credentials.load(path: cluster.credentials(for: user))
        var configuration = RelayConfiguration(
            servers: .fixed(addresses), credentials: RelayCredentials(credentials), user: user,
            namespace: .init(name: description.namespace, hash: description.hash, apiPrefix: description.api))
        configuration.followsNetwork = false
        change(&configuration)
        return RelayClient(configuration: configuration)
    }

    // MARK: Servers

    /// Ends a server and returns when another process has taken its place and everything is on all servers again.
    /// - Parameter signal: `SIGTERM` for an orderly end, `SIGKILL` for none.
    func restart(_ server: String, by signal: Int32) async throws {
        guard let before = cluster.serverProcesses()[server] else { throw ChaosFailure("there is no server \(server)") }
        kill(before, signal)
        try await wait("\(server) did not come back") {
            cluster.serverProcesses()[server].map { $0 != before } ?? false
        }
        try await waitForAll()
    }

    /// Returns when every server answers and has all that there is.
    func waitForAll() async throws {
        try await wait("not everything is on all servers again") {
            (try? await cluster.directory.report().isWhole) == true
        }
    }

    /// The server that leads the stream of topics.
    func leader() async throws -> String {
        let found = NIOLockedValueBox<String?>(nil)
        try await wait("the stream found no leader") {
            let streams = try? await cluster.directory.report().streams
            found.withLockedValue { $0 = streams?.first?.leader }
            return found.withLockedValue { $0 } != nil
        }
        return found.withLockedValue { $0 } ?? ""
    }

    private func wait(_ failure: String, until condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await !condition() {
            guard ContinuousClock.now < deadline else { throw ChaosFailure("\(failure) within two minutes") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
