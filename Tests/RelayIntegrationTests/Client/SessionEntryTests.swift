import NATS
import TestSupport
import Testing

@testable import Relay

/// The entry of a user's session in the network's bucket.
@Suite("Client: the entry of an exclusive session", .realProcesses)
struct SessionEntryTests {
    private func client(_ fixture: ClientFixture) throws -> RelayClient {
        var configuration = try fixture.configuration(reconnect: .rongcloud)
        configuration.sessions = .exclusive(.yield)
        configuration.followsNetwork = false
        // Long enough for a server that answers, on a busy machine too: what is asked here is never answered.
        return RelayClient(configuration: configuration, surroundings: Surroundings(answerLimit: .seconds(10)))
    }

    @Test("B18 a network without sessions is distinguished from one whose sessions are slow", arguments: [true, false])
    func slowBucket(exists: Bool) async throws {
        let fixture = try await ClientFixture.start()
        let silent = try await NATSConnection.connect(
            to: try ServerAddress(parsing: fixture.server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let stream = "KV_" + SessionClaim.bucket
        let questions = try silent.subscribe(to: "$JS.API.DIRECT.GET.\(stream).>")
        try await silent.flush()
        if exists {
            try await fixture.withJetStream {
                // Without direct access, so that the silence above is the only answer.
                _ = try await $0.createStream(
                    StreamConfiguration(name: stream, subjects: ["$KV.\(SessionClaim.bucket).>"]))
            }
        }
        let client = try client(fixture)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        await client.beginConnecting()
        try await statuses.wait(for: "a failed attempt") { $0.contains { $0.reason != nil } }
        let words = await statuses.elements.compactMap(\.reason?.words).first ?? ""
        #expect(words.contains("keeps no sessions") == !exists, "\(words)")
        await client.close()
        await silent.close()
        withExtendedLifetime(questions) {}
    }
}
