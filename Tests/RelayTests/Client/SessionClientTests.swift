import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: exclusive sessions, over a network in memory", .realProcesses)
struct SessionClientTests {
    private static let stream = "KV_" + SessionClaim.bucket
    private static let subject = "$KV.\(SessionClaim.bucket).\(SessionClaim.key(for: MemoryNetwork.user))"

    private func network() throws -> MemoryNetwork {
        let network = try MemoryNetwork()
        try network.server.createBucket(SessionClaim.bucket)
        return network
    }

    private func device(_ name: String, _ policy: KickPolicy, _ network: MemoryNetwork) -> RelayClient {
        var configuration = network.configuration()
        configuration.sessions = .exclusive(policy)
        configuration.device = name
        return network.client(configuration)
    }

    /// The newest entry of the user.
    private func entry(_ network: MemoryNetwork) -> MemoryServer.Message? {
        network.server.messages(in: Self.stream).last { $0.subject == Self.subject }
    }

    /// Waits until the session is given back, which a client that is closed waits a second for.
    private func isGivenBack(_ network: MemoryNetwork) async throws {
        try await eventually("the session is given back") { entry(network)?.headers["KV-Operation"] == "DEL" }
    }

    /// Whether the newest entry is this client's, and the client knows it.
    private func holds(_ client: RelayClient, _ network: MemoryNetwork) async -> Bool {
        guard let claim = await client.run({ $0.login.claim }), let newest = entry(network) else { return false }
        return newest.payload == claim.value && newest.sequence == claim.revision
    }

    @Test("B18 a session is renewed again and again before its entry is forgotten, and given back at the end")
    func renewals() async throws {
        let network = try network()
        let client = device("desk", .takeOver, network)
        try await client.connect()
        #expect(entry(network)?.sequence == 1)
        for revision in UInt64(2)...4 {
            try await renewal(of: client, network)
            #expect(entry(network)?.sequence == revision)
        }
        // An entry that was still forgotten is made again.
        network.server.purge(Self.stream)
        #expect(entry(network) == nil)
        try await renewal(of: client, network)
        #expect(await holds(client, network))
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        await client.close()
        try await isGivenBack(network)
        #expect(await client.run { $0.login.claim }?.revision == nil)
    }

    /// Lets the time come at which the client writes its entry again, and waits until it has.
    private func renewal(of client: RelayClient, _ network: MemoryNetwork) async throws {
        let revision = await client.run { $0.login.claim }?.revision ?? 0
        try await eventually("the wait for the renewal") { network.time.waits.contains(SessionClaim.renewal) }
        network.time.advance(by: SessionClaim.renewal)
        try await eventually("the renewal") { await client.run { $0.login.claim }?.revision ?? 0 > revision }
    }
}
