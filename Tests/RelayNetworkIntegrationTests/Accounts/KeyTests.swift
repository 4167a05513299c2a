import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// Keys of one user, on real servers.
@Suite("Keys of users: revoked at once and for ever", .realProcesses)
struct KeyTests {
    @Test("B57 a key's connections end and are told why; no later act lets it in", arguments: TestServers.all)
    func one(server: String) async throws {
        let folder = try TemporaryFolder()
        let (lost, kept) = try await TestNetwork.run(server: server, in: folder) { network in
            let administrator = network.administrator
            let lost = try await administrator.add(user: "alice")
            let kept = try await administrator.makeKey(of: "alice").credentials
            let client = try network.client(credentials: RelayCredentials(lost))
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            let other = try network.client(credentials: RelayCredentials(kept))
            let others = Journal(other)
            try await other.connect(timeLimit: 60)
            let raw = try await network.connect(lost)
            let before = try await administrator.keys(of: "alice")
            #expect(before.map(\.lastUse) == [.connected, .connected])

            try await administrator.revoke(key: lost.keyPair.publicKey.text, of: "alice", reason: "lost laptop")
            let status = try await journal.end()
            #expect(status.reason == .credentialsRevoked("lost laptop"))
            #expect(RongCloudCode(status)?.rawValue == 31_004 && NexconnConnectionStatus(status).rawValue == 15)
            #expect(await raw.waitUntilClosed() == .authorization(.userRevoked))
            #expect(try await !network.admits(lost))
            // The other key has not noticed.
            _ = try await other.send(topic: "chat.room", message: "still here", timeout: .seconds(60))
            #expect(others.statuses.allSatisfy { $0.reason == nil }, "\(others.statuses)")
            try await eventually("the end of the connections is known") {
                guard case .ended(let time)? = try await administrator.keys(of: "alice").first?.lastUse else {
                    return false
                }
                return abs(time - NetworkAdministrator.now) < 300
            }
            await other.close()

            try await administrator.expire(user: "alice", at: 4_102_444_800)
            try await administrator.ban(user: "alice")
            try await administrator.unban(user: "alice")
            _ = try await administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            try await administrator.blockApplication()
            try await administrator.unblockApplication()
            #expect(try await !network.admits(lost))
            #expect(try await network.admits(kept))
            return (lost, kept)
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            #expect(try await !network.admits(lost))
            #expect(try await network.admits(kept))
            try await network.administrator.revokeAllKeys(of: "alice")
            #expect(try await !network.admits(kept))
            #expect(try await network.admits(network.administrator.makeKey(of: "alice").credentials))
        }
    }
}
