import NATS
import Relay
import TestSupport
import Testing

/// A client that knows one server of a cluster.
@Suite("Client: a cluster", .realClusters)
struct ClusterClientTests {
    /// Runs the body with a client that is connected to the first of two servers and knows of the second from it.
    private func withCluster(
        _ binary: NATSServerBinary,
        _ body: (_ first: NATSServerProcess, _ client: RelayClient, _ statuses: Collector<ConnectionStatus>)
            async throws -> Void
    ) async throws {
        let first = try await TestCluster.start(binary, name: "first", grace: "20s")
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([first.url])), namespace: ClientFixture.namespace,
            reconnect: .rongcloud)
        configuration.followsNetwork = false
        configuration.dialTimeout = .seconds(60)
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 60)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        let second = try await TestCluster.start(binary, name: "second", joining: first)
        try await eventually("the second server is known", deadline: .seconds(60)) {
            await client.knownServers.contains { $0.port == second.port }
        }
        try await body(first, client, statuses)
        #expect(await client.serverName == "second")
        await client.close()
        withExtendedLifetime(second) {}
    }

    @Test("A server that dies is replaced by one that it named", arguments: NATSServerProcess.binaries)
    func death(binary: NATSServerBinary) async throws {
        try await withCluster(binary) { first, client, statuses in
            try await first.kill9()
            try await statuses.wait(for: "the other server", deadline: .seconds(60)) {
                $0.contains { $0.state == .connected && $0.recoveries == 1 }
            }
        }
    }

    @Test("A server that shuts down in order is left at once", arguments: NATSServerProcess.binaries)
    func lameDuck(binary: NATSServerBinary) async throws {
        try await withCluster(binary) { first, client, statuses in
            try await TestCluster.lameDuck(first)
            try await statuses.wait(for: "the other server", deadline: .seconds(60)) {
                $0.contains { $0.state == .connected && $0.recoveries == 1 }
            }
            let reason = await statuses.elements.first { $0.state == .reconnecting }?.reason
            #expect(reason == .connectionLost("the server is shutting down"))
        }
    }
}
