import Testing

@testable import Relay

@Suite("Local store: how long messages stay")
struct RetentionPolicyTests {
    private let now = Timestamp(milliseconds: 100_000_000)

    private func use(_ number: Int64, _ name: String, bytes: Int = 10, age: Int64 = 0) -> TopicUse {
        TopicUse(
            number: number, name: name, bytes: bytes, oldest: Timestamp(milliseconds: now.milliseconds - age * 1_000))
    }

    @Test("Without bounds nothing is deleted")
    func unlimited() {
        let topics = [use(1, "a", bytes: .max / 4, age: 90_000)]
        #expect(RetentionPolicy.unlimited.nextStep(topics, oldestLetter: Timestamp(milliseconds: 0), now: now) == nil)
    }

    @Test("Old messages go first, by the shorter of two ages; a topic's own bounds replace those of each")
    func age() {
        let policy = RetentionPolicy(
            all: .init(age: .seconds(1_000)), eachTopic: .init(age: .seconds(100)),
            topics: ["long": .init(), "short": .init(age: .seconds(10))])
        func step(_ name: String, _ age: Int64) -> RetentionPolicy.Step? {
            policy.nextStep([use(7, name, age: age)], now: now)
        }
        let before = { (age: Int64) in Timestamp(milliseconds: now.milliseconds - age * 1_000) }
        #expect(step("a", 100) == nil)
        #expect(step("a", 101) == .expired(topic: 7, before: before(100)))
        #expect(step("long", 1_000) == nil)
        #expect(step("long", 1_001) == .expired(topic: 7, before: before(1_000)))
        #expect(step("short", 11) == .expired(topic: 7, before: before(10)))
        #expect(
            policy.nextStep([], oldestLetter: before(1_001), now: now) == .lettersExpired(before: before(1_000)))
    }

    @Test("A pattern bounds each topic that matches it, the first one counts, and a topic's own bounds win")
    func patterns() throws {
        let policy = RetentionPolicy(
            eachTopic: .init(bytes: 50), topics: ["alerts.own": .init(bytes: 70)],
            patterns: [
                .init(try TopicPattern("alerts.disk"), .none), .init(try TopicPattern("alerts.>"), .init(bytes: 20)),
            ])
        func step(_ name: String, _ bytes: Int) -> RetentionPolicy.Step? {
            policy.nextStep([use(7, name, bytes: bytes)], now: now)
        }
        #expect(step("alerts.disk", 1_000) == nil)
        #expect(step("alerts.load", 20) == nil)
        #expect(step("alerts.load", 25) == .shrunk(topic: 7, bytes: 5))
        #expect(step("alerts.own", 71) == .shrunk(topic: 7, bytes: 1))
        #expect(step("chat.qa", 51) == .shrunk(topic: 7, bytes: 1))
        #expect(
            policy.nextStep([use(1, "alerts.a", bytes: 15), use(2, "alerts.b", bytes: 15)], now: now) == nil)
    }

    @Test("Then what is too much for a topic, then what is too much in all")
    func bytes() {
        let policy = RetentionPolicy(all: .init(bytes: 100), eachTopic: .init(bytes: 80))
        #expect(policy.nextStep([use(1, "a", bytes: 80), use(2, "b", bytes: 20)], now: now) == nil)
        #expect(
            policy.nextStep([use(1, "a", bytes: 50), use(2, "b", bytes: 90)], now: now)
                == .shrunk(topic: 2, bytes: 10))
        #expect(
            policy.nextStep([use(1, "a", bytes: 50), use(2, "b", bytes: 80)], now: now) == .allShrunk(bytes: 30))
    }

    @Test("An age beyond all time is none")
    func endless() {
        let policy = RetentionPolicy(all: .init(age: .seconds(Int64.max)))
        #expect(policy.nextStep([use(1, "a", age: 90_000)], now: now) == nil)
    }
}
