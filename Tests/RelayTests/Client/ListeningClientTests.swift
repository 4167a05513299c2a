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

    @Test("B13 a listener of RECONNECT hears its three words, and those of CONNECTED and DISCONNECTED theirs alone")
    func reconnectWords() async throws {
        let network = try MemoryNetwork()
        let client = network.client(network.configuration(reconnect: .relayx, outbox: .relayx))
        let (connected, reconnect, disconnected) = (TextListener(), TextListener(), TextListener())
        try await client.on(topic: SystemEvent.connected.rawValue, listener: connected)
        try await client.on(topic: SystemEvent.reconnect.rawValue, listener: reconnect)
        try await client.on(topic: SystemEvent.disconnected.rawValue, listener: disconnected)
        try await client.connect()
        network.server.disconnectAll()
        try await network.attemptNow(client)
        try await eventually("the way back") { reconnect.heard.all == ["RECONNECTING", "RECONNECTED"] }
        network.server.refuseDials(with: .connectionLost("no server"))
        network.server.disconnectAll()
        try await network.letTimePass("the end of the window") { disconnected.heard.all == ["DISCONNECTED"] }
        #expect(reconnect.heard.all == ["RECONNECTING", "RECONNECTED", "RECONNECTING", "RECONN_FAILED"])
        #expect(connected.heard.all == ["CONNECTED"])
    }

    @Test("B36 a token that goes before connect leaves nothing to be followed")
    func cancelledBeforeConnect() async throws {
        let network = try MemoryNetwork()
        let client = network.client()
        let listener = TextListener()
        let token = try await client.listen(to: "chat.room", listener: listener)
        token.cancel()
        try await eventually("the end of the subscription") { await client.run { !$0.subscriptions.isFollowing } }
        try await client.connect()
        try network.store("unheard")
        #expect(network.server.consumers(of: "test_stream").isEmpty && listener.heard.all.isEmpty)
        await client.close()
    }
}
