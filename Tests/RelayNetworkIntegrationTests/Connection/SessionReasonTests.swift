import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// One session for one user.
@Suite("Network: exclusive sessions", .realProcesses)
struct SessionReasonTests {
    private func device(_ name: String, _ policy: KickPolicy, _ network: TestNetwork) throws -> RelayClient {
        try network.client {
            $0.sessions = .exclusive(policy)
            $0.device = name
        }
    }

    @Test(
        "B18 the device that takes over stays, the other one learns which it is, and who yields stays out meanwhile",
        arguments: TestServers.all)
    func takeOver(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let laptop = try device("laptop", .takeOver, network)
            let journal = Journal(laptop)
            try await laptop.connect()
            let phone = try device("phone", .takeOver, network)
            try await phone.connect()
            let status = try await journal.end()
            #expect(status.reason == .kickedByOtherDevice("phone"))
            #expect(NexconnConnectionStatus(status).rawValue == 6)
            #expect(RongCloudCode(status)?.rawValue == 31_023)
            try await journal.heard([.connected, .disconnected])
            #expect(phone.status.state == .connected)
            // The one that was displaced may come back, and displaces in its turn.
            let second = Journal(phone)
            try await laptop.connect()
            #expect(try await second.end().reason == .kickedByOtherDevice("laptop"))

            let tablet = try device("tablet", .yield, network)
            await #expect(throws: RelayError.connection(.kickedByOtherDevice("laptop"))) { try await tablet.connect() }
            #expect(laptop.status.state == .connected)
            // A session that was given back is free at once.
            await laptop.close()
            try await eventually("the session is free") {
                do throws(RelayError) { try await tablet.connect() } catch { return false }
                return true
            }
            await tablet.close()
        }
    }
}
