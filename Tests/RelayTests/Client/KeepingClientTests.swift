import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: what it keeps on this machine, over a network in memory", .realProcesses)
struct KeepingClientTests {
    private let network: MemoryNetwork
    private let folder: TemporaryDirectory

    init() throws {
        network = try MemoryNetwork()
        folder = try TemporaryDirectory("kept")
    }

    private var configuration: RelayConfiguration {
        var configuration = network.configuration()
        configuration.store = .file(folder.path("alice.sqlite"))
        return configuration
    }

    private static func texts(_ page: KeptPage) -> [String] { page.messages.compactMap { $0.message?.text } }

    private static func numbers(_ range: ClosedRange<Int>) -> [String] { range.map(String.init) }

    /// Has a client receive some lines, and be gone.
    private func receive(_ range: ClosedRange<Int>) async throws {
        let client = try await network.connected(configuration)
        let received = try await client.gathered("chat.room")
        for number in range { try network.store("\(number)") }
        try await received.wait(forText: "\(range.upperBound)")
        await client.close()
    }

    /// The texts that are kept of the topic.
    private func kept(_ client: RelayClient, of topic: String = "chat.room") async throws -> [String] {
        let page = try await client.keptMessages(topic: topic, limit: 100)
        return Self.texts(page)
    }

    /// How far the topic has been received.
    private func cursor(_ client: RelayClient, of topic: String = "chat.room") async throws -> KeptPlace {
        let store = try #require(await client.keptStore())
        let cursor = try await store.cursor(of: topic)
        return try #require(cursor)
    }

    @Test("B38 across an outage what was received comes and is kept once and in order, with how far it goes")
    func reconnect() async throws {
        let client = try await network.connected(configuration)
        let received = try await client.gathered("chat.room")
        for number in 1...20 { try network.store("\(number)") }
        try await received.wait(forText: "20")
        try await network.takeConnection(of: client)
        for number in 21...40 { try network.store("\(number)") }
        try network.store("not subscribed to", on: "chat.other")
        await client.setReachable(true)
        try await received.wait(forText: "40")
        #expect(received.texts == Self.numbers(1...40) && received.recovered == Self.numbers(21...40))
        await client.close()

        let page = try await client.keptMessages(topic: "chat.room", limit: 100)
        #expect(Self.texts(page) == Self.numbers(1...40))
        #expect(page.messages.map(\.place.sequence) == Array(1...40))
        #expect(page.isComplete && page.gaps.isEmpty)
        #expect(try await cursor(client).sequence == 40)
        let older = try await client.keptMessages(topic: "chat.room", before: 11, limit: 5)
        #expect(Self.texts(older) == Self.numbers(6...10) && !older.isComplete)
        let oldest = try await client.keptMessages(topic: "chat.room", before: 6, limit: 5)
        #expect(Self.texts(oldest) == Self.numbers(1...5) && oldest.isComplete)
        #expect(try await client.keptMessages(topic: "chat.other", limit: 5).messages.isEmpty)
    }

