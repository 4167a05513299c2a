import NIOCore
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Connections over a real server", .realProcesses)
struct ConnectionTests {
    @Test("B55 a client that is let go closes its socket")
    func release() async throws {
        let fixture = try await ClientFixture.start()
        weak var weakClient: RelayClient?
        let channel: any Channel
        do {
            let client = try await fixture.client()
            weakClient = client
            channel = try #require(await client.link?.connection?.core.channel)
            let events = try await client.messages(topic: "chat.room")
            _ = try await client.publish(topic: "chat.room", message: "x")
            #expect(channel.isActive)
            withExtendedLifetime(events) {}
        }
        try await eventually("the client's end") { weakClient == nil }
        try await eventually("the socket's end") { !channel.isActive }
    }
}
