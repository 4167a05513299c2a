import NATS
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Commands: the end of a session", .realProcesses)
struct SessionEndTests {
    @Test("What a command throws closes its client, so that an exclusive session is free at once")
    func failure() async throws {
        let server = MemoryServer()
        try server.createStream("test_stream", subjects: ["h4sh.>"])
        try server.createBucket("relay_sessions")
        let configuration = RelayConfiguration(
            servers: .fixed([ServerAddress(host: "memory")]), user: "alice",
            namespace: RelayConfiguration.Namespace(name: "test", hash: "h4sh"), sessions: .exclusive(.yield),
            followsNetwork: false, dialTimeout: .seconds(60))
        let client = RelayClient(
            configuration: configuration,
            surroundings: Surroundings(
                dial: { (address, options) async throws(NATSError) in try await server.connect(address, options) }))
        try await client.connect()
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == false)
        let failure = RelayError.notAuthorized("reading chat.secret")
        await #expect(throws: failure) { try await client.whileInSession { throw failure } }
        #expect(client.status.state == .disconnected)
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == true)
    }
}
