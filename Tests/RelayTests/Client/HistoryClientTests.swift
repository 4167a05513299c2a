import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: history from this machine and from a network in memory", .realProcesses)
struct HistoryClientTests {
    private static let create = "$JS.API.CONSUMER.CREATE."

    private let network: MemoryNetwork
    private let folder: TemporaryDirectory

    init() throws {
        network = try MemoryNetwork()
        folder = try TemporaryDirectory("history")
    }

    private var configuration: RelayConfiguration {
        var configuration = network.configuration()
        configuration.store = .file(folder.path("alice.sqlite"))
        return configuration
    }

    private static func numbers(_ range: ClosedRange<Int>) -> [String] { range.map(String.init) }

    private func store(_ range: ClosedRange<Int>) throws {
        for number in range { try network.store("\(number)") }
    }

    /// Has a client receive some lines, and be gone.
    private func receive(_ range: ClosedRange<Int>) async throws {
        let client = try await network.connected(configuration)
        let received = try await client.gathered("chat.room")
        try store(range)
        try await received.wait(forText: "\(range.upperBound)")
        await client.close()
    }

    /// Everything of the topic that a client without a connection has.
    private func offline() async throws -> TopicHistory {
        try await network.client(configuration).history(topic: "chat.room", before: nil, limit: 100)
    }

    private func settle(_ client: RelayClient) async throws {
        let store = try #require(await client.keptStore())
        try await store.flush()
    }

    @Test("What nobody answers, as where a stream's leader has just ended, is asked once more")
    func unansweredQuestion() async throws {
        var network = try MemoryNetwork()
        // The question is asked again no sooner than the silence is over.
        network.answerLimit = .seconds(30)
        for number in 1...3 { try network.store("\(number)") }
        let client = try await network.connected()
        let before = network.server.received.count
        network.server.fail(subjectPrefix: "$JS.API.", with: .silence)
        let question = Task { try await client.history(topic: "chat.room", before: nil, limit: 100) }
        try await eventually("a question") {
            network.server.received.dropFirst(before).contains { $0.hasPrefix("$JS.API.") }
        }
        network.server.fail(subjectPrefix: "$JS.API.", with: nil)
        #expect(try await question.value.messages.map(\.text) == ["1", "2", "3"])
        await client.close()
    }

    @Test("B48 a page that the network brought is here the second time, and without a connection")
    func keptPages() async throws {
        try store(1...30)
        let client = try await network.connected(configuration)
        let newest = try await client.history(topic: "chat.room", before: nil, limit: 10)
        #expect(newest.map(\.text) == Self.numbers(21...30) && !newest.isComplete && !newest.isOffline)
        try await settle(client)
        let refusal = JetStreamFailure(code: 403, errorCode: 10_025, text: "not authorized")
        network.server.fail(subjectPrefix: Self.create, with: .refusal(refusal))
        let again = try await client.history(topic: "chat.room", before: nil, limit: 10)
        #expect(again.map(\.text) == Self.numbers(21...30))
        let part = try await client.history(topic: "chat.room", from: 22, through: 28, limit: 3)
        #expect(part.map(\.text) == Self.numbers(22...24))
        await #expect(throws: RelayError.self) {
            try await client.history(topic: "chat.room", before: 21, limit: 10)
        }
        network.server.fail(subjectPrefix: Self.create, with: nil)
        let older = try await client.history(topic: "chat.room", before: 26, limit: 15)
        #expect(older.map(\.text) == Self.numbers(11...25) && !older.isComplete)
        try await settle(client)
        let oldest = try await client.history(topic: "chat.room", before: 11, limit: 100)
        #expect(oldest.map(\.text) == Self.numbers(1...10) && oldest.isComplete)
        await client.close()

