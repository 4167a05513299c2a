import TestSupport
import Testing

@testable import Relay

@Suite("Client: exclusive sessions, over a network in memory", .realProcesses)
struct SessionClientTests {
    private static let stream = "KV_" + SessionClaim.bucket
    private static let subject = "$KV.\(SessionClaim.bucket).\(SessionClaim.key(for: MemoryNetwork.user))"

    private let network: MemoryNetwork

    init() throws {
        network = try MemoryNetwork()
        try network.server.createBucket(SessionClaim.bucket)
    }

    /// The newest entry of the user.
    private var entry: MemoryServer.Message? {
        network.server.messages(in: Self.stream).last { $0.subject == Self.subject }
    }

    private func device(_ name: String, _ policy: KickPolicy) -> RelayClient {
        var configuration = network.configuration()
        configuration.sessions = .exclusive(policy)
        configuration.device = name
        return network.client(configuration)
    }

    /// Whether the newest entry is this client's, and the client knows it.
    private func holds(_ client: RelayClient) async -> Bool {
        guard let claim = await client.run({ $0.login.claim }), let newest = entry else { return false }
        return newest.payload == claim.value && newest.sequence == claim.revision
    }

    /// Lets the time come at which the client writes its entry again, and waits until it has.
    private func renewal(of client: RelayClient) async throws {
        let revision = await client.run { $0.login.claim }?.revision ?? 0
        try await eventually("the wait for the renewal") { network.time.waits.contains(SessionClaim.renewal) }
        network.time.advance(by: SessionClaim.renewal)
        try await eventually("the renewal") { await client.run { $0.login.claim }?.revision ?? 0 > revision }
    }

    @Test("B18 a session is renewed again and again before its entry is forgotten, and given back at the end")
    func renewals() async throws {
        var configuration = network.configuration()
        configuration.sessions = .exclusive(.takeOver)
        configuration.device = "desk"
        let client = try await network.connected(configuration)
        #expect(entry?.sequence == 1)
        for revision in UInt64(2)...4 {
            try await renewal(of: client)
            #expect(entry?.sequence == revision)
        }
        // An entry that was still forgotten is made again.
        network.server.purge(Self.stream)
        #expect(entry == nil)
        try await renewal(of: client)
        let claim = try #require(await client.run { $0.login.claim })
        let newest = try #require(entry)
        #expect(newest.payload == claim.value && newest.sequence == claim.revision)
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        await client.close()
        // Which a client that is closed waits a second for.
        try await eventually("the session is given back") { entry?.headers["KV-Operation"] == "DEL" }
        #expect(await client.run { $0.login.claim }?.revision == nil)
    }

    @Test("B18 a device that comes back from an outage keeps its own session, and yields to another one's")
    func outages() async throws {
        let desk = device("desk", .yield)
        try await desk.connect()
        network.server.disconnectAll()
        try await network.attemptNow(desk)
        try await desk.state(is: .connected)
        #expect(desk.status.recoveries == 1)
        #expect(await holds(desk))
        network.server.disconnectAll()
        try await desk.state(is: .reconnecting)
        let laptop = device("laptop", .takeOver)
        try await laptop.connect()
        try await network.attemptNow(desk)
        try await desk.state(is: .disconnected)
        #expect(desk.status.reason == .kickedByOtherDevice("laptop"))
        #expect(laptop.status.state == .connected)
        #expect(await holds(laptop))
        await laptop.close()
    }

    @Test("B18 a network that keeps no sessions says so at once, and is tried again")
    func noBucket() async throws {
        network.server.deleteStream(Self.stream)
        let client = device("desk", .yield)
        await client.beginConnecting()
        try await eventually("the reason") { client.status.reason != nil }
        #expect(client.status.reason?.words.contains("keeps no sessions") == true, "\(client.status.words)")
        try network.server.createBucket(SessionClaim.bucket)
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        #expect(await holds(client))
        await client.close()
    }
}
