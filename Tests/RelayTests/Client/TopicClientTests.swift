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

    @Test("B38 after an outage what was missed arrives once, in order, before what is new")
    func recovery() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let received = try await client.gathered("chat.room")
        for number in 1...20 { try network.store("\(number)") }
        try await received.wait(for: "the first twenty") { $0.count == 21 }
        try await network.takeConnection(of: client)
        for number in 21...40 { try network.store("\(number)") }
        await client.setReachable(true)
        for number in 41...60 { try network.store("\(number)") }
        try await received.wait(forText: "60")
        #expect(received.texts == (1...60).map { "\($0)" })
        #expect(received.recovered.starts(with: (21...40).map { "\($0)" }))
        await client.close()
    }

    @Test("B38 who begins with a message that is still to come gets no earlier one after an outage")
    func stillToCome() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        try network.store("1")
        let heard = Heard(try await client.messages(topic: "chat.room", from: .sequence(4)))
        try await heard.wait(for: "live")
        try await network.takeConnection(of: client)
        try network.store("2")
        await client.setReachable(true)
        try await heard.wait(for: "live", times: 2)
        for number in 3...5 { try network.store("\(number)") }
        try await heard.wait(for: "> 5")
        #expect(heard.all == ["live", "live", "> 4", "> 5"])
        await client.close()
    }

    @Test("B38 what comes after a recovery is not marked as recovered, though another topic had the newest message")
    func afterRecovery() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let received = try await client.gathered("chat.room")
        try network.store("before")
        try await received.wait(forText: "before")
        try await network.takeConnection(of: client)
        try network.store("missed")
        try network.store("somebody else's", on: "chat.other")
        await client.setReachable(true)
        try await received.wait(for: "the recovery") { events in events.count { $0 == .live } == 2 }
        try network.store("after")
        try await received.wait(forText: "after")
        #expect(received.recovered == ["missed"])
        #expect(received.texts == ["before", "missed", "after"])
        await client.close()
    }

    @Test("B38 what a connection that was cut has left on the server is removed over the next one")
    func leftConsumers() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let received = try await client.gathered("chat.room")
        func named(_ operation: String) -> [Substring] {
            network.server.received.filter { $0.contains(".CONSUMER.\(operation).test_stream.") }
                .map { $0.split(separator: ".")[5] }
        }
        for round in 1...3 {
            try network.store("\(round)")
            try await received.wait(forText: "\(round)")
            network.server.disconnectAll()
            try await network.attemptNow(client)
            try await client.state(is: .connected)
        }
        try network.store("after")
        try await received.wait(forText: "after")
        #expect(received.texts == ["1", "2", "3", "after"])
        // A server keeps each for a minute, and gives a stream no more than a thousand.
        #expect(named("CREATE").count == 4 && Set(named("DELETE")) == Set(named("CREATE").dropLast()))
        await client.close()
    }

    @Test("B38 what the stream no longer holds is reported as lost")
    func gap() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let received = try await client.gathered("chat.room")
        try network.store("before")
        try await received.wait(forText: "before")
        try await network.takeConnection(of: client)
        for number in 1...5 { try network.store("\(number)") }
        network.server.purge("test_stream")
        try network.store("after")
        await client.setReachable(true)
        try await received.wait(forText: "after")
        #expect(received.all.contains(.gap(lost: 5)))
        await client.close()
    }

    @Test("A subscription says that it catches up, and up to where it has delivered everything")
    func progress() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for topic in ["chat.a", "chat.b", "chat.a"] { try network.store("x", on: topic) }
        func news(_ topic: String, from start: SubscriptionStart) async throws -> [String] {
            var iterator = try await client.messages(topic: topic, from: start).makeAsyncIterator()
            var words: [String] = []
            while words.last?.hasPrefix("live") != true, let batch = try await iterator.nextNews() {
                for item in batch {
                    switch item {
                    case .events(let events, _):
                        for event in events {
                            if case .message(let message) = event { words.append("\(message.sequence)") }
                        }
                    case .catchingUp: words.append("catching up")
                    case .live(let through): words.append("live through \(through)")
                    }
                }
            }
            return words
        }
        #expect(try await news("chat.a", from: .all) == ["catching up", "1", "3", "live through 3"])
        #expect(try await news("chat.b", from: .all) == ["catching up", "2", "live through 3"])
        #expect(try await news("chat.c", from: .all) == ["catching up", "live through 3"])
        #expect(try await news("chat.a", from: .new) == ["catching up", "live through 3"])
        await client.close()
    }

    @Test("B38 B40 an outage while the reader is slow costs no message")
    func slowReaderThroughOutage() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        var iterator = try await client.messages(topic: "chat.room").makeAsyncIterator()
        #expect(try await iterator.next() == .live)
        // More than the client takes in for its reader, so that some stay on the server.
        let count = 5_000
        for number in 1...count { try network.store("\(number)") }
        for _ in 0..<3 {
            try await eventually("what its reader has not taken is full") {
                iterator.subscription.stream.channel.isFull
            }
            await client.setReachable(false)
            await client.setReachable(true)
            try await client.state(is: .connected)
        }
        var next = 1
        while next <= count, let event = try await iterator.next() {
            guard case .message(let message) = event else { continue }
            try #require(message.text == "\(next)")
            next += 1
        }
        #expect(next == count + 1)
        await client.close()
    }
}
