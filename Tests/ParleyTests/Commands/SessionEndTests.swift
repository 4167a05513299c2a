import NATS
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Commands: the end of a session", .realProcesses)
struct SessionEndTests {
    private func client(of server: MemoryServer, _ reconnect: ReconnectPolicy = .parley) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([ServerAddress(host: "memory")]), user: "alice",
            namespace: RelayConfiguration.Namespace(name: "test", hash: "h4sh"), sessions: .exclusive(.yield),
            followsNetwork: false, dialTimeout: .seconds(60))
        configuration.reconnect = reconnect
        return RelayClient(
            configuration: configuration,
            surroundings: Surroundings(
                dial: { (address, options) async throws(NATSError) in try await server.connect(address, options) }))
    }

    private func server() throws -> MemoryServer {
        let server = MemoryServer()
        try server.createStream("test_stream", subjects: ["h4sh.>"])
        try server.createBucket("relay_sessions")
        return server
    }

    @Test("What a command throws closes its client, so that an exclusive session is free at once")
    func failure() async throws {
        let server = try server()
        let client = client(of: server)
        try await client.connect()
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == false)
        let failure = RelayError.notAuthorized("reading chat.secret")
        await #expect(throws: failure) { try await client.whileInSession { throw failure } }
        #expect(client.status.state == .disconnected)
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == true)
    }

    @Test("A session whose time to reconnect has passed says what its last attempt failed with")
    func passedWindow() async throws {
        let server = try server()
        let policy = ReconnectPolicy(schedule: [.milliseconds(5)], window: .seconds(1))
        let client = client(of: server, policy)
        try await client.connect()
        server.refuseDials(with: .tls("unknown authority"))
        server.disconnectAll()
        await #expect {
            try await client.whileInSession { try await Task.sleep(for: .seconds(600)) }
        } throws: { error in
            guard let failure = error as? CommandFailure else { return false }
            return failure.code == 69 && failure.text.contains("did not succeed in time")
                && failure.text.contains("unknown authority")
        }
    }

    @Test("A call without a connection says why there is none")
    func explained() async throws {
        let server = try server()
        let client = client(of: server, ReconnectPolicy(schedule: [.milliseconds(5)]))
        #expect(client.explained(.notConnected).text == "There is no connection.")
        try await client.connect()
        #expect(client.explained(.timeout("A call")) == CommandFailure(.timeout("A call")))
        server.refuseDials(with: .connectionRefused("memory"))
        server.disconnectAll()
        try await eventually("the failed attempt") { client.status.reason?.words.contains("othing answers") == true }
        for error in [RelayError.notConnected, .timeout("A call"), .needsConnection("A call")] {
            let failure = client.explained(error)
            #expect(failure.text.contains("othing answers at memory") && failure.code == CommandFailure(error).code)
        }
        #expect(client.explained(.busy("A call")) == CommandFailure(.busy("A call")))
        await client.close()
    }
}
