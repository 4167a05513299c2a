/// How long messages stay in the local store. The network's own copy has nothing to do with it.
public struct RetentionPolicy: Hashable, Sendable {
    /// Bounds; nil is none.
    public struct Limit: Hashable, Sendable {
        /// How old a message may become, by the time at which the server stored it.
        public var age: Duration?
        /// How many bytes the payloads may have together. The oldest go first.
        public var bytes: Int?

        /// Sets bounds.
        public init(age: Duration? = nil, bytes: Int? = nil) {
            self.age = age
            self.bytes = bytes
        }

        /// No bounds.
        public static let none = Limit()
    }

    /// The bounds of the topics that match a pattern, each topic by itself.
    public struct PatternLimit: Hashable, Sendable {
        /// The topics.
        public var pattern: TopicPattern
        /// The bounds of each of them.
        public var limit: Limit

        /// Sets bounds.
        public init(_ pattern: TopicPattern, _ limit: Limit) {
            self.pattern = pattern
            self.limit = limit
        }
    }

    /// The bounds of all messages together. The age holds for letters too.
    public var all: Limit
    /// The bounds of each topic's messages.
    public var eachTopic: Limit
    /// The bounds of single topics, instead of those of each.
    public var topics: [String: Limit]
    /// The bounds of what matches, for topics that have none of their own; the first pattern that matches counts.
    public var patterns: [PatternLimit]

    /// Makes a policy.
    public init(
        all: Limit = .none, eachTopic: Limit = .none, topics: [String: Limit] = [:], patterns: [PatternLimit] = []
    ) {
        self.all = all
        self.eachTopic = eachTopic
        self.topics = topics
        self.patterns = patterns
    }

    /// Everything stays.
    public static let unlimited = RetentionPolicy()
    /// Parley's default: a gibibyte of messages, however old.
    public static let parley = RetentionPolicy(all: Limit(bytes: 1 << 30))
}

extension RetentionPolicy {
    /// The bounds of a topic.
    func limit(of topic: String) -> Limit {
        topics[topic] ?? patterns.first { $0.pattern.matches(topic) }?.limit ?? eachTopic
    }

    /// The moment before which a topic's messages go; nil where they stay, however old.
    func firstKept(of topic: String, now: Timestamp) -> Timestamp? {
        [Self.moment(limit(of: topic).age, before: now), firstKept(now: now)].compactMap(\.self).max()
    }

    /// The moment before which everything goes; nil where it stays, however old.
    func firstKept(now: Timestamp) -> Timestamp? { Self.moment(all.age, before: now) }

    private static func moment(_ age: Duration?, before now: Timestamp) -> Timestamp? {
        guard let age else { return nil }
        let (seconds, attoseconds) = age.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        let (moment, isBeyond) = now.milliseconds.subtractingReportingOverflow(
            whole &+ attoseconds / 1_000_000_000_000_000)
        return overflow || isBeyond ? nil : Timestamp(milliseconds: moment)
    }
}
