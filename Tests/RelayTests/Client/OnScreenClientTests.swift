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

    @Test("B28 a subscription that is for no view in particular hears nothing of the screen")
    func unmarked() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let room = try await client.messages(topic: "chat.room")
        let heard = Heard(room)
        try await heard.wait(for: "live")
        room.setOnScreen(false)
        try network.store("a line")
        try await heard.wait(for: "> a line")
        #expect(network.time.untilNext == nil)
        await client.close()
    }

    @Test("B28 B42 letters are followed for a view, too")
    func letters() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected()
        let letters = try await client.postboxMessages(onScreenOnly: true)
        let heard = Gathered(letters)
        try await eventually("the subscription") { !network.server.consumers(of: "PB_alice").isEmpty }
        letters.setOnScreen(false)
        try await eventually("the wait for the view") { network.time.waits == [.seconds(30)] }
        network.time.advance(by: .seconds(30))
        try await eventually("the release") { network.server.consumers(of: "PB_alice").isEmpty }
        try network.postLetter("meanwhile")
        letters.setOnScreen(true)
        try await heard.wait(for: "the letter") { events in
            events.contains { if case .message(let letter) = $0 { letter.message == "meanwhile" } else { false } }
        }
        await client.close()
    }
}
