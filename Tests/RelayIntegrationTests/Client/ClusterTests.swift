import NATS
import Relay
import TestSupport
import Testing

/// A client that knows one server of a cluster.
@Suite("Client: a cluster", .realProcesses)
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

    @Test("B30: lines wait while two of three servers are down, and come in order, once, when one of them is back")
    func noQuorum() async throws {
        let servers = try await TestCluster.startWithJetStream(3, NATSServerProcess.newestBinary)
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: servers[0].url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let jetStream = JetStream(connection, timeout: .seconds(2))
        let stream = StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"], replicas: 3)
        try await eventually("a stream with a copy on each server", deadline: .seconds(120)) {
            (try? await jetStream.createStream(stream)) != nil
        }
        let client = try await ClientFixture(server: servers[0]).client()
        let outcomes = Collector<PublishNews>()
        await outcomes.start(client.publishes)
        let topics = ["chat.a", "chat.b"]
        func submit(_ numbers: ClosedRange<Int>) throws {
            for number in numbers {
                for topic in topics { try client.enqueue(topic: topic, message: .int(Int64(number))) }
            }
        }
        try submit(1...1)
        try await outcomes.wait(for: "both lines", deadline: .seconds(120)) { $0.count { $0.state.isFinal } == 2 }

        for server in servers.dropFirst() { try await server.kill9() }
        // The first of them may meet a server that takes itself for the leader, the others one that knows better.
        try submit(2...20)
        try await eventually("a stream without a leader", deadline: .seconds(120)) {
            (try? await jetStream.streamInfo("test_stream")) == nil
        }
        try submit(21...40)
        #expect(client.queuedCount == 78)

        try await servers[1].restart()
        try await outcomes.wait(for: "all lines", deadline: .seconds(180)) { $0.count { $0.state.isFinal } == 80 }
        let ends = await outcomes.elements.map(\.state).filter(\.isFinal)
        #expect(
            ends.allSatisfy { state in
                if case .acknowledged(let sequence) = state { sequence > 0 } else { false }
            })
        for topic in topics {
            var stored: [String] = []
            // The copy that is read may lag behind for a moment.
            try await eventually("all lines of \(topic)", deadline: .seconds(120)) {
                stored = (try? await client.history(topic: topic, from: 1).map(\.text)) ?? []
                return stored.count >= 40
            }
            #expect(stored == (1...40).map(String.init))
        }
        #expect(client.queuedCount == 0)
        await client.close()
        await connection.close()
        for server in servers { server.close() }
    }
}
