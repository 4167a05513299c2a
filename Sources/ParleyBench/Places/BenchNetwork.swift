import NATS
import Platform
import Relay
import RelayLab
import RelayNetwork

/// A private network for one run, in a temporary folder. Its host works inside this process, and its server ends with
/// this process, however that ends.
struct BenchNetwork: Sendable {
    let directory: NetworkDirectory
    let description: NetworkDescription
    var address: ServerAddress { get throws { try description.address() } }

    /// Runs the body on a network of its own; the server has ended and the folder is gone when this returns.
    static func run<R>(_ body: (BenchNetwork) async throws -> R) async throws -> R {
        let network = try await LabNetwork.start()
        return try await finally {
            await network.stop()
        } after: {
            try await body(BenchNetwork(directory: network.directory, description: network.description))
        }
    }

    /// Credentials of a user of the network's own account, for whom nothing is imported. The network issues none to
    /// others, so that they are made here with its key.
    func ownCredentials() throws -> Credentials {
        func key(_ file: String) throws -> String {
            let path = "\(directory.path)/keys/\(file)"
            return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        }
        let signer = try NKeyPair(seed: key("signing.nk"))
        let account = try NKey(AccountClaims.verify(key("account.jwt")).subject)
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "~bench", grant: UserGrant(issuerAccount: account))
        return try Credentials(jwt: claims.encode(signedBy: signer), keyPair: pair)
    }
}

/// Three servers with a network on them for one run, in a temporary folder. Its host works inside this process; servers
/// end with this process, however that ends.
struct BenchCluster: Sendable {
    let cluster: LocalCluster
    let description: NetworkDescription
    let addresses: [ServerAddress]

    /// Runs the body on a cluster of its own; all processes have ended and the folder is gone when this returns.
    static func run<R>(_ body: (BenchCluster) async throws -> R) async throws -> R {
        let network = try await LabNetwork.startCluster()
        return try await finally {
            await network.stop()
        } after: {
            try await body(
                BenchCluster(
                    cluster: LocalCluster(directory: network.directory), description: network.description,
                    addresses: network.addresses))
        }
    }

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

    /// Has a server end in good order, and returns when another process has taken its place and everything is on all
    /// servers again.
    func restart(_ server: String) async throws {
        guard let before = cluster.serverProcesses()[server] else { throw BenchFailure("there is no server \(server)") }
        kill(before, SIGTERM)
        try await wait(for: server, within: .seconds(120), every: .milliseconds(50)) {
            cluster.serverProcesses()[server].map { $0 != before } ?? false
        }
        try await waitForAll()
    }

    /// Kills the server that leads the stream of topics, starts it after a while, and returns as ``restart(_:)`` does.
    func killLeader(for outage: Duration) async throws {
        let name = try await cluster.leader()
        do {
            let rehearsed = try await cluster.stopServer(named: name)
            try await Task.sleep(for: outage)
            withExtendedLifetime(rehearsed) {}
        }
        try await cluster.awaitServer(named: name)
        try await waitForAll()
    }

    private func waitForAll() async throws {
        try await wait(for: "everything on all servers", within: .seconds(120), every: .milliseconds(50)) {
            (try? await cluster.directory.report().isWhole) == true
        }
    }
}
