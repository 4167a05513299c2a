import TestSupport
import Testing

@testable import Relay

@Suite("Client: listening before it connects, over a network in memory", .realProcesses)
struct ListeningClientTests {
    @Test("B36 whoever listens before connect hears all that is stored once connect has returned, until the token goes")
    func beforeConnect() async throws {
        let network = try MemoryNetwork()
        try network.store("earlier")
        let client = network.client()
        let (first, second, events) = (TextListener(), TextListener(), TextListener())
        var token: SubscriptionToken? = try await client.listen(to: "chat.room", listener: first)
        let other = try await client.listen(to: "chat.*", listener: second)
        let connected = try await client.listen(to: SystemEvent.connected.topic, listener: events)
        #expect(client.status.state == .initialized && network.server.dials == 0)
        try await client.connect()
        #expect(events.heard.all == [SystemEvent.connected.rawValue])
        try network.store("one")
        for listener in [first, second] {
            try await eventually("the first line") { listener.heard.all == ["one"] }
        }
        withExtendedLifetime(token) {}
        token = nil
        try await eventually("the end of the first") { network.server.consumers(of: "test_stream").count == 1 }
        try network.store("two")
        try await eventually("the second line") { second.heard.all == ["one", "two"] }
        #expect(first.heard.all == ["one"])
        other.cancel()
        connected.cancel()
        await client.close()
    }

    @Test("B36 a token that goes before connect leaves nothing to be followed")
    func cancelledBeforeConnect() async throws {
        let network = try MemoryNetwork()
        let client = network.client()
        let listener = TextListener()
        let token = try await client.listen(to: "chat.room", listener: listener)
        token.cancel()
        try await eventually("the end of the subscription") { await !client.isFollowing }
        try await client.connect()
        try network.store("unheard")
        #expect(network.server.consumers(of: "test_stream").isEmpty && listener.heard.all.isEmpty)
        await client.close()
    }
}
