import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

/// A network whose service keeps its user out.
@Suite("Client: a closed account, over a network in memory", .realProcesses)
struct ClosedAccountClientTests {
    private let account = NKeyPair.generate(.account)

    /// A client without names of topics, and the network's service, which answers as a test says.
    private func client(
        on network: MemoryNetwork, knowing namespace: RelayConfiguration.Namespace? = nil,
        _ answer: @escaping @Sendable () -> String
    ) async throws -> (client: RelayClient, service: NATSConnection) {
        let service = try await network.surroundings.dial(ServerAddress(host: "memory"), ConnectOptions())
        let questions = try service.subscribe(to: NetworkNames.namespace)
        try await service.flush()
        Task {
            for try await question in questions {
                if let reply = question.reply { _ = try service.publish(Array(answer().utf8), to: reply) }
            }
        }
        var configuration = network.configuration(credentials: try UserToken.credentials(signedBy: account))
        configuration.namespace = namespace
        return (network.client(configuration), service)
    }

    private func refusal(_ kind: ControlMessage.Kind, signedBy key: NKeyPair, for user: String = "alice") throws
        -> String
    {
        // Long ago, by whichever of the two clocks.
        let proof = try ControlMessage(kind: kind, reason: "spam").proof(for: user, signedBy: key, at: 1_000)
        return #"{"status":"NAMESPACE_RETRIEVE_FAILURE","refusal":"\#(proof)"}"#
    }

    @Test("B60: so does one that knows the names of the topics and waits for no answer")
    func refusedLater() async throws {
        let network = try MemoryNetwork()
        let answer = try refusal(.banned, signedBy: account)
        let (client, service) = try await client(on: network, knowing: MemoryNetwork.namespace) { answer }
        await client.beginConnecting()
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .banned("spam"))
        await service.close()
    }

    @Test(
        "B60: so does one whose question nobody answers at login, as soon as somebody does", arguments: [true, false])
    func refusedWhenServiceReturns(isConfigured: Bool) async throws {
        let network = try MemoryNetwork()
        var configuration = network.configuration(credentials: try UserToken.credentials(signedBy: account))
        configuration.namespace = isConfigured ? MemoryNetwork.namespace : nil
        configuration.rememberedNamespace = MemoryNetwork.namespace
        let client = try await network.connected(configuration)
        for pause in [1, 2, 4, 8] {
            try await eventually("a pause of \(pause) s") { network.time.waits.contains(.seconds(pause)) }
            // A word that nobody has signed says no more than silence.
            if pause == 4 {
                network.server.service(NetworkNames.namespace) { _ in
                    Array(#"{"status":"NAMESPACE_RETRIEVE_FAILURE","refusal":"banned"}"#.utf8)
                }
            }
            #expect(client.status.state == .connected)
            if pause < 8 { network.time.advance(by: .seconds(pause)) }
        }
        let answer = Array(try refusal(.banned, signedBy: account).utf8)
        network.server.service(NetworkNames.namespace) { _ in answer }
        network.time.advance(by: .seconds(8))
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .banned("spam") && network.server.dials == 1)
        try await eventually("the end of the connection") { network.server.connections == 0 }
        try await eventually("nobody asks any more") { network.time.waits.isEmpty }
    }

    @Test("B60: one that was put out is connected by no names of before: its next login waits for the network's answer")
    func refusedAgain() async throws {
        let network = try MemoryNetwork()
        let answer = Array(try refusal(.banned, signedBy: account).utf8)
        var configuration = network.configuration(credentials: try UserToken.credentials(signedBy: account))
        configuration.namespace = nil
        configuration.rememberedNamespace = MemoryNetwork.namespace
        let client = try await network.connected(configuration)
        network.server.service(NetworkNames.namespace) { _ in answer }
        network.time.advance(by: .seconds(1))
        try await client.state(is: .disconnected)

        network.server.service(NetworkNames.namespace, handler: nil)
        await client.beginConnecting()
        try await eventually("another question") { network.time.waits.contains(.milliseconds(50)) }
        #expect(client.status.state == .connecting)
        network.server.service(NetworkNames.namespace) { _ in answer }
        network.time.advance(by: .milliseconds(50))
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .banned("spam") && network.server.dials == 2)

        // Who is let in again is connected, and goes by the names of that login from then on.
        network.server.service(NetworkNames.namespace) { _ in
            Array(#"{"status":"NAMESPACE_RETRIEVE_SUCCESS","data":{"namespace":"test","hash":"h4sh"}}"#.utf8)
        }
        try await client.connect()
        network.server.service(NetworkNames.namespace, handler: nil)
        network.server.disconnectAll()
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        await client.close()
    }
}
