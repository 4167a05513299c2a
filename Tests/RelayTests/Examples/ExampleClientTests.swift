import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

/// The examples of the articles do what the articles say.
@Suite("Documentation: the examples, over a network in memory", .realProcesses)
struct ExampleClientTests {
    @Test("B7 Nexconn's and RongCloud's examples connect and answer once")
    func handlers() async throws {
        let network = try MemoryNetwork()
        let client = network.client(network.configuration(user: nil))
        let answers = Collected()
        let token = try UserToken.text()
        connectAsNexconn(client, token: token) { user, status in answers.add("\(user ?? "nobody") \(status)") }
        try await eventually("Nexconn's answer") { answers.all == ["alice 0"] }
        connectAsRongCloud(client, token: token) { outcome in answers.add(outcome) }
        try await eventually("RongCloud's answer") { answers.all == ["alice 0", "welcome, alice"] }
        #expect(network.server.dials == 1)
        await client.close()
    }

    /// Nothing is dialled: there is no token.
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
