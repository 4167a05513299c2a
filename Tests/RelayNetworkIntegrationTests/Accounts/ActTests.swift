import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// An act of the administrator's on alice, what she sees of it while she is connected, and what holds from then on.
struct AdministratorAct: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let prepare: @Sendable (NetworkAdministrator) async throws -> Void
    let perform: @Sendable (NetworkAdministrator) async throws -> Void
    /// What a client of hers sees that was connected before.
    let isSeen: @Sendable (Journal) async throws -> Void
    /// What holds then, for that client or for one that has not been connected.
    let holds: @Sendable (TestNetwork, RelayClient) async throws -> Void

    private static let far: Int64 = 4_102_444_800

    static let all = [
        AdministratorAct(
            testDescription: "adding the user again with fewer topics",
            prepare: { _ = try await $0.add(user: "alice", rights: RightsChange(topics: [">"])) },
            perform: { _ = try await $0.add(user: "alice", rights: RightsChange(topics: ["chat.>"])) },
            isSeen: { try await renewed($0, because: nil) },
            holds: { _, client in
                try await connect(client)
                await #expect(throws: RelayError.notAuthorized("publishing to secret.x")) {
                    try await client.send(topic: "secret.x", message: "no", timeout: .seconds(60))
                }
                _ = try await client.send(topic: "chat.x", message: "yes", timeout: .seconds(60))
            }),
        AdministratorAct(
            testDescription: "an end that comes sooner than the one before",
            prepare: { _ = try await $0.add(user: "alice", expires: far) },
            perform: { try await $0.expire(user: "alice", at: NetworkAdministrator.now + 2) },
            // By the server's own clock, or, where the act itself took until then, by the administrator's word.
            isSeen: { try await ended($0, because: .accessExpired(nil)) },
            holds: { network, _ in
                let alice = try Credentials.load(
                    path: network.directory.credentialsPath(for: UserName("alice")))
                try await eventually("alice is kept out") { (try? await network.admits(alice)) == false }
                let end = try #require(try await network.administrator.users(named: "alice").first?.expires)
                #expect(end < far && NetworkAdministrator.now >= end)
            }),
        AdministratorAct(
            testDescription: "lifting a block",
            prepare: { _ = try await $0.add(user: "alice") },
            perform: {
                try await $0.blockApplication(reason: "closed for today")
                try await $0.unblockApplication()
            },
            isSeen: { try await ended($0, because: .appBlocked("closed for today")) },
            holds: { _, client in
                try await connect(client)
                _ = try await client.send(topic: "chat.x", message: "yes", timeout: .seconds(60))
            }),
        AdministratorAct(
            testDescription: "an end that is still to come",
            prepare: { _ = try await $0.add(user: "alice") },
            perform: { try await $0.expire(user: "alice", at: far, reason: "moving out") },
            isSeen: { try await renewed($0, because: "until 2100-01-01T00:00:00.000Z: moving out") },
            holds: { network, client in
                try await connect(client)
                _ = try await client.send(topic: "chat.x", message: "yes", timeout: .seconds(60))
                #expect(try await network.administrator.users(named: "alice").first?.expires == far)
                #expect(try network.directory.credentials(for: "alice").claims().expires == far)
            }),
    ]

    private static func connect(_ client: RelayClient) async throws {
        if client.status.state != .connected { try await client.connect(timeLimit: 60) }
    }

    private static func ended(_ journal: Journal, because reason: ConnectionReason) async throws {
        let end = try await journal.end()
        #expect(end.reason == reason)
    }

    private static func renewed(_ journal: Journal, because words: String?) async throws {
        let ended = try await journal.status("the end of the connection") { $0.state == .reconnecting }
        #expect(ended.reason == .permissionsChanged(words))
        try await journal.status("another connection") { $0.state == .connected && $0.recoveries == 1 }
    }
}

/// The administrator's acts, each on an open connection and after a restart.
@Suite("Administrator: each act, and for how long it holds", .realProcesses)
struct ActTests {
    @Test("An act takes effect on an open connection", arguments: TestServers.all, AdministratorAct.all)
    func connected(server: String, act: AdministratorAct) async throws {
        try await TestNetwork.run(server: server) { network in
            try await act.prepare(network.administrator)
            let client = try network.client()
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            try await act.perform(network.administrator)
            try await act.isSeen(journal)
            try await act.holds(network, client)
            await client.close()
        }
    }

    @Test("An act holds after a restart of host and server", arguments: TestServers.all, AdministratorAct.all)
    func restarted(server: String, act: AdministratorAct) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            try await act.prepare(network.administrator)
            // The server has had to do with her.
            try await network.connect(as: "alice").close()
            try await act.perform(network.administrator)
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client()
            try await act.holds(network, client)
            await client.close()
        }
    }
}
