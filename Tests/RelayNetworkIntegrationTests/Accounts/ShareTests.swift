import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What one user cannot take from the others, on real servers.
@Suite("Accounts: one user's share", .realProcesses)
struct ShareTests {
    private func make(_ count: Int, _ name: String, _ connection: NATSConnection, in network: TestNetwork) async throws
    {
        for number in 0..<count {
            try await network.jetStream(connection).createConsumer(
                ConsumerConfiguration(
                    name: "\(name)\(number)", filter: "\(network.description.hash).chat.a", isDurable: true),
                in: "local_stream")
        }
    }

    @Test(
        "B67: what a user takes beyond a share is deleted, others' stays, and a ban takes the rest",
        arguments: TestServers.all)
    func shares(server: String) async throws {
        let folder = try TemporaryFolder()
        try folder.network.prepare()
        let settings = #"{"users":{"consumers":20,"presenceEntries":64}}"#
        try PrivateFile.write(Array(settings.utf8), to: folder.network.settingsFile)
        try await TestNetwork.run(server: server, in: folder) { network in
            let keeper = JetStream.patient(try await network.connectAsNetwork())
            let (alice, bob) = (try await network.connect(as: "alice"), try await network.connect(as: "bob"))
            _ = try await network.jetStream(bob).publish(
                ByteBuffer(string: "{}"), to: "$KV.relay_here.bob.d.chat.a")
            for number in 0..<200 {
                _ = try await network.jetStream(alice).publish(
                    ByteBuffer(string: "{}"), to: "$KV.relay_here.alice.d.chat.\(number)")
            }
            func entries() async throws -> [String] {
                let state = try await keeper.streamInfo(PresenceBucket.stream, subjectsFilter: ">").state
                return Array((state.subjects ?? [:]).keys)
            }
            try await eventually("alice has lost hers") { try await entries().count <= 64 + 1 }
            #expect(try await entries().contains("$KV.relay_here.bob.d.chat.a"))

            try await make(3, "bob", bob, in: network)
            try await make(40, "alice", alice, in: network)
            func left(_ name: String) async throws -> Int {
                try await keeper.consumers(in: "local_stream").count { $0.name.hasPrefix(name) }
            }
            try await eventually("alice has her share") { try await left("alice") == 20 }
            #expect(try await left("bob") == 3)
            #expect(LogFile.tail(of: network.directory.hostLog, lines: 20).contains("user=alice"))
            try await NetworkAdministrator(directory: network.directory).ban(user: "alice")
            try await eventually("nothing of alice's is left") { try await left("alice") == 0 }
            #expect(try await left("bob") == 3)
            await bob.close()
            await keeper.connection.close()
        }
    }
}
