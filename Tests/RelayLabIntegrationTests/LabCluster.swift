import Foundation
import NIOConcurrencyHelpers
import Relay
import RelayLab
import RelayNetwork
import TestSupport

/// Three servers with a network on them, and the server's side of a rehearsal: the leader of the topics' stream dies,
/// and comes back.
final class LabCluster: LabServerSide {
    /// Where the servers are.
    let addresses: [ServerAddress]
    /// Of a user of the network.
    let credentials: RelayCredentials
    private let cluster: TestOperatorCluster
    private let stopped = NIOLockedValueBox<NATSServerProcess?>(nil)

    private init(_ cluster: TestOperatorCluster, _ credentials: RelayCredentials) throws {
        self.cluster = cluster
        self.credentials = credentials
        addresses = try RelayConfiguration.addresses(cluster.servers.map(\.url))
    }

    /// Runs the body on a cluster, and ends everything of it however it went.
    static func run<Value: Sendable>(
        _ binary: NATSServerBinary, _ body: (LabCluster) async throws -> Value
    ) async throws -> Value {
        let cluster = try await TestOperatorCluster.start([binary, binary, binary])
        defer { cluster.close() }
        let folder = try TemporaryDirectory("lab-cluster")
        try cluster.operatorKey.withSeedText {
            try TestOperatorCluster.write($0 + "\n", to: folder.path("operator.nk"))
        }
        try TestOperatorCluster.write(cluster.administrator.fileText(), to: folder.path("sys.creds"))
        let directory = NetworkDirectory(path: folder.path("team"))
        var options = NetworkProvision.Options()
        options.servers = cluster.servers.map(\.url)
        options.replicas = 3
        options.operatorKeyFile = folder.path("operator.nk")
        options.systemCredentialsFile = folder.path("sys.creds")
        let report = try await NetworkProvision("team", directory: directory, options: options).run()
        guard report.isComplete else { throw TestFailure("\(report)") }
        var quiet = NetworkServing.Options()
        quiet.handlesSignals = false
        let serving = NetworkServing(try ServiceAccess(path: directory.servicesFile), options: quiet)
        let services = Task { try await serving.run() }
        let result: Result<Value, any Error>
        do {
            let user = try await NetworkAdministrator(directory: directory).add(
                user: "lab", rights: RightsChange(topics: [">"]))
            result = .success(try await body(LabCluster(cluster, RelayCredentials(user))))
        } catch {
            result = .failure(error)
        }
        services.cancel()
        _ = try? await services.value
        return try result.get()
    }

    func perform(_ act: LabAct) async throws {
        switch act.name {
        case .stopLeader:
            var leader: NATSServerProcess?
            try await eventually("a leader of the topics' stream", deadline: .seconds(60)) {
                leader = try await self.leader()
                return leader != nil
            }
            guard let leader else { return }
            stopped.withLockedValue { $0 = leader }
            try await leader.kill9()
        case .startLeader:
            let server = stopped.withLockedValue { server in
                defer { server = nil }
                return server
            }
            try await server?.restart()
        default: throw LabActError.notHere(act.name)
        }
    }

    /// The server that leads the topics' stream, as it says itself; nil while none does.
    private func leader() async throws -> NATSServerProcess? {
        let answers = try await cluster.answers(
            to: "$SYS.REQ.SERVER.PING.JSZ", #"{"accounts":true,"streams":true}"#, count: cluster.servers.count)
        for answer in answers {
            let name = (answer["server"] as? [String: Any])?["name"] as? String
            let accounts = (answer["data"] as? [String: Any])?["account_details"] as? [[String: Any]] ?? []
            let streams = accounts.flatMap { $0["stream_detail"] as? [[String: Any]] ?? [] }
            let leads = streams.contains { stream in
                stream["name"] as? String == "team_stream"
                    && (stream["cluster"] as? [String: Any])?["leader"] as? String == name
            }
            if leads {
                return cluster.servers.enumerated().first { "s\($0.offset + 1)" == name }?.element
            }
        }
        return nil
    }
}
