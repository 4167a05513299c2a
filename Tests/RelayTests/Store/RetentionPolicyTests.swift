import Testing

@testable import Relay

@Suite("Local store: how long messages stay")
struct RetentionPolicyTests {
    private let now = Timestamp(milliseconds: 100_000_000)

    private func before(_ age: Int64) -> Timestamp { Timestamp(milliseconds: now.milliseconds - age * 1_000) }

    @Test("Old messages go by the shorter of two ages; a topic's own bounds replace those of each")
    func age() {
        let policy = RetentionPolicy(
            all: .init(age: .seconds(1_000)), eachTopic: .init(age: .seconds(100)),
            topics: ["long": .init(), "short": .init(age: .seconds(10))])
        #expect(policy.firstKept(of: "a", now: now) == before(100))
        #expect(policy.firstKept(of: "long", now: now) == before(1_000))
        #expect(policy.firstKept(of: "short", now: now) == before(10))
        #expect(policy.firstKept(now: now) == before(1_000))
    }

    @Test("A pattern bounds each topic that matches it, the first one counts, and a topic's own bounds win")
    func patterns() throws {
        let policy = RetentionPolicy(
            eachTopic: .init(bytes: 50), topics: ["alerts.own": .init(bytes: 70)],
            patterns: [
                .init(try TopicPattern("alerts.disk"), .none), .init(try TopicPattern("alerts.>"), .init(bytes: 20)),
            ])
        let bytes = ["alerts.disk", "alerts.load", "alerts.own", "chat.qa"].map { policy.limit(of: $0).bytes }
        #expect(bytes == [nil, 20, 70, 50])
    }

    @Test("What is too old goes first, then what is too much for a topic, then what is too much in all")
    func order() async throws {
        let (fixture, store) = try StoreFixture.opened()
        let present = fixture.time.secondsSince1970 * 1_000
        let text = String(repeating: "x", count: 1_000)
        try await store.keep(
            (UInt64(1)...40).map { number in
                StoreFixture.line(
                    number, text, topic: number % 4 == 0 ? "small" : "large",
                    time: present - (number <= 8 ? 7_200_000 : 60_000))
            })
        let bytes = try await store.status().messageBytes / 40
        let policy = RetentionPolicy(
            all: .init(age: .seconds(3_600), bytes: bytes * 17 + bytes / 2),
            topics: ["large": .init(bytes: bytes * 12 + bytes / 2)])
        var left: [[Int]] = []
        while try await store.compactStep(policy) {
            let figures = [try await store.sequences("large").count, try await store.sequences("small").count]
            if left.last != figures { left.append(figures) }
        }
        #expect(left == [[24, 10], [24, 8], [12, 8], [12, 5]])
        try await store.close()
    }

    @Test("An age beyond all time is none")
    func endless() {
        #expect(RetentionPolicy(all: .init(age: .seconds(Int64.max))).firstKept(of: "a", now: now) == nil)
    }
}
