import NATS
import Relay
import RelayFaults
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

    @Test("B18 the device that takes over stays, and the other one learns which it is", arguments: TestServers.all)
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
            await laptop.close()
        }
    }

    @Test("B18 who yields stays out as long as the other one is there", arguments: TestServers.all)
    func yield(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let laptop = try device("laptop", .yield, network)
            try await laptop.connect()
            let phone = try device("phone", .yield, network)
            await #expect(throws: RelayError.connection(.kickedByOtherDevice("laptop"))) { try await phone.connect() }
            #expect(laptop.status.state == .connected)
            // A session that was given back is free at once.
            await laptop.close()
            try await eventually("the session is free") {
                do throws(RelayError) { try await phone.connect() } catch { return false }
                return true
            }
            await phone.close()
        }
    }

    @Test("B18 after an outage the yielding device finds itself replaced and stays out", arguments: TestServers.all)
    func yieldAfterOutage(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let proxy = try await FaultProxy.start(target: network.address)
            let laptop = try network.client(server: proxy.address) {
                $0.sessions = .exclusive(.yield)
                $0.device = "laptop"
            }
            let journal = Journal(laptop)
            try await laptop.connect()
            try await proxy.set(.refuse)
            await proxy.cut()
            try await journal.status("the outage") { $0.state == .reconnecting }
            let phone = try device("phone", .takeOver, network)
            try await phone.connect()
            try await proxy.set(.passThrough)
            #expect(try await journal.end().reason == .kickedByOtherDevice("phone"))
            #expect(phone.status.state == .connected)
            await phone.close()
            await proxy.close()
        }
    }

    @Test("Shared sessions live side by side")
    func shared() async throws {
        try await TestNetwork.run(server: TestServers.all[0]) { network in
            let (one, other) = (try network.client(), try network.client())
            try await one.connect()
            try await other.connect()
            _ = try await one.ping()
            #expect(one.status.state == .connected && other.status.state == .connected)
            await one.close()
            await other.close()
        }
    }
}
