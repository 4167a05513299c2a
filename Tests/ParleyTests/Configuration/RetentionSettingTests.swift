import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Settings of the local store: how long messages stay")
struct RetentionSettingTests {
    private func plan(_ file: String, _ words: [String] = []) throws -> ConnectionPlan {
        let folder = try TemporaryDirectory("retention")
        try folder.write(file, to: "config.json")
        return try ConnectionOptions.parse(words + ["--config", folder.path("config.json")]).plan(["USER": "alice"])
    }

    private func policy(_ retention: String) throws -> RetentionPolicy {
        try plan("{ retention: \(retention) }").retention
    }

    private func complaint(_ retention: String) -> String? {
        do { _ = try policy(retention) } catch {
            guard let failure = error as? CommandFailure, failure.code == .badConfiguration else {
                return "\(error)"
            }
            return failure.text
        }
        return nil
    }

    @Test("Without a word on it, and for what is not said, Parley's own rule holds")
    func nothing() throws {
        #expect(try plan("{}").retention == .parley)
        #expect(try policy("{}") == .parley)
        #expect(
            try policy("{ age: '30d' }").all
                == .init(age: .seconds(30 * 86_400), bytes: RetentionPolicy.parley.all.bytes))
        #expect(try policy("{ size: 'none' }") == .unlimited)
    }

    @Test(
        "Ages have a unit, and sizes are in powers of ten or of two",
        arguments: [
            ("90s", "1B", 90, 1), ("15m", "2kB", 900, 2_000), ("2h", "2 KiB", 7_200, 2_048),
            ("1w", "0.5GB", 604_800, 500_000_000), ("1.5d", "1GiB", 129_600, 1 << 30),
        ] as [(String, String, Int, Int)])
    func units(age: String, size: String, seconds: Int, bytes: Int) throws {
        let policy = try policy("{ age: '\(age)', size: '\(size)' }")
        #expect(policy.all == .init(age: .seconds(seconds), bytes: bytes))
    }

    @Test("Topics and patterns have bounds of their own, in the order in which they are written")
    func topics() throws {
        let policy = try policy(
            """
            {
              // what is said of all of them
              age: '365d',
              topics: [
                { topic: 'alerts.disk' },
                { topic: 'alerts.>', age: '7d', size: '10MB' },
              ],
            }
            """)
        let expected: [RetentionPolicy.PatternLimit] = [
            .init(try TopicPattern("alerts.disk"), .none),
            .init(try TopicPattern("alerts.>"), .init(age: .seconds(7 * 86_400), bytes: 10_000_000)),
        ]
        #expect(policy.patterns == expected)
        #expect(policy.all.age == .seconds(365 * 86_400))
    }

    @Test("A profile's own rule replaces the one for all profiles")
    func profiles() throws {
        let file = """
            { retention: { age: '30d' }, profiles: { work: { retention: { size: '1MB' } }, home: {} } }
            """
        #expect(try plan(file, ["--profile", "home"]).retention.all.age == .seconds(30 * 86_400))
        let work = try plan(file, ["--profile", "work"]).retention
        #expect(work.all == .init(age: nil, bytes: 1_000_000))
    }

    @Test(
        "A mistake is named with its line and column",
        arguments: [
            ("{ ages: '1d' }", 16, "“ages” is not a setting"),
            ("{ age: 30 }", 21, "retention.age is not a text"),
            ("{ age: '30' }", 21, "retention.age: “30” is no age"),
            ("{ age: '0d' }", 21, "retention.age: “0d” is no age"),
            ("{ size: 'big' }", 22, "retention.size: “big” is no size"),
            ("{ size: '10' }", 22, "retention.size: “10” is no size"),
            ("{ size: '-1MB' }", 22, "retention.size"),
            ("{ size: '0.1B' }", 22, "retention.size"),
            ("{ size: '99999999TB' }", 22, "retention.size"),
            ("{ topics: 'alerts' }", 24, "retention.topics is not a list"),
            ("{ topics: [{ topic: 'a' }, { age: '1d' }] }", 41, "it names no topic"),
            ("{ topics: [{ topic: 'a..b' }] }", 34, "two dots together"),
            ("{ topics: [{ topic: 'a', age: 'soon' }] }", 44, "age: “soon” is no age"),
            ("{ topics: [{ topic: 'a.*' }, { topic: 'a.b' }] }", 43, "retention.topics.1: “a.b” never applies"),
            ("{ topics: [{ topic: 'a' }, { topic: 'a' }] }", 41, "“a” never applies"),
        ] as [(String, Int, String)])
    func mistakes(retention: String, column: Int, words: String) throws {
        let text = try #require(complaint(retention))
        #expect(text.contains("config.json:1:\(column): ") && text.contains(words), "\(text)")
    }

    @Test("More entries than are looked at are refused")
    func tooMany() {
        let entries = (0...RetentionPolicy.maximumTopics).map { "{ topic: 't\($0)' }" }
        #expect(complaint("{ topics: [\(entries.joined(separator: ", "))] }")?.contains("more than 100") == true)
    }
}
