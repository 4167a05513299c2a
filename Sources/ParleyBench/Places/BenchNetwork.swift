import NATS
import Platform
import Relay
import RelayLab
import RelayNetwork

/// A network for one run: a private one, or one on three servers.
extension LabNetwork {
    /// Runs the body on its own network; all processes have ended and the folder is deleted when this returns.
    static func run<R>(onThree: Bool = false, _ body: (LabNetwork) async throws -> R) async throws -> R {
        let network = onThree ? try await startCluster() : try await start()
        return try await finally {
            await network.stop()
        } after: {
            try await body(network)
        }
    }

    /// The parameters of a run as a user of the network's first server.
    func parameters(_ user: Credentials, _ words: Words = Words([])) -> WireParameters {
        var parameters = WireParameters(addresses[0], words)
        parameters.credentials = user
        return parameters
    }

    /// The seconds it takes to connect as a user, which loads the user's account.
    func login(_ user: Credentials) async throws -> Double { try await parameters(user).login(within: .seconds(30)) }

    /// Credentials of a user of the network's own account, without imports, made with its key: it issues none itself.
    func ownCredentials() throws -> Credentials {
        func key(_ file: String) throws -> String {
            try String(contentsOfFile: "\(directory.path)/keys/\(file)", encoding: .utf8)
        }
        let signer = try NKeyPair(seed: key("signing.nk"))
        let account = try NKey(AccountClaims.verify(key("account.jwt")).subject)
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "~bench", grant: UserGrant(issuerAccount: account))
        return try Credentials(jwt: claims.encode(signedBy: signer), keyPair: pair)
    }

    func credentials(of user: String) async throws -> Credentials {
        guard isCluster else { return try directory.credentials(for: user) }
        return try Credentials.load(path: await cluster.credentials(for: user))
    }

    func client(_ user: String, _ change: (inout RelayConfiguration) -> Void = { _ in }) async throws -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed(addresses), credentials: RelayCredentials(try await credentials(of: user)), user: user,
            namespace: .init(name: description.namespace, hash: description.hash, apiPrefix: description.api))
        configuration.followsNetwork = false
        change(&configuration)
        return RelayClient(configuration: configuration)
    }

    var cluster: LocalCluster { LocalCluster(directory: directory) }
    var isCluster: Bool { addresses.count > 1 }

    /// Restarts a server in order; returns once another process and all copies are there.
    func restart(_ server: String) async throws {
        guard let before = cluster.serverProcesses()[server] else { throw BenchFailure("there is no server \(server)") }
        kill(before, SIGTERM)
        try await wait(for: server, within: .seconds(120), every: .milliseconds(50)) {
            cluster.serverProcesses()[server].map { $0 != before } ?? false
        }
        try await waitForAll()
    }

    /// Kills the leader of the stream of topics, restarts it after a while, and returns as ``restart(_:)`` does.
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
            (try? await directory.report().isWhole) == true
        }
    }
}
