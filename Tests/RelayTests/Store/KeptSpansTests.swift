import Testing

@testable import Relay

@Suite("Local store: which parts of a stream are here")
struct KeptSpansTests {
    @Test("B38 a page has a hole wherever two of its messages are not in one part")
    func holes() {
        let spans = KeptSpans([1...9, 20...30])
        #expect(spans.holes(among: [2, 9], before: 10).isEmpty)
        #expect(spans.holes(among: [2, 9], before: 20) == [20])
        #expect(spans.holes(among: [2, 9, 20, 25], before: nil) == [20])
        #expect(spans.holes(among: [2, 9, 20, 25], before: 31).count == 1)
        #expect(spans.holes(among: [], before: 20).isEmpty)
        // Nobody knows what lies between these, and it is said once.
        #expect(KeptSpans([20...30]).holes(among: [3, 5, 8, 20], before: nil) == [20])
    }

    @Test("What is received grows one part, and a part between two others joins them")
    func kept() async throws {
        let store = try StoreFixture.store()
        let pattern = try TopicPattern("chat.lobby")
        func receive(_ spans: ClosedRange<UInt64>..., name: String = "chat.lobby") async throws {
            for span in spans { try await store.commit([.received(name, StoreFixture.stream, span)]) }
        }
        func spans() async throws -> [ClosedRange<UInt64>] {
            try await store.spans(of: pattern, in: StoreFixture.stream).all
        }
        try await receive(10...10, 11...14, 12...13)
        #expect(try await spans() == [10...14])
        try await receive(1...3, 20...29)
        #expect(try await spans() == [1...3, 10...14, 20...29])
        try await receive(4...19)
        #expect(try await spans() == [1...29])
        try await receive(5...40)
        #expect(try await spans() == [1...40])
        // What another pattern brought counts where it has the whole topic.
        try await receive(41...50, name: "chat.*")
        try await receive(51...60, name: "chat.other")
        #expect(try await spans() == [1...50])
        let other = StreamIdentity(name: "N_stream", incarnation: 2)
        #expect(try await store.spans(of: pattern, in: other).all.isEmpty)
    }

    @Test("B38 what is deleted here is not said to be whole any more")
    func deletion() async throws {
        let store = try StoreFixture.store()
        try await store.keep(
            (UInt64(1)...20).map { StoreFixture.line($0, topic: $0 <= 10 ? "odd" : "even") },
            [.received(">", StoreFixture.stream, 1...20), .received("even", StoreFixture.stream, 1...20)])
        try await store.forget(TopicPattern("odd"))
        #expect(try await store.spans(of: TopicPattern(">"), in: StoreFixture.stream).all == [11...20])
        #expect(try await store.spans(of: TopicPattern("even"), in: StoreFixture.stream).all == [1...20])
    }
}
