import NATS
import Platform
import Relay

/// A network on three servers, for a chaos run: its clients log in as one user, and their messages go through that
/// user's account. A server that is killed is started again by the cluster's host, as fast as that does it.
final class ChaosNetwork: ChaosSite {
    private let network: BenchCluster
    private let credentials: String

    init(_ network: BenchCluster) async throws {
        self.network = network
        credentials = try await network.cluster.credentials(for: "chaos")
    }

    var addresses: [ServerAddress] { network.addresses }
    var version: String { network.description.serverVersion }
    var words: [String] {
        let names = network.description
        return ["namespace=\(names.namespace)", "hash=\(names.hash)", "api=\(names.api)", "creds=\(credentials)"]
    }

    func killLeader(for outage: Duration) async throws {
        try await network.restart(network.leader(), by: SIGKILL)
    }

    func state() async throws -> StreamInfo.State {
        let stream = "\(network.description.namespace)_stream"
        return try await asking { try await $0.streamInfo(stream).state }
    }

    func tally(_ plan: ChaosPlan, through last: UInt64) async throws -> ChaosTally {
        let stream = "\(network.description.namespace)_stream"
        return try await .count(plan, through: last, hash: network.description.hash) { start in
            try await asking {
                try await $0.page(of: stream, from: .sequence(start), limit: 1_000, bytes: 8 << 20).messages
            }
        }
    }

    /// Asks one server after the other, for a minute at most, until one answers.
    private func asking<Value: Sendable>(
        _ question: @Sendable (JetStream) async throws -> Value
    ) async throws -> Value {
        let login = Authentication(try Credentials.load(path: credentials))
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            var failure: (any Error)?
            for address in addresses {
                do {
                    let connection = try await NATSConnection.connect(
                        to: address,
                        options: ConnectOptions(
                            name: "parley-bench", authentication: login, inboxPrefix: "_INBOX_chaos",
                            connectTimeout: .seconds(5)))
                    defer { connection.closeNow() }
                    return try await question(JetStream(connection, apiPrefix: network.description.api))
                } catch {
                    failure = error
                }
            }
            if let failure, ContinuousClock.now >= deadline { throw failure }
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
