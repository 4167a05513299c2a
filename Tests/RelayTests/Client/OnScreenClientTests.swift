import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: subscriptions for a view on the screen, over a network in memory", .realProcesses)
struct OnScreenClientTests {
    /// A client with a subscription whose view has left, up to its release.
    private func released(_ network: MemoryNetwork) async throws -> (client: RelayClient, TopicEvents, Heard) {
        let client = try await network.connected()
        let room = try await client.messages(topic: "chat.room", onScreenOnly: true)
        let heard = Heard(room)
        try await heard.wait(for: "live")
        room.setOnScreen(false)
        try await eventually("the wait for the view") { network.time.waits == [.seconds(30)] }
        network.time.advance(by: .seconds(30))
        try await eventually("the release") { network.server.consumers(of: "test_stream").isEmpty }
        return (client, room, heard)
    }

    @Test("B28 a view that is away lets its subscription go, and what came meanwhile is there on return, each once")
    func release() async throws {
        let network = try MemoryNetwork()
        let (client, room, heard) = try await released(network)
        for number in 1...3 { try network.store("line \(number)") }
        room.setOnScreen(true)
        try await heard.wait(for: "live", times: 2)
        try network.store("line 4")
        try await eventually("the new line") { heard.all.contains { $0.hasSuffix("line 4") } }
        let lines = heard.all.filter { $0.contains("line") }.map { String($0.suffix(6)) }
        #expect(lines == (1...4).map { "line \($0)" } && !heard.all.contains { $0.hasPrefix("lost") })
        #expect(network.server.dials == 1)
        await client.close()
    }

    @Test("B28 a view that is back in time costs nothing, and the last word counts")
    func brief() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let room = try await client.messages(topic: "chat.room", onScreenOnly: true)
        let heard = Heard(room)
        try await heard.wait(for: "live")
        let consumers = network.server.consumers(of: "test_stream")
        for number in 0..<100 { room.setOnScreen(number % 2 == 1) }
        try await eventually("no timer") { network.time.untilNext == nil }
        #expect(network.server.consumers(of: "test_stream") == consumers && heard.all == ["live"])
        await client.close()
    }

    @Test("B28 B43 a subscription that was let go is brought back on no connection but behind its view")
    func outage() async throws {
        let network = try MemoryNetwork()
        let (client, room, heard) = try await released(network)
        network.server.disconnectAll()
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        #expect(network.server.consumers(of: "test_stream").isEmpty && client.status.failingSubscriptions.isEmpty)
        try network.store("meanwhile")
        room.setOnScreen(true)
        try await eventually("the line") { heard.all.contains { $0.hasSuffix("meanwhile") } }
        await client.close()
    }

    @Test("B28 a view that comes back while there is no connection has its subscription with the next one")
    func backDuringOutage() async throws {
        let network = try MemoryNetwork()
        let (client, room, heard) = try await released(network)
        await client.setReachable(false)
        try await client.state(is: .suspended)
        try network.store("meanwhile")
        room.setOnScreen(true)
        await client.setReachable(true)
        try await eventually("the line") { heard.all.contains { $0.hasSuffix("meanwhile") } }
        await client.close()
    }

    @Test("B28 the end of a subscription ends the wait for its view")
    func cancelled() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let room = try await client.messages(topic: "chat.room", onScreenOnly: true)
        let heard = Heard(room)
        try await heard.wait(for: "live")
        room.setOnScreen(false)
        try await eventually("the wait for the view") { network.time.untilNext != nil }
        room.cancel()
        try await eventually("no timer") { network.time.untilNext == nil }
        await client.close()
    }
}
