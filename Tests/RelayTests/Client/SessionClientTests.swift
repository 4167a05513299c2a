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

    /// Waits until the session is given back, which a client that is closed waits a second for.
    private func isGivenBack() async throws {
        try await eventually("the session is given back") { entry?.headers["KV-Operation"] == "DEL" }
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
        try await isGivenBack()
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

    @Test("B18 a session whose renewal was stored without an answer is still renewed and given back")
    func lostAcknowledgement() async throws {
        let client = device("desk", .yield)
        try await client.connect()
        let session = try #require(await client.run { $0.login.claim })
        let renewed = try network.server.store(Self.subject, session.value)
        try await eventually("the client knows of its newest entry") {
            await client.run { $0.login.claim }?.revision == renewed
        }
        #expect(client.status.state == .connected)
        try await renewal(of: client)
        #expect(entry?.sequence == renewed + 1)
        await client.close()
        try await isGivenBack()
    }

    @Test("B18 with yield the session stays with the device that has it, until that one closes")
    func yielding() async throws {
        let desk = device("desk", .yield)
        try await desk.connect()
        let laptop = device("laptop", .yield)
        await #expect(throws: RelayError.connection(.kickedByOtherDevice("desk"))) { try await laptop.connect() }
        #expect(laptop.status.state == .disconnected && laptop.status.reason == .kickedByOtherDevice("desk"))
        #expect(desk.status.state == .connected)
        #expect(await holds(desk))
        await desk.close()
        try await laptop.connect()
        #expect(await holds(laptop))
        await laptop.close()
    }

    @Test("B18 with take-over the session goes to the device that connects, and each device learns which one has it")
    func takingOver() async throws {
        let desk = device("desk", .takeOver)
        try await desk.connect()
        let laptop = device("laptop", .takeOver)
        try await laptop.connect()
        try await desk.state(is: .disconnected)
        #expect(desk.status.reason == .kickedByOtherDevice("laptop"))
        // What the one closes that has lost it takes nothing from the other one.
        await desk.close()
        #expect(laptop.status.state == .connected)
        #expect(await holds(laptop))
        try await desk.connect()
        try await laptop.state(is: .disconnected)
        #expect(laptop.status.reason == .kickedByOtherDevice("desk"))
        #expect(await holds(desk))
        await desk.close()
    }
}
