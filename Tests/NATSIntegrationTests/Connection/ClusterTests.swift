import TestSupport
import Testing

@testable import NATS

@Suite("Servers of a cluster", .realClusters)
struct ClusterTests {
    private func address(_ server: NATSServerProcess) -> String { "127.0.0.1:\(server.port)" }

    @Test(
        "are reported as they come and go, and before a server in lame duck mode closes",
        arguments: NATSServerProcess.binaries)
    func discovery(binary: NATSServerBinary) async throws {
        let first = try await TestCluster.start(binary, name: "first", grace: "20s")
        let connection = try await first.connect()
        #expect(connection.info.serverName == "first" && connection.info.cluster == "C")
        #expect(connection.info.clientID != nil && connection.info.clientAddress == "127.0.0.1")
        #expect(!connection.info.serverID.isEmpty && connection.info.isLameDuck != true)
        var events = connection.events.makeAsyncIterator()

        let second = try await TestCluster.start(binary, name: "second", joining: first)
        let both = Set([address(first), address(second)])
        while Set(connection.info.connectURLs ?? []) != both, let event = await events.next() {
            if case .closed(let error) = event { throw TestFailure("closed: \(String(describing: error))") }
        }
        #expect(Set(connection.info.connectURLs ?? []) == both)
        try await second.stop()
        try await eventually("one server") { connection.info.connectURLs == [address(first)] }
        #expect(connection.isOpen)
        try await second.restart()
        try await eventually("both servers") { Set(connection.info.connectURLs ?? []) == both }

        // The address that was named leads to a server that answers, as part of the same cluster.
        let told = try #require(connection.info.connectURLs?.first { $0 == address(second) })
        let other = try await NATSConnection.connect(
            to: try #require(ServerAddress(discovered: told, like: connection.address)),
            options: ConnectOptions(connectTimeout: .seconds(60)))
        #expect(other.info.serverName == "second")
        #expect(other.info.cluster == "C" && other.info.serverID != connection.info.serverID)

        try await TestCluster.lameDuck(first)
        // The newer INFO comes before the word of its meaning, so that who hears the word knows where to go.
        var last: NATSConnectionEvent?
        while let event = await events.next() {
            if event == .lameDuck { break }
            last = event
        }
        guard case .infoChanged(let info) = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        #expect(info.isLameDuck == true && info.connectURLs == [address(second)])
        #expect(connection.info.connectURLs == [address(second)] && connection.isOpen)
        await connection.close()
        await other.close()
    }
}