    @Test("B9 B38 a topic where nothing came goes on where it was live, so that what is missed is not taken for old")
    func nothingReceived() async throws {
        for number in 1...3 { try network.store("\(number)") }
        let first = try await network.connected(configuration)
        _ = try await first.gathered("chat.room")
        await first.close()
        #expect(try await cursor(first).sequence == 3)
        let store = try #require(await first.keptStore())
        #expect(try await store.readMark(of: "chat.room")?.sequence == 3)
        for number in 4...5 { try network.store("\(number)") }

        let client = network.client(configuration)
        let received = Gathered(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        try await client.connect()
        try await received.wait(forText: "5")
        #expect(received.texts == ["4", "5"])
        await client.close()
    }

    @Test("B38 a stream that was made anew meanwhile is received from its beginning, and its old life is not mixed in")
    func streamMadeAnew() async throws {
        try await receive(1...3)
        network.server.deleteStream("test_stream")
        try network.server.createStream("test_stream", subjects: ["h4sh.>"])
        for number in 1...5 { try network.store("new \(number)") }

        let client = network.client(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        try await client.connect()
        try await eventually("the new messages") { heard.all.contains { $0.hasSuffix("new 5") } }
        #expect(heard.all.first == "restarted")
        let new = (1...5).map { "new \($0)" }
        #expect(heard.all.filter { $0.contains("new") }.map { String($0.suffix(5)) } == new)
        await client.close()
        #expect(try await kept(client) == new)
        let history = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(history.isOffline && history.map(\.text) == new)
    }

    @Test(
        "B38 what the network deleted meanwhile is known as a hole, and nothing is shown across one that may be filled")
    func holes() async throws {
        try await receive(1...1)
        for number in 2...6 { try network.store("\(number)") }
        network.server.purge("test_stream")
        try network.store("7")

        let client = network.client(configuration)
        let received = Gathered(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        try await client.connect()
        try await received.wait(forText: "7")
        #expect(received.all.first == .gap(lost: 5))
        await client.close()
        let page = try await client.keptMessages(topic: "chat.room", limit: 100)
        #expect(Self.texts(page) == ["1", "7"] && page.gaps == [KeptGap(end: 7, lost: 5)])
        #expect(try await client.keptMessages(topic: "chat.room", limit: 1).gaps.isEmpty)

        // What begins anew leaves out what the network has, so that what is kept before it does not follow on.
        try network.store("8")
        try await receive(9...10)
        let behind = try await network.client(configuration).keptMessages(topic: "chat.room", limit: 100)
        #expect(Self.texts(behind) == ["9", "10"] && behind.isComplete && behind.gaps.isEmpty)
    }

    @Test("B38 a message that its sender has stored twice is kept once, and leaves no hole where its repetition was")
    func storedTwice() async throws {
        let client = try await network.connected(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        let line = Envelope(id: "twice", room: "chat.room", message: .string("1"), start: .now).encoded()
        try network.server.store("h4sh.chat.room", line)
        try await heard.wait(for: "> 1")
        // The repetition comes alone.
        try await network.takeConnection(of: client)
        try network.server.store("h4sh.chat.room", line)
        await client.setReachable(true)
        try await heard.wait(for: "live", times: 2)
        try network.store("2")
        try await heard.wait(for: "> 2")
        await client.close()
        #expect(heard.texts == ["1", "2"])
        let page = try await client.keptMessages(topic: "chat.room", limit: 100)
        #expect(Self.texts(page) == ["1", "2"] && page.isComplete && page.gaps.isEmpty)
        #expect(try await cursor(client).sequence == 3)
    }

    @Test("B38 where the network lost its newest messages, what comes in their places is kept, and they stay here")
    func newestLost() async throws {
        try await receive(1...10)
        network.server.dropNewest(3, in: "test_stream")
        let client = network.client(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        try await client.connect()
        try await heard.wait(for: "live")
        #expect(heard.all.first == "restarted")
        try network.store("again 8")
        try await heard.wait(for: "> again 8")
        await client.close()
        #expect(try await kept(client) == Self.numbers(1...7) + ["again 8"])
        let store = try #require(await client.keptStore())
        let all = try await store.messages(of: TopicPattern("chat.room"), limit: 100).messages
        #expect(all.compactMap { $0.message?.text } == Self.numbers(1...7) + ["again 8"] + Self.numbers(8...10))
        #expect(try await client.history(topic: "chat.room", from: 1).map(\.text) == Self.numbers(1...7) + ["again 8"])
    }

    @Test("B38 a replica may lag for half a minute: what lasts is a loss", arguments: [true, false])
    func replicaStandsStill(catchesUp: Bool) async throws {
        network.server.info.cluster = "three"
        try await receive(1...10)
        network.server.dropNewest(3, in: "test_stream")
        let client = network.client(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        await client.beginConnecting()
        try await client.enqueue(topic: "chat.room", message: "mine")
        let asked = network.time.now
        try await network.letTimePass("twenty seconds") { network.time.now - asked > .seconds(20) }
        #expect(heard.all.isEmpty && client.queuedCount == 1)
        if catchesUp { for number in 8...10 { try network.store("\(number)") } }
        try await network.letTimePass("the topic") { heard.all.contains("live") }
        try await network.letTimePass("the line") { heard.all.contains { $0.hasSuffix("mine") } }
        #expect(heard.all.contains("restarted") == !catchesUp && !heard.all.contains { $0.hasSuffix(" 8") })
        await client.close()
        #expect(try await kept(client) == Self.numbers(catchesUp ? 1...10 : 1...7) + ["mine"])
    }

    @Test("What the configuration does not keep goes while the client runs, and nothing else")
    func retention() async throws {
        var configuration = configuration
        configuration.retention = RetentionPolicy(topics: ["chat.room": .init(bytes: 1)])
        let client = try await network.connected(configuration)
        let received = try await client.gathered("chat.>")
        for number in 1...20 { try network.store("\(number)") }
        try network.store("stays", on: "chat.other")
        try await received.wait(forText: "stays")
        let store = try #require(await client.keptStore())
        try await store.flush()
        #expect(try await client.keptMessages(topic: "chat.>", limit: 100).messages.count == 21)
        try await eventually("the deletion") {
            if let wait = network.time.untilNext { network.time.advance(by: wait) }
            let page = try await client.keptMessages(topic: "chat.>", limit: 100)
            return Self.texts(page) == ["stays"]
        }
        await client.close()
    }

    @Test("B34 what cannot be read is reported, and kept as it came")
    func unreadable() async throws {
        let client = try await network.connected(configuration)
        let received = try await client.gathered("chat.>")
        try network.server.store("h4sh.chat.room", [0xC1, 0xFF])
        try network.store("fine")
        try await received.wait(forText: "fine")
        #expect(received.all.contains(.unreadable(sequence: 1, topic: "chat.room", bytes: 2)))
        await client.close()
        let messages = try await client.keptMessages(topic: "chat.>", limit: 10).messages
        #expect(messages.map(\.payload.count).first == 2)
        #expect(messages.map { $0.message?.text } == [nil, "fine"] && messages.allSatisfy { $0.topic == "chat.room" })
    }

    @Test("B48 without a file nothing is kept, and history without a connection is empty and says so")
    func withoutFile() async throws {
        let client = try await network.connected()
        let received = try await client.gathered("chat.room")
        try network.store("1")
        try await received.wait(forText: "1")
        let online = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(online.map(\.text) == ["1"] && !online.isOffline)
        await client.close()
        #expect(await client.keptStore() == nil)
        #expect(try await client.keptLetters() == nil)
        let page = try await client.keptMessages(topic: "chat.room", limit: 10)
        #expect(page.messages.isEmpty && page.isComplete)
        let offline = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(offline.isEmpty && offline.isOffline)
        await #expect(throws: RelayError.self) {
            try await client.history(topic: "chat.room", start: Timestamp(milliseconds: .max))
        }
        await #expect(throws: RelayError.self) { try await client.keptMessages(topic: "a b", limit: 10) }
        await #expect(throws: RelayError.self) { try await client.keptMessages(topic: "chat.room", limit: 0) }
    }

    @Test("B9 B38 B48 another client on the same file has all that before it connects, and goes on behind it")
    func offlineStart() async throws {
        try await receive(1...10)
        for number in 11...15 { try network.store("\(number)") }

        let client = network.client(configuration)
        #expect(try await kept(client) == Self.numbers(1...10))
        let offline = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 9)
        #expect(offline.isOffline && offline.map(\.text) == Self.numbers(1...9))
        #expect(client.status.state == .initialized)

        let messages = try await client.messages(topic: "chat.room", from: .after(cursor(client)))
        let received = Gathered(messages)
        try await client.connect()
        try await received.wait(forText: "15")
        try network.store("16")
        try await received.wait(forText: "16")
        #expect(received.texts == Self.numbers(11...16))
        #expect(!received.all.contains { if case .gap = $0 { true } else { false } })
        let online = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(!online.isOffline && online.count == 16)
        await client.close()
        #expect(try await kept(client) == Self.numbers(1...16))
    }

    @Test("B38 a replica of a cluster that lags for a moment has lost nothing")
    func laggingReplica() async throws {
        network.server.info.cluster = "three"
        try await receive(1...10)
        network.server.dropNewest(3, in: "test_stream")
        func questions() -> Int { network.server.received.count { $0.hasSuffix("STREAM.INFO.test_stream") } }
        let asked = questions()
        let client = network.client(configuration)
        let heard = Heard(try await client.messages(topic: "chat.room", from: .after(cursor(client))))
        await client.beginConnecting()
        try await eventually("the first question") { questions() > asked }
        // The replica has caught up.
        for number in 8...10 { try network.store("\(number)") }
        try await eventually("the connection") {
            if let wait = network.time.untilNext { network.time.advance(by: min(wait, .milliseconds(250))) }
            return heard.all.contains("live")
        }
        try network.store("11")
        try await heard.wait(for: "> 11")
        #expect(!heard.all.contains("restarted") && !heard.all.contains { $0.hasPrefix("> 8") })
        await client.close()
        #expect(try await kept(client) == Self.numbers(1...11))
    }

    @Test("B38 what others store while a cluster's loss is found out is shown and kept, whatever topics are read")
    func storedMeanwhile() async throws {
        network.server.info.cluster = "three"
        let topics = ["chat.room", "chat.other"]
        let earlier = try await network.connected(configuration)
        let received = [try await earlier.gathered(topics[0]), try await earlier.gathered(topics[1])]
        for number in 1...4 {
            for topic in topics { try network.store("\(number)", on: topic) }
        }
        for topic in received { try await topic.wait(forText: "4") }
        await earlier.close()
        network.server.dropNewest(6, in: "test_stream")
        let client = network.client(configuration)
        var heard: [Heard] = []
        for topic in topics {
            let place = try await cursor(client, of: topic)
            heard.append(Heard(try await client.messages(topic: topic, from: .after(place))))
        }
        await client.beginConnecting()
        let asked = network.time.now
        try await network.letTimePass("twenty seconds") { network.time.now - asked > .seconds(20) }
        for topic in topics { try network.store("new", on: topic) }
        try await network.letTimePass("the topics") { [heard] in heard.allSatisfy { $0.all.contains("live") } }
        for topic in heard { #expect(topic.all == ["restarted", "↺ new", "live"]) }
        await client.close()
        for topic in topics { #expect(try await kept(client, of: topic) == ["1", "new"]) }
    }
}