        let stored = try await offline()
        #expect(stored.map(\.text) == Self.numbers(1...30))
        #expect(stored.isOffline && stored.isComplete && stored.gaps.isEmpty && stored.asOf != nil)
    }

    @Test("B48 the limit is exact wherever what is here ends and the network goes on")
    func limits() async throws {
        try await receive(1...10)
        try store(11...20)
        for limit in [1, 9, 10, 11, 15, 20, 25] {
            let client = try await network.connected(configuration)
            let expected = Self.numbers(1...min(limit, 20))
            let first = try await client.history(
                topic: "chat.room", start: Timestamp(milliseconds: 0), limit: limit)
            #expect(first.map(\.text) == expected && first.next == nil, "\(limit)")
            let counted = try await client.history(topic: "chat.room", from: 1, limit: limit)
            #expect(counted.map(\.text) == expected, "\(limit)")
            let newest = try await client.history(topic: "chat.room", before: nil, limit: limit)
            #expect(newest.map(\.text) == Self.numbers(max(1, 21 - limit)...20), "\(limit)")
            await client.close()
        }
    }

    @Test("B48 history goes on behind a place, by sequence, and refuses what cannot be")
    func addressing() async throws {
        try await receive(1...10)
        try store(11...12)
        let client = try await network.connected(configuration)
        let first = try await client.history(topic: "chat.room", from: 3, through: 5)
        #expect(first.map(\.text) == Self.numbers(3...5))
        let place = try #require(first.place)
        let behind = try await client.history(topic: "chat.room", behind: place, limit: 6)
        #expect(behind.map(\.text) == Self.numbers(6...11) && !behind.isRestarted)
        let elsewhere = KeptPlace(stream: StreamIdentity(name: "test_stream", incarnation: 1), sequence: 7)
        let anew = try await client.history(topic: "chat.room", behind: elsewhere)
        #expect(anew.map(\.text) == Self.numbers(1...12) && anew.isRestarted)
        #expect(try await client.history(topic: "chat.room", from: 13).isEmpty)
        await #expect(throws: RelayError.invalidArgument("The start lies after the end")) {
            try await client.history(topic: "chat.room", from: 9, through: 8)
        }
        let (now, earlier) = (Timestamp.now, Timestamp(milliseconds: 1))
        await #expect(throws: RelayError.invalidArgument("The start lies after the end")) {
            try await client.history(topic: "chat.room", start: now, end: earlier)
        }
        await #expect(throws: RelayError.self) { try await client.history(topic: "chat.room", from: 14) }
        await #expect(throws: RelayError.self) { try await client.history(topic: "chat.room", from: 1, limit: 0) }
        await client.close()
        await #expect(throws: RelayError.invalidArgument("The start lies after the end")) {
            try await client.history(topic: "chat.room", start: now, end: earlier)
        }
        let offline = try await client.history(topic: "chat.room", from: 4, through: 6)
        #expect(offline.map(\.text) == Self.numbers(4...6) && offline.isOffline && offline.asOf != nil)
        let later = try await client.history(topic: "chat.room", behind: place, limit: 2)
        #expect(later.map(\.text) == Self.numbers(6...7) && later.isOffline)
    }

    @Test(
        "B48 what the future is the server's clock says, of old servers as well, and offline what is stored says more",
        arguments: ["2.10.0", "2.9.10"], [-7_200, 0, 7_200] as [Int64])
    func future(version: String, ahead: Int64) async throws {
        let network = try MemoryNetwork(ahead: .seconds(ahead))
        var info = network.server.info
        info.version = version
        network.server.info = info
        var configuration = network.configuration()
        configuration.store = .file(folder.path("\(version)\(ahead).sqlite"))
        try network.store("said")
        let client = try await network.connected(configuration)
        let here = Timestamp.now.milliseconds
        let now = here + ahead * 1_000
        let refusal = RelayError.invalidArgument("The start lies in the future")

        let past = Timestamp(milliseconds: now - 3_600_000)
        #expect(try await client.history(topic: "chat.room", start: past).map(\.text) == ["said"])
        // By the clock of this machine alone this would be the future where the server's is ahead.
        await #expect(throws: refusal) {
            try await client.history(topic: "chat.room", start: Timestamp(milliseconds: max(now, here) + 3_600_000))
        }
        if ahead < 0, version != "2.9.10" {
            await #expect(throws: refusal) {
                try await client.history(topic: "chat.room", start: Timestamp(milliseconds: now + 3_600_000))
            }
        }
        try await settle(client)
        await client.close()

        let offline = try await client.history(topic: "chat.room", start: past)
        #expect(offline.map(\.text) == ["said"] && offline.isOffline)
        await #expect(throws: refusal) {
            try await client.history(topic: "chat.room", start: Timestamp(milliseconds: max(now, here) + 3_600_000))
        }
    }

    @Test("B38 B48 offline a hole between what is stored is said, and the network makes it whole")
    func holes() async throws {
        try await receive(1...5)
        try store(6...10)
        try await receive(11...12)
        let broken = try await offline()
        #expect(broken.map(\.text) == Self.numbers(1...5) + Self.numbers(11...12))
        #expect(broken.gaps == [KeptGap(end: 11, lost: 0)] && broken.isComplete)
        let byTime = try await network.client(configuration).history(
            topic: "chat.room", start: Timestamp(milliseconds: 0))
        #expect(byTime.isOffline && byTime.gaps == [KeptGap(end: 11, lost: 0)])

        let client = try await network.connected(configuration)
        let whole = try await client.history(topic: "chat.room", before: nil, limit: 100)
        #expect(whole.map(\.text) == Self.numbers(1...12) && whole.gaps.isEmpty && whole.isComplete)
        await client.close()
        let mended = try await offline()
        #expect(mended.map(\.text) == Self.numbers(1...12) && mended.gaps.isEmpty)
        #expect(try await client.keptMessages(topic: "chat.room", limit: 100).messages.count == 12)
    }

    @Test("B49 what cannot be read is told beside a page, and does not count")
    func unreadable() async throws {
        try store(1...2)
        try network.server.store("h4sh.chat.room", [0xC1, 0xFF])
        try network.store("4")
        let client = try await network.connected(configuration)
        let page = try await client.history(topic: "chat.room", before: nil, limit: 2)
        #expect(page.map(\.text) == ["2", "4"] && page.unreadable.map(\.place.sequence) == [3])
        let first = try await client.history(topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 3)
        #expect(first.map(\.text) == ["1", "2", "4"] && first.unreadable.count == 1)
        await client.close()
    }

    @Test("B38 what the network deleted between what is here and what it has is told as a number")
    func retention() async throws {
        try await receive(1...5)
        try store(6...10)
        network.server.purge("test_stream", before: 9)
        let client = try await network.connected(configuration)
        let page = try await client.history(topic: "chat.room", before: nil, limit: 100)
        #expect(page.map(\.text) == Self.numbers(1...5) + Self.numbers(9...10))
        #expect(page.gaps == [KeptGap(end: 9, lost: 3)] && page.isComplete)
        await client.close()
        let stored = try await offline()
        #expect(stored.map(\.text) == page.map(\.text) && stored.gaps == page.gaps)
    }
}
