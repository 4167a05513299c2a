import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

/// The examples of the articles do what the articles say.
@Suite("Documentation: the examples", .realProcesses)
struct ExampleTests {
    @Test("B10 B12 a dial under way is Connecting, and a client at rest Unconnected")
    func connecting() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration())
        #expect(NexconnConnectionStatus(client.status) == .unconnected)
        #expect(SupabaseStatus(client.status) == .disconnected && RongCloudCode(client.status) == nil)
        let statuses = client.statuses
        try await client.connect(timeLimit: 60)
        var seen: [NexconnConnectionStatus] = []
        for await status in statuses {
            if seen.last != NexconnConnectionStatus(status) { seen.append(NexconnConnectionStatus(status)) }
            if status.state == .connected { break }
        }
        #expect(seen == [.unconnected, .connecting, .connected])
        #expect(SupabaseStatus(client.status) == .connected)
        await client.close()
    }

    // MARK: Running the examples

    private func token() throws -> (token: String, pair: NKeyPair) {
        let pair = NKeyPair.generate(.user)
        let claims = UserClaims(subject: pair.publicKey, name: "alice", grant: UserGrant())
        return (try claims.encode(signedBy: .generate(.account)), pair)
    }

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
        let (token, pair) = try token()
        try await chatAsRelayX(apiKey: token, secret: pair.withSeedText { $0 }, servers: [fixture.server.url])
        let stored = try await fixture.withJetStream { try await $0.streamInfo("test_stream").state.messages }
        #expect(stored == 1)
        answering.cancel()
        await service.close()
    }

    @Test("B7 Nexconn's and RongCloud's examples connect and answer once")
    func handlers() async throws {
        let fixture = try await ClientFixture.start()
        let client = RelayClient(configuration: try fixture.configuration(user: nil))
        let answers = NIOLockedValueBox<[String]>([])
        let token = try token().token
        connectAsNexconn(client, token: token) { user, status in
            answers.withLockedValue { $0.append("\(user ?? "nobody") \(status)") }
        }
        try await eventually("Nexconn's answer") { answers.withLockedValue(\.self) == ["alice 0"] }
        connectAsRongCloud(client, token: token) { outcome in answers.withLockedValue { $0.append(outcome) } }
        try await eventually("RongCloud's answer") {
            answers.withLockedValue(\.self) == ["alice 0", "welcome, alice"]
        }
        await client.close()
    }

    @Test("B5 the provider's example asks for a token first")
    func provider() async throws {
        let asked = NIOLockedValueBox(0)
        let connecting = Task {
            try await connectWithProvider(servers: ["nats://127.0.0.1:1"]) {
                asked.withLockedValue { $0 += 1 }
                throw RelayError.cancelled
            }
        }
        await #expect(throws: RelayError.connection(.invalidCredentials("the token provider gave none"))) {
            _ = try await connecting.value
        }
        #expect(asked.withLockedValue(\.self) == 1)
    }
}
