import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What a client makes of the administrator's acts.
@Suite("Network: the administrator's acts, as a client sees them", .realProcesses)
struct AdministratorReasonTests {
    /// Runs an act while alice is connected, and returns her last status and her events.
    private func act(
        on server: String, _ act: @Sendable (NetworkAdministrator) async throws -> Void,
        afterwards: @Sendable (TestNetwork, RelayClient) async throws -> Void = { _, _ in }
    ) async throws -> ConnectionStatus {
        try await TestNetwork.run(server: server) { network in
            let client = try network.client()
            let journal = Journal(client)
            try await client.connect()
            try await act(NetworkAdministrator(directory: network.directory, name: "root"))
            let status = try await journal.end()
            try await journal.heard([.connected, .disconnected])
            try await afterwards(network, client)
            await client.close()
            return status
        }
    }

    @Test("B17 a kicked client knows by whom and stays out until somebody connects it", arguments: TestServers.all)
    func kicked(server: String) async throws {
        let status = try await act(on: server) {
            try await $0.kick(user: "alice", reason: "maintenance")
        } afterwards: { _, client in
            try await client.connect(timeLimit: 60)
            #expect(client.status.state == .connected)
        }
        #expect(status.reason == .kicked(by: "root", reason: "maintenance"))
        #expect(status.reason?.words == "Disconnected by root (maintenance).")
        #expect(NexconnConnectionStatus(status).rawValue == 6)
        #expect(RongCloudCode(status)?.rawValue == 31_010)
    }

    @Test("B17 B60 a banned client knows why, at its next login too", arguments: TestServers.all)
    func banned(server: String) async throws {
        let status = try await act(on: server) {
            try await $0.ban(user: "alice", reason: "spam")
        } afterwards: { network, client in
            await #expect(throws: RelayError.connection(.banned("spam"))) { try await client.connect() }
            try await NetworkAdministrator(directory: network.directory).unban(user: "alice")
            try await client.connect(timeLimit: 60)
        }
        #expect(status.reason == .banned("spam"))
        #expect(NexconnConnectionStatus(status).rawValue == 16)
        #expect(RongCloudCode(status)?.rawValue == 31_009)
    }

    @Test("B17 B60 a client that missed the administrator's word hears it at the door", arguments: TestServers.all)
    func missed(server: String) async throws {
        // It listens where nobody speaks to it.
        try await TestNetwork.run(server: server) { network in
            let client = try network.client { $0.user = "somebody" }
            let journal = Journal(client)
            try await client.connect()
            try await NetworkAdministrator(directory: network.directory).ban(user: "alice", reason: "spam")
            #expect(try await journal.end().reason == .banned("spam"))
        }
    }

    @Test("B17 a deactivated user's client says so, and why", arguments: TestServers.all)
    func deactivated(server: String) async throws {
        let status = try await act(on: server) { try await $0.deactivate(user: "alice", reason: "left the company") }
        #expect(status.reason == .deactivated("left the company"))
        #expect(
            status.reason?.words
                == "This account was deactivated (left the company). Ask the network's administrator.")
        #expect(NexconnConnectionStatus(status).rawValue == 19)
        #expect(RongCloudCode(status)?.rawValue == 31_029)
    }

    @Test("B17 a blocked application ends every client, which says why", arguments: TestServers.all)
    func applicationBlocked(server: String) async throws {
        let status = try await act(on: server) { try await $0.blockApplication(reason: "closed for today") }
        #expect(status.reason == .appBlocked("closed for today"))
        #expect(
            status.reason?.words
                == "This application is blocked on the network (closed for today). Ask the network's administrator.")
        #expect(NexconnConnectionStatus(status).rawValue == 11)
        #expect(RongCloudCode(status)?.rawValue == 31_008)
    }

    @Test(
        "Causes that only a vendor's network has arrive by a control message",
        arguments: [
            (31_028, ConnectionReason.proxyUnavailable(""), 17), (34_245, .proxyUnavailable(""), 17),
            (-1, .unknown(-1), -1), (31_004, .authenticationFailed(""), 15), (31_002, .invalidCredentials(""), 15),
            (4_711, .unknown(4_711), 4_711),
            (19, .deactivated(nil), 19), (16, .banned(nil), 16),
        ])
    func codes(code: Int, reason: NATS.ConnectionReason, nexconn: Int) async throws {
        let status = try await act(on: TestServers.all[0]) {
            try await $0.send(ControlMessage(kind: .code(code)), to: "alice")
        }
        #expect(status.reason == reason)
        #expect(NexconnConnectionStatus(status).rawValue == nexconn)
    }

    @Test("A member of the network cannot end another one's session", arguments: TestServers.all)
    func forged(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let client = try network.client()
            try await client.connect()
            // The service may publish anywhere, as JetStream does for any user who asks it; only the account's key is
            // missing.
            let identity = try NetworkIdentity.open(in: network.directory)
            let service = try await network.connectAsNetwork()
            let now = Int64(1_700_000_000)
            let stranger = NKeyPair.generate(.account)
            let message = ControlMessage(kind: .banned, reason: "because")
            let subject = ControlMessage.subject(for: "alice")
            try service.publish(Array(#"{"kind":"banned"}"#.utf8), to: subject)
            try service.publish(message.encoded(for: "alice", signedBy: stranger, at: now), to: subject)
            // For somebody else, and long ago.
            try service.publish(message.encoded(for: "bob", signedBy: identity.signingKey, at: now), to: subject)
            try service.publish(message.encoded(for: "alice", signedBy: identity.signingKey, at: now), to: subject)
            try await service.flush()
            _ = try await client.ping()
            _ = try await client.ping()
            #expect(client.status.state == .connected)
            await client.close()
            await service.close()
        }
    }
}
