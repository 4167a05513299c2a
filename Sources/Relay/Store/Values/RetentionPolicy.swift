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

/// What is kept of a topic.
package struct TopicUse: Hashable, Sendable {
    /// The topic's number in the store.
    package var number: Int64
    /// The topic.
    package var name: String
    /// The payloads' bytes.
    package var bytes: Int
    /// When its first message was stored; nil when there is none.
    package var oldest: Timestamp?

    /// Describes a topic's part.
    package init(number: Int64, name: String, bytes: Int, oldest: Timestamp?) {
        self.number = number
        self.name = name
        self.bytes = bytes
        self.oldest = oldest
    }
}

extension RetentionPolicy {
    /// What is to be deleted next. All of them take the oldest messages first.
    package enum Step: Hashable, Sendable {
        /// A topic's messages from before this moment.
        case expired(topic: Int64, before: Timestamp)
        /// A topic's messages until so many bytes are gone.
        case shrunk(topic: Int64, bytes: Int)
        /// Messages of all topics until so many bytes are gone.
        case allShrunk(bytes: Int)
        /// Letters from before this moment.
        case lettersExpired(before: Timestamp)
    }

    /// The next step; nil when everything is within its bounds.
    ///
    /// - Parameters:
    ///   - topics: what is kept.
    ///   - oldestLetter: when the oldest letter was stored; nil when there is none.
    ///   - now: the present moment by the clock on the wall.
    package func nextStep(_ topics: [TopicUse], oldestLetter: Timestamp? = nil, now: Timestamp) -> Step? {
        for topic in topics {
            guard let oldest = topic.oldest, let first = firstKept(of: topic.name, now: now) else { continue }
            if oldest < first { return .expired(topic: topic.number, before: first) }
        }
        if let oldestLetter, let first = Self.moment(all.age, before: now), oldestLetter < first {
            return .lettersExpired(before: first)
        }
        for topic in topics {
            guard let bytes = limit(of: topic.name).bytes, topic.bytes > bytes else { continue }
            return .shrunk(topic: topic.number, bytes: topic.bytes - bytes)
        }
        let total = topics.reduce(0) { $0 + $1.bytes }
        if let bytes = all.bytes, total > bytes { return .allShrunk(bytes: total - bytes) }
        return nil
    }

    private func limit(of topic: String) -> Limit {
        if let limit = topics[topic] { return limit }
        return patterns.first(where: { $0.pattern.matches(topic) })?.limit ?? eachTopic
    }

    /// The moment before which a topic's messages go.
    private func firstKept(of topic: String, now: Timestamp) -> Timestamp? {
        let moments = [Self.moment(limit(of: topic).age, before: now), Self.moment(all.age, before: now)]
        return moments.compactMap(\.self).max()
    }

    private static func moment(_ age: Duration?, before now: Timestamp) -> Timestamp? {
        guard let age else { return nil }
        let (seconds, attoseconds) = age.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        let (moment, isBeyond) = now.milliseconds.subtractingReportingOverflow(
            whole &+ attoseconds / 1_000_000_000_000_000)
        return overflow || isBeyond ? nil : Timestamp(milliseconds: moment)
    }
}
