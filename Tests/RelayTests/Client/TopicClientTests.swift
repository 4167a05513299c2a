import TestSupport
import Testing

@testable import Relay

@Suite("Client: topics, over a network in memory", .realProcesses)
struct TopicClientTests {
    @Test(
        "B38 a consumer that has stopped catching up is left for another one, and nothing is missed",
        arguments: ["three", nil])
    func stalledCopy(cluster: String?) async throws {
        let network = try MemoryNetwork()
        network.server.info.cluster = cluster
        let client = try await network.connected()
        let received = try await client.gathered("chat.room")
        try network.store("before")
        try await received.wait(forText: "before")
        network.server.stallConsumers()
        for number in 1...3 { try network.store("\(number)") }
        network.server.sendHeartbeats()
        network.server.sendHeartbeats()
        try await eventually("what the other copies have") {
            if let wait = network.time.untilNext { network.time.advance(by: wait) }
            return received.texts.last == "3"
        }
        try network.store("after")
        try await received.wait(forText: "after")
        #expect(received.texts == ["before", "1", "2", "3", "after"])
        await client.close()
    }

    @Test("B38 a message that was lost behind all others is missed at the consumer's next sign of life")
    func lostLast() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let received = try await client.gathered("chat.room")
        try network.store("before")
        try await received.wait(forText: "before")
        func made() -> Int { network.server.received.count { $0.contains("CONSUMER.CREATE.") } }
        let first = made()
        network.server.sendHeartbeats()
        // As if a second one had been sent.
        network.server.replaceNumbers(["Nats-Last-Consumer": "2"])
        network.server.sendHeartbeats()
        try await eventually("another consumer") { made() > first }
        network.server.replaceNumbers([:])
        try network.store("after")
        try await received.wait(forText: "after")
        #expect(received.texts == ["before", "after"] && made() == first + 1)
        await client.close()
    }

    @Test("What came together is read once, whether one by one or together, by whichever iterator")
    func mixedReading() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...600 { try network.store("\(number)", on: "chat.room") }
        let messages = try await client.messages(topic: "chat.room", from: .all)
        var texts: [String] = []
        func add(_ event: TopicEvent) {
            if case .message(let message) = event { texts.append(message.text) }
        }
        var isTogether = false
        while texts.count < 600 {
            var iterator = messages.makeAsyncIterator()
            if isTogether {
                for event in try #require(try await iterator.nextBatch()) { add(event) }
            } else {
                for _ in 0..<3 { add(try #require(try await iterator.next())) }
            }
            isTogether.toggle()
        }
        #expect(texts == (1...600).map(String.init))
        // What comes alone is read after that, one by one or together.
        var iterator = messages.makeAsyncIterator()
        for number in 601...604 {
            try network.store("\(number)", on: "chat.room")
            while texts.count < number {
                let events = number % 2 == 0 ? try await iterator.nextBatch() : try await iterator.next().map { [$0] }
                for event in try #require(events) { add(event) }
            }
        }
        #expect(texts.suffix(4) == ["601", "602", "603", "604"])
        await client.close()
    }

    @Test("Subscriptions begin where they are asked to")
    func starts() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...300 { try network.store("\(number)", on: number % 3 == 0 ? "chat.third" : "chat.other") }
        func texts(_ start: SubscriptionStart) async throws -> [String] {
            try await client.gathered("chat.third", from: start).texts
        }
        #expect(try await texts(.all).count == 100)
        #expect(try await texts(.new).isEmpty)
        #expect(try await texts(.sequence(298)) == ["300"])
        let recent = try await texts(.recent(10))
        #expect(recent.suffix(10) == stride(from: 273, through: 300, by: 3).map(String.init)[...])
        #expect(recent.count <= 20)
        #expect(try await texts(.time(Timestamp(milliseconds: 0))).count == 100)
        let page = try await client.history(topic: "chat.third", before: 151, limit: 5)
        #expect(page.messages.map(\.text) == ["138", "141", "144", "147", "150"])
        #expect(!page.isComplete)
        let first = try await client.history(topic: "chat.third", before: 10, limit: 5)
        #expect(first.messages.map(\.text) == ["3", "6", "9"])
        #expect(first.isComplete)
        await client.close()
    }

    @Test("B28 a subscription that is for no view in particular hears nothing of the screen")
    func forNoView() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let room = try await client.messages(topic: "chat.room")
        let heard = Heard(room)
        try await heard.wait(for: "live")
        room.setOnScreen(false)
        try network.store("a line")
        try await heard.wait(for: "> a line")
        #expect(network.time.untilNext == nil)
        await client.close()
    }

    /// A reader's own queue, which is full with a hundred events.
    private struct OwnQueue: EventReceiver {
        let channel = BoundedChannel<[TopicEvent]>(capacity: 100) { ChannelWeight(count: $0.count) }

        func waitForRoom() async -> Bool { await channel.waitForRoom() }
        func receive(_ events: [TopicEvent], of topic: String) async { channel.mark(events) }
        func offer(_ event: TopicEvent, of topic: String) -> Bool { channel.offer([event]) }
    }

    @Test("B38 B40 a reader's own queue gets each message once, through outages that come while it is full")
    func ownQueue() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let count = 2_000
        for number in 1...count { try network.store("\(number)") }
        let queue = OwnQueue()
        let subscription = try await client.messages(
            topic: "chat.room", from: .all, onScreenOnly: false, into: queue)
        for _ in 0..<3 {
            try await eventually("the queue is full") { queue.channel.isFull }
            await client.setReachable(false)
            await client.setReachable(true)
            try await client.state(is: .connected)
        }
        var events: [TopicEvent] = []
        while events.last != .live, let batch = try await queue.channel.next() { events += batch }
        let texts = events.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
        #expect(texts == (1...count).map(String.init) && events.count == count + 1)
        subscription.cancel()
        try network.store("after the end")
        await client.close()
        #expect(queue.channel.waiting.count == 0)
    }

    @Test("B35 wildcards, reserved names and messages over the limit are refused before sending")
    func refusals() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for topic in ["chat.*", "chat.>", "CONNECTED", "", "a b", "a..b", "a$b"] {
            await #expect(throws: RelayError.self) { try await client.publish(topic: topic, message: "x") }
        }
        let large = String(repeating: "x", count: 200 << 10)
        await #expect {
            try await client.publish(topic: "chat.room", message: .string(large))
        } throws: { error in
            if case .tooLarge(_, let limit) = error as? RelayError { limit == 128 << 10 } else { false }
        }
        #expect(network.stored().isEmpty)
        // The limit is that of the text, whatever is put around it.
        let text = String(repeating: "x", count: 128 << 10)
        await #expect(throws: RelayError.tooLarge(bytes: text.utf8.count + 1, limit: text.utf8.count)) {
            try await client.enqueueLine(topic: "chat.room", text: text + "x")
        }
        _ = try await client.enqueueLine(topic: "chat.room", text: text).receipt(within: .seconds(60))
        await client.close()
    }

    @Test("B36 topics can be listened to again after close and connect")
    func listenersAfterClose() async throws {
        let client = try await MemoryNetwork().connected()
        let listener = TextListener()
        #expect(try await client.on(topic: "chat.room", listener: listener))
        await client.close()
        try await client.connect()
        #expect(try await client.on(topic: "chat.room", listener: listener))
        _ = try await client.send(topic: "chat.room", message: "again", timeout: .seconds(60))
        try await eventually("a message") { listener.heard.all == ["again"] }
        #expect(try await client.on(topic: "chat.room", listener: TextListener()) == false)
        #expect(await client.off(topic: "chat.room"))
        #expect(await client.off(topic: "chat.room") == false)
        await client.close()
    }

    @Test("A publish that the server does not answer in time waits in the outbox, by the client's clock")
    func publishLimit() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        client.settings.withLockedValue { $0.limits.publish = .seconds(7) }
        network.server.holdAcknowledgements(true)
        let publishing = Task { try await client.publish(topic: "chat.room", message: "slow") }
        try await eventually("the limit") { network.time.waits.contains(client.limits.publish) }
        network.time.advance(by: client.limits.publish - .milliseconds(1))
        #expect(network.time.waits.contains(.milliseconds(1)) && client.queuedCount == 1)
        network.time.advance(by: .milliseconds(1))
        #expect(try await publishing.value == false)
        #expect(client.queuedCount == 1)
        await client.setReachable(false)
        await client.close()
    }

    @Test("B36 a listener that came before connect hears messages and system events")
    func listeners() async throws {
        let network = try MemoryNetwork()
        let client = network.client()
        let messages = TextListener()
        let system = TextListener()
        #expect(try await client.on(topic: "chat.room", listener: messages))
        #expect(try await client.on(topic: "chat.room", listener: system) == false)
        #expect(try await client.on(topic: SystemEvent.connected.rawValue, listener: system))
        #expect(try await client.on(topic: SystemEvent.disconnected.rawValue, listener: system))
        try await client.connect()
        _ = try await client.publish(topic: "chat.room", message: "hello")
        try await eventually("the message") { messages.heard.all == ["hello"] }
        #expect(await client.off(topic: "chat.room"))
        #expect(await client.off(topic: "chat.room") == false)
        await client.close()
        try await eventually("both system events") { system.heard.all == ["CONNECTED", "DISCONNECTED"] }
    }

    @Test("Who reads a whole copy of a cluster asks about it ever more rarely")
    func idleCopy() async throws {
        let network = try MemoryNetwork()
        network.server.info.cluster = "three"
        let client = try await network.connected()
        let received = try await client.gathered("chat.room")
        try network.store("before")
        try await received.wait(forText: "before")
        func made() -> Int { network.server.received.count { $0.contains("CONSUMER.CREATE.") } }
        let first = made()
        for _ in 0..<40 { network.server.sendHeartbeats() }
        try network.store("after")
        try await received.wait(forText: "after")
        #expect(made() - first <= 6)
        await client.close()
    }
}
