import TestSupport
import Testing

@testable import Relay

/// What a client is and does, in the words of the systems that it maps onto.
@Suite("Client: in other systems' words, over a network in memory", .realProcesses)
struct VocabularyClientTests {
    @Test("B10 B12 a dial under way is Connecting, and a client at rest Unconnected")
    func connecting() async throws {
        let network = try MemoryNetwork()
        let client = network.client()
        #expect(NexconnConnectionStatus(client.status) == .unconnected)
        #expect(SupabaseStatus(client.status) == .disconnected && RongCloudCode(client.status) == nil)
        let statuses = client.statuses
        try await client.connect()
        var seen: [NexconnConnectionStatus] = []
        for await status in statuses {
            if seen.last != NexconnConnectionStatus(status) { seen.append(NexconnConnectionStatus(status)) }
            if status.state == .connected { break }
        }
        #expect(seen == [.unconnected, .connecting, .connected])
        #expect(SupabaseStatus(client.status) == .connected)
        await client.close()
    }

    @Test("B21 the background suspends, and every vocabulary says so")
    func background() async throws {
        let network = try MemoryNetwork()
        let client = try await network.connected(network.configuration(lifecycle: .immediate))
        await client.setAppStateActive(false)
        network.time.advance(by: LifecyclePolicy.shortestGrace)
        try await client.state(is: .suspended)
        let status = client.status
        #expect(NexconnConnectionStatus(status).rawValue == 13)
        #expect(RongCloudCode(status)?.rawValue == 32_011)
        #expect(PlatformSubscriptionStatus(status) == .disconnected && SupabaseStatus(status) == .disconnected)
        #expect(SystemEvent(status) == nil)
        await client.close()
        #expect(RongCloudCode(client.status)?.rawValue == 30_027)
    }

    @Test("MESSAGE_RESEND tells what waited and was stored")
    func resend() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let listener = ResentListener()
        try await client.on(topic: SystemEvent.messageResend.rawValue, listener: listener)
        let events = Gathered(client.events)
        // The connection goes away, as in the background, and comes back.
        await client.setReachable(false)
        try await client.state(is: .suspended)
        let ids = [
            try await client.enqueue(topic: "chat.a", message: "one").id,
            try await client.enqueue(topic: "chat.b", message: "two").id,
        ]
        await client.setReachable(true)
        try await eventually("MESSAGE_RESEND") { !listener.heard.isEmpty }
        let messages = listener.heard
        #expect(messages.count == 1 && messages.first?.map(\.id) == ids)
        #expect(messages.first?.map(\.topic) == ["chat.a", "chat.b"])
        #expect(messages.first?.allSatisfy(\.wasStored) == true)
        try await eventually("the event") { events.all.contains(.messageResend) }
        #expect(network.stored(on: "chat.a") == ["one"] && network.stored(on: "chat.b") == ["two"])
        await client.close()
    }
}
