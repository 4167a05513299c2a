import NATS
import TestSupport
import Testing

@testable import Relay

/// A network whose service keeps its user out.
@Suite("Client: a closed account, over a network in memory", .realProcesses)
struct ClosedAccountClientTests {
    private let account = NKeyPair.generate(.account)

    /// The service's answer to a user who is kept out.
    private func refusal(
        _ kind: ControlMessage.Kind = .banned, signedBy key: NKeyPair? = nil, for user: String = MemoryNetwork.user
    ) throws -> [UInt8] {
        // Long ago, by whichever of the two clocks.
        let proof = try ControlMessage(kind: kind, reason: "spam").proof(for: user, signedBy: key ?? account, at: 1_000)
        return Array(#"{"status":"NAMESPACE_RETRIEVE_FAILURE","refusal":"\#(proof)"}"#.utf8)
    }

    @Test(
        "B60: a client whose question nobody answers at login leaves for the network's reason as soon as somebody does",
        arguments: [true, false])
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
        let answer = try refusal()
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
        let answer = try refusal()
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

    @Test("B60: a login that finds no place is tried again within ten seconds")
    func noPlace() async throws {
        let network = try MemoryNetwork()
        network.server.refuseLogins(with: "maximum account active connections exceeded")
        let client = network.client(network.configuration(reconnect: ReconnectPolicy(schedule: [.seconds(60)])))
        await client.beginConnecting()
        try await eventually("a wait for another attempt") { client.status.nextRetryAt != nil }
        #expect(client.status.nextRetryAt == network.time.now + .seconds(10))
        network.server.refuseLogins(with: nil)
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        await client.close()
    }

    /// A client that asks for the names of topics, and whose service answers so.
    private func client(on network: MemoryNetwork, answer: [UInt8]) throws -> RelayClient {
        network.server.service(NetworkNames.namespace) { _ in answer }
        var configuration = network.configuration(credentials: try UserToken.credentials(signedBy: account))
        configuration.namespace = nil
        return network.client(configuration)
    }

    @Test(
        "B60: a client that is refused at login leaves for the reason that the network has signed, at each login",
        arguments: [
            (ControlMessage.Kind.banned, ConnectionReason.banned("spam")), (.deactivated, .deactivated("spam")),
            (.applicationBlocked, .appBlocked("spam")), (.accessExpired, .accessExpired("spam")),
        ])
    func refused(kind: ControlMessage.Kind, reason: NATS.ConnectionReason) async throws {
        let network = try MemoryNetwork()
        let client = try client(on: network, answer: refusal(kind))
        for login in 1...2 {
            await #expect(throws: RelayError.connection(reason)) { try await client.connect() }
            #expect(client.status.reason == reason && network.server.dials == login)
            try await eventually("the end of the connection") { network.server.connections == 0 }
        }
    }

    @Test("A refusal that the user's own network has not signed ends nothing: the client tries again")
    func unproved() async throws {
        let network = try MemoryNetwork()
        for answer in [
            try refusal(signedBy: .generate(.account)), try refusal(for: "bob"),
            Array(#"{"status":"NAMESPACE_RETRIEVE_FAILURE","refusal":"banned"}"#.utf8),
            Array(#"{"status":"NAMESPACE_RETRIEVE_FAILURE"}"#.utf8),
        ] {
            let client = try client(on: network, answer: answer)
            await client.beginConnecting()
            try await eventually("a wait for another attempt") { client.status.nextRetryAt != nil }
            #expect(client.status.state == .connecting)
            await client.close()
        }
    }
}
