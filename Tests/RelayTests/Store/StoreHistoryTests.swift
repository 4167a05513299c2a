import Testing

@testable import Relay

@Suite("Local store: messages of topics")
struct StoreHistoryTests {
    @Test("What is kept is what came")
    func whole() async throws {
        let store = try StoreFixture.store()
        var strange = KeptMessage(
            place: StoreFixture.place(2), topic: "chat.lobby", time: Timestamp(milliseconds: -1), payload: [])
        let line = StoreFixture.line(1, "今天 \u{1F600}", from: "carol")
        try await store.keep([line, strange])
        strange.place.sequence = RowNumber.sequences
        try await store.keep([strange])
        strange.place.sequence = 2
        let messages = try await store.messages(of: TopicPattern("chat.lobby"), limit: 10).messages
        #expect(messages == [line, strange])
        #expect(messages[0].message?.text == "今天 \u{1F600}" && messages[0].message?.from == "carol")
        // An empty message is one.
        #expect(messages[1].message?.text == "")
        // There is no room for a sequence of so many digits.
        #expect(try await store.status().notKept == 1)
    }

    @Test("B46 pages before and after a place follow the sequence, each message once, and a full page can be the last")
    func pages() async throws {
        let store = try StoreFixture.store()
        // All have the same time, and the later ones come first.
        let all = (UInt64(1)...25).map { StoreFixture.line($0, time: 7) }
        try await store.keep(Array(all[10...]))
        try await store.keep(Array(all[..<10]))
        let pattern = try TopicPattern("chat.lobby")

        var seen: [UInt64] = []
        var place: KeptPlace?
        while true {
            let page = try await store.messages(of: pattern, before: place, limit: 5)
            seen = page.sequences + seen
            place = page.messages.first?.place
            #expect(page.messages.count == 5)
            if page.isComplete { break }
        }
        #expect(seen == Array(1...25))

        seen = []
        place = nil
        while true {
            let page = try await store.messages(of: pattern, after: place, limit: 5)
            seen += page.sequences
            place = page.messages.last?.place
            if page.isComplete { break }
        }
        #expect(seen == Array(1...25))
        #expect(
            try await store.messages(of: pattern, before: StoreFixture.place(11), limit: 3).sequences == [8, 9, 10])
        #expect(try await store.messages(of: pattern, after: StoreFixture.place(25), limit: 3).messages.isEmpty)
    }

    @Test("B48 a time range has both its ends, exactly as many as asked for, and nothing of other topics")
    func times() async throws {
        let store = try StoreFixture.store()
        try await store.keep((UInt64(1)...100).map { StoreFixture.line($0, topic: $0 % 2 == 0 ? "even" : "odd") })
        func even(_ limit: Int, from start: Int64, through end: Int64?) async throws -> (
            sequences: [UInt64], isAll: Bool
        ) {
            let part = try await store.oldest(
                limit, of: TopicPattern("even"), in: StoreFixture.stream, 0...1_000,
                from: Timestamp(milliseconds: start), through: end.map { Timestamp(milliseconds: $0) }, bytes: .max)
            #expect(part.endsInTime == (end.map { $0 < 100_000 } ?? false))
            return (part.page.sequences, part.page.isComplete)
        }
        #expect(try await even(100, from: 10_000, through: 20_000) == ([10, 12, 14, 16, 18, 20], true))
        #expect(try await even(2, from: 10_000, through: 20_000) == ([10, 12], false))
        #expect(try await even(100, from: 97_500, through: nil) == ([98, 100], true))
        #expect(try await even(9, from: 100_001, through: nil) == ([], true))
        for limit in [0, -1, 10_001] {
            await #expect(throws: RelayError.invalidArgument("The limit is from 1 to 10000")) {
                try await store.messages(of: TopicPattern("even"), limit: limit)
            }
        }
    }

    @Test("Patterns find the topics that they match, in the order of the stream")
    func patterns() async throws {
        let store = try StoreFixture.store()
        let topics = ["chat.a", "chat.b", "chat.b.c", "alerts"]
        try await store.keep((UInt64(0)..<40).map { StoreFixture.line($0 + 1, topic: topics[Int($0) % 4]) })
        let every = { (numbers: Set<Int>) in (UInt64(1)...40).filter { numbers.contains(Int($0 - 1) % 4) } }
        #expect(try await store.sequences("chat.a") == every([0]))
        #expect(try await store.sequences("chat.*") == every([0, 1]))
        #expect(try await store.sequences("chat.>") == every([0, 1, 2]))
        #expect(try await store.sequences("*") == every([3]))
        #expect(try await store.sequences(">") == Array(1...40))
        #expect(try await store.sequences("none.>") == [])
        let page = try await store.messages(of: TopicPattern("chat.*"), limit: 3)
        #expect(page.sequences == [34, 37, 38] && !page.isComplete)
        let first = try await store.messages(of: TopicPattern("chat.>"), after: nil, limit: 4)
        #expect(first.sequences == [1, 2, 3, 5] && !first.isComplete)
    }

    @Test("A stream that was made anew is another, whose messages come behind those of the old one")
    func incarnations() async throws {
        let store = try StoreFixture.store()
        let anew = StreamIdentity(name: StoreFixture.stream.name, incarnation: 2_000)
        try await store.keep((1...3).map { StoreFixture.line($0) })
        try await store.keep([
            StoreFixture.line(1, "new", time: 50_000, stream: anew), StoreFixture.line(2, time: 51_000, stream: anew),
        ])
        let page = try await store.messages(of: TopicPattern(">"), limit: 10)
        #expect(page.sequences == [1, 2, 3, 1, 2])
        #expect(page.messages.map(\.place.stream.incarnation) == [1_000, 1_000, 1_000, 2_000, 2_000])
        let place = KeptPlace(stream: anew, sequence: 1)
        #expect(try await store.messages(of: TopicPattern(">"), before: place, limit: 1).sequences == [3])
        #expect(
            try await store.messages(of: TopicPattern(">"), after: StoreFixture.place(3), limit: 1).messages[0].message?
                .text == "new")
        let unknown = KeptPlace(stream: StreamIdentity(name: "other", incarnation: 1), sequence: 1)
        #expect(try await store.messages(of: TopicPattern(">"), after: unknown, limit: 9).messages.isEmpty)
        #expect(try await store.messages(of: TopicPattern(">"), before: unknown, limit: 9).messages.count == 5)
    }

    @Test("The holes of a part of a stream are those that end in it, in their order, each subscription's its own")
    func holes() async throws {
        let store = try StoreFixture.store()
        let gaps = [5, 9, 20].map { KeptGap(end: $0, lost: $0 / 2) }
        var changes = gaps.reversed().map { StoreChange.gap("chat.lobby", StoreFixture.stream, $0) }
        let other = StreamIdentity(name: StoreFixture.stream.name, incarnation: 7)
        changes.append(.gap("chat.lobby", other, KeptGap(end: 8, lost: 1)))
        changes.append(.gap("chat.qa", StoreFixture.stream, KeptGap(end: 8, lost: 1)))
        changes.append(.received("chat.lobby", StoreFixture.stream, 1...30))
        changes.append(.received("chat.qa", StoreFixture.stream, 1...10))
        changes.append(.received("chat.qa", StoreFixture.stream, 21...30))
        try await store.keep([], changes)
        func holes(_ topic: String, _ sequences: [UInt64]) async throws -> [KeptGap] {
            try await store.holes(of: TopicPattern(topic), in: StoreFixture.stream, among: sequences)
        }
        #expect(try await holes("chat.lobby", [1, 30]) == gaps)
        #expect(try await holes("chat.lobby", [5, 19]) == [gaps[1]])
        #expect(try await holes("chat.none", [1, 30]).isEmpty)
        #expect(try await holes("chat.lobby", []).isEmpty)
        // What nobody asked for may be missing, too.
        #expect(
            try await holes("chat.qa", [2, 9, 21, 25]) == [KeptGap(end: 8, lost: 1), KeptGap(end: 21, lost: 0)])
    }
}
