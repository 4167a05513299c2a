import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What the client core makes of the administrator's acts, on the network that does them.
@Suite("Administrator: Parley's own client", .realProcesses)
struct ClientEndTests {
    /// A connected client, and its statuses from then on.
    private func client(
        _ user: String, on network: TestNetwork
    ) async throws -> (RelayClient, AsyncStream<ConnectionStatus>) {
        let credentials = try network.directory.credentials(for: user)
        let client = RelayClient(
            configuration: RelayConfiguration(
                servers: .fixed([try ServerAddress(parsing: network.description.url)]),
                credentials: RelayCredentials(credentials), user: user, followsNetwork: false))
        let statuses = client.statuses
        try await client.connect(timeLimit: 60)
        return (client, statuses)
    }

    /// The reason with which a client's statuses come to an end.
    private func end(_ statuses: AsyncStream<ConnectionStatus>) async -> ConnectionReason? {
        for await status in statuses where status.state == .disconnected { return status.reason }
        return nil
    }

    @Test(
        "B17: the client leaves for the reason that it was sent, even if the server cannot close it",
        arguments: TestServers.all)
    func reasons(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let administrator = network.administrator
            let (kicked, kickStatuses) = try await client("alice", on: network)
            try await administrator.kick(user: "alice", reason: "tea")
            #expect(await end(kickStatuses) == .kicked(by: "root", reason: "tea"))
            let (again, _) = try await client("alice", on: network)
            await again.close()

            let (banned, banStatuses) = try await client("bob", on: network)
            try await administrator.ban(user: "bob", reason: "spam")
            #expect(await end(banStatuses) == .banned("spam"))

            let (closed, closedStatuses) = try await client("carol", on: network)
            try await administrator.deactivate(user: "carol", reason: "left us")
            #expect(await end(closedStatuses) == .deactivated("left us"))

            let (blocked, blockStatuses) = try await client("dave", on: network)
            try await administrator.blockApplication(reason: "closed for today")
            #expect(await end(blockStatuses) == .appBlocked("closed for today"))
            for client in [kicked, banned, closed, blocked] { await client.close() }
        }
    }
}
