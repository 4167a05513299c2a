/// How long messages stay in the local store. The network's own copy is not affected.
public struct RetentionPolicy: Hashable, Sendable {
    /// Limits; nil means none.
    public struct Limit: Hashable, Sendable {
        /// The highest age of a message, by the time at which the server stored it.
        public var age: Duration?
        /// The most bytes of all payloads together. The oldest go first.
        public var bytes: Int?

        /// Creates limits.
        public init(age: Duration? = nil, bytes: Int? = nil) {
            self.age = age
            self.bytes = bytes
        }

        /// No limits.
        public static let none = Limit()
    }

    /// The limits of each topic that matches a pattern.
    public struct PatternLimit: Hashable, Sendable {
        /// The topics.
        public var pattern: TopicPattern
        /// The limits of each of them.
        public var limit: Limit

        /// Creates limits for a pattern.
        public init(_ pattern: TopicPattern, _ limit: Limit) {
            self.pattern = pattern
            self.limit = limit
        }
    }

    /// The limits of all messages together. The age applies to letters too.
    public var all: Limit
    /// The limits of each topic's messages.
    public var eachTopic: Limit
    /// The limits of single topics, instead of the common ones.
    public var topics: [String: Limit]
    /// The limits of matching topics without limits of their own; the first matching pattern counts.
    public var patterns: [PatternLimit]

    /// Creates a policy.
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
    /// Parley's default: a gibibyte of messages, regardless of age.
    public static let parley = RetentionPolicy(all: Limit(bytes: 1 << 30))
}

extension RetentionPolicy {
    func limit(of topic: String) -> Limit {
        topics[topic] ?? patterns.first { $0.pattern.matches(topic) }?.limit ?? eachTopic
    }

    /// The moment before which a topic's messages are deleted; nil without a limit.
    func firstKept(of topic: String, now: Timestamp) -> Timestamp? {
        [Self.moment(limit(of: topic).age, before: now), firstKept(now: now)].compactMap(\.self).max()
    }

    /// The moment before which everything is deleted; nil without a limit.
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
