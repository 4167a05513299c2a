import Relay
import RelayLab
import TestSupport
import Testing

@testable import RelayNetwork

/// The network that a run of the lab has for itself.
@Suite("Lab: a network of its own", .realProcesses)
struct LabNetworkTests {
    @Test(
        "A server that a script starts as its child is killed, stays dead, and is started again where it was",
        arguments: NATSServerProcess.binaries.map(\.path))
    func scriptedServer(server: String) async throws {
        let folder = try TemporaryDirectory("lab-script")
        defer { folder.remove() }
        let script = try folder.script(starting: server)
        let network = try await LabNetwork.start(environment: ["PARLEY_NATS_SERVER": script])
        let result: Result<Void, any Error>
        do {
            result = .success(try await killAndStart(network, server))
        } catch {
            result = .failure(error)
        }
        await network.stop()
        try result.get()
    }

    private func killAndStart(_ network: LabNetwork, _ server: String) async throws {
        let pid = network.description.serverPid
        #expect(RunningProcess(pid)?.arguments.first == server, "the server, and not the script")
        var configuration = try network.configuration(LabClientSettings(), speed: 1)
        configuration.dialTimeout = .seconds(60)
        let client = RelayClient(configuration: configuration)
        let side = network.serverSide(client)
        try await side.perform(LabAct(.killServer))
        try await eventually("the server has ended") { !RunningProcess.exists(pid) }
        let refused = try await LoopbackSocket.connected(to: network.addresses[0].port) == nil
        #expect(refused, "nothing listens where the server was")
        try await side.perform(LabAct(.startServer))
        try await client.connect(timeLimit: 60)
        await client.close()
    }
}
