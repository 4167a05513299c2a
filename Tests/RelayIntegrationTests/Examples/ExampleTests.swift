import NATS
import Relay
import TestSupport
import Testing

/// An example that makes its own client, and so reaches a real server.
@Suite("Documentation: the examples", .realProcesses)
struct ExampleTests {
    @Test("RelayX's example connects, stores its message and ends")
    func relayX() async throws {
        let fixture = try await ClientFixture.start()
        let service = try await NATSConnection.connect(
            to: try ServerAddress(parsing: fixture.server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let questions = try service.subscribe(to: "accounts.user.get_namespace")
        try await service.flush()
        let answering = Task {
            let names = #"{"namespace":"test","hash":"h4sh"}"#
            let answer = #"{"status":"NAMESPACE_RETRIEVE_SUCCESS","data":\#(names)}"#
            for try await question in questions {
                if let reply = question.reply { try service.publish(Array(answer.utf8), to: reply) }
            }
        }
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "alice", grant: UserGrant())
        let token = try claims.encode(signedBy: .generate(.account))
        try await chatAsRelayX(apiKey: token, secret: pair.withSeedText { $0 }, servers: [fixture.server.url])
        let stored = try await fixture.withJetStream { try await $0.streamInfo("test_stream").state.messages }
        #expect(stored == 1)
        answering.cancel()
        await service.close()
    }
}
