import NATS
import Platform
import TestSupport
import Testing

@testable import Relay

/// What the network's administrator says to a user's clients, and what they do then.
@Suite("Client: the administrator's word, over a network in memory", .realProcesses)
struct ControlClientTests {
    private static let subject = ControlMessage.subject(for: MemoryNetwork.user)

    /// Says something without a proof.
    private func say(
        _ kind: ControlMessage.Kind, on network: MemoryNetwork, subject: String = ControlClientTests.subject
    ) throws {
        let message = ControlMessage(kind: kind, reason: "tidying up", device: "laptop", administrator: "root")
        network.server.publish(subject, Array(try JSONEncoder().encode(ControlMessage.Facts(message))))
    }

    @Test(
        "B17 without tokens the administrator's word ends the session for its reason, until somebody connects again",
        arguments: [
            (ControlMessage.Kind.kicked, ConnectionReason.kicked(by: "root", reason: "tidying up")),
            (ControlMessage.Kind.banned, ConnectionReason.banned("tidying up")),
            (ControlMessage.Kind.deactivated, ConnectionReason.deactivated("tidying up")),
            (ControlMessage.Kind.accessExpired, ConnectionReason.accessExpired("tidying up")),
            (ControlMessage.Kind.signedInElsewhere, ConnectionReason.kickedByOtherDevice("laptop")),
            (ControlMessage.Kind.applicationBlocked, ConnectionReason.appBlocked("tidying up")),
            (ControlMessage.Kind.code(31_029), ConnectionReason.deactivated(nil)),
            (ControlMessage.Kind.code(4_711), ConnectionReason.unknown(4_711)),
        ])
    func ending(kind: ControlMessage.Kind, reason: NATS.ConnectionReason) async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let events = Gathered(client.events)
        try say(kind, on: network)
        try await client.state(is: .disconnected)
        #expect(client.status.reason == reason)
        try await eventually("the event") { events.all == [.disconnected] }
        try await eventually("no attempt is planned") { network.time.waits.isEmpty }
        try await eventually("the end of the connection") { network.server.connections == 0 }
        #expect(network.server.dials == 1)
        try await client.connect()
        #expect(client.status.state == .connected && network.server.dials == 2)
        await client.close()
    }

    @Test("B17 what is no word of the administrator, or is for somebody else, ends nothing")
    func noWord() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for text in ["banned", "{}", #"{"kind":"praised"}"#, #"{"kind":"code"}"#] {
            network.server.publish(Self.subject, Array(text.utf8))
        }
        try say(.banned, on: network, subject: ControlMessage.subject(for: "bob"))
        // A code that means no end.
        try say(.code(RongCloudCode.transportDisconnected.rawValue), on: network)
        // The first word that counts, heard behind all of these.
        try say(.deactivated, on: network)
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .deactivated("tidying up"))
        await client.close()
    }

    @Test("B17 with tokens only the account's own word is believed, and each word once")
    func signed() async throws {
        let network = try MemoryNetwork()
        let account = NKeyPair.generate(.account)
        let credentials = try UserToken.credentials(signedBy: account)
        let client = try await network.connected(network.configuration(credentials: credentials))
        let now = network.time.secondsSince1970
        let kick = try ControlMessage(kind: .kicked, administrator: "root").encoded(
            for: MemoryNetwork.user, signedBy: account, at: now)
        let foreign = try ControlMessage(kind: .deactivated).encoded(
            for: MemoryNetwork.user, signedBy: .generate(.account), at: now)
        let end = try ControlMessage(kind: .banned, reason: "really").encoded(
            for: MemoryNetwork.user, signedBy: account, at: now)
        try say(.banned, on: network)
        network.server.publish(Self.subject, foreign)
        network.server.publish(Self.subject, kick)
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .kicked(by: "root", reason: nil))
        try await client.connect()
        network.server.publish(Self.subject, kick)
        network.server.publish(Self.subject, end)
        try await client.state(is: .disconnected)
        #expect(client.status.reason == .banned("really"))
        await client.close()
    }

    @Test("Without tokens the administrator's word of changed permissions has the connection made anew")
    func renewing() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        try say(.permissionsChanged, on: network)
        try await client.state(is: .reconnecting)
        #expect(client.status.reason == .permissionsChanged("tidying up"))
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        #expect(client.status.recoveries == 1 && network.server.dials == 2)
        await client.close()
    }
}
