import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What a client makes of the administrator's acts.
@Suite("Network: the administrator's acts, as a client sees them", .realProcesses)
struct AdministratorReasonTests {
    /// An act on a user, and what that user's client says of it.
    private struct Act: Sendable {
        let reason: ConnectionReason
        let words: String
        let nexconn: Int
        let rongCloud: Int
        let perform: @Sendable (NetworkAdministrator, String) async throws -> Void

        static let all = [
            Act(
                reason: .kicked(by: "root", reason: "maintenance"), words: "Disconnected by root (maintenance).",
                nexconn: 6, rongCloud: 31_010, perform: { try await $0.kick(user: $1, reason: "maintenance") }),
            Act(
                reason: .banned("spam"), words: "This user is banned (spam). Ask the network's administrator.",
                nexconn: 16, rongCloud: 31_009, perform: { try await $0.ban(user: $1, reason: "spam") }),
            Act(
                reason: .deactivated("left the company"),
                words: "This account was deactivated (left the company). Ask the network's administrator.",
                nexconn: 19, rongCloud: 31_029,
                perform: { try await $0.deactivate(user: $1, reason: "left the company") }),
            Act(
                reason: .appBlocked("closed for today"),
                words: "This application is blocked on the network (closed for today). "
                    + "Ask the network's administrator.",
                nexconn: 11, rongCloud: 31_008,
                perform: { network, _ in try await network.blockApplication(reason: "closed for today") }),
        ]
    }

    @Test(
        "B17 a client leaves for the reason that it was sent, and comes back where nothing keeps it out",
        arguments: TestServers.all)
    func acts(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            for (number, act) in Act.all.enumerated() {
                let user = "user\(number)"
                let client = try network.client(as: user)
                let journal = Journal(client)
                try await client.connect(timeLimit: 60)
                try await act.perform(network.administrator, user)
                let status = try await journal.end()
                #expect(status.reason == act.reason && status.reason?.isFinal == true)
                #expect(status.reason?.words == act.words)
                #expect(NexconnConnectionStatus(status).rawValue == act.nexconn)
                #expect(RongCloudCode(status)?.rawValue == act.rongCloud)
                try await journal.heard([.connected, .disconnected])
                if case .kicked = act.reason { try await client.connect(timeLimit: 60) }
                await client.close()
            }
        }
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

    @Test("Causes that only a vendor's network has arrive by a control message")
    func codes() async throws {
        let causes: [(code: Int, reason: ConnectionReason, nexconn: Int)] = [
            (31_028, .proxyUnavailable(""), 17), (34_245, .proxyUnavailable(""), 17), (-1, .unknown(-1), -1),
            (31_004, .authenticationFailed(""), 15), (31_002, .invalidCredentials(""), 15),
            (4_711, .unknown(4_711), 4_711), (19, .deactivated(nil), 19), (16, .banned(nil), 16),
        ]
        try await TestNetwork.run(server: TestServers.all[0]) { network in
            for (code, reason, nexconn) in causes {
                let client = try network.client()
                let journal = Journal(client)
                try await client.connect(timeLimit: 60)
                try await network.administrator.send(ControlMessage(kind: .code(code)), to: "alice")
                let status = try await journal.end()
                #expect(status.reason == reason && NexconnConnectionStatus(status).rawValue == nexconn, "\(code)")
                await client.close()
            }
        }
    }
}
