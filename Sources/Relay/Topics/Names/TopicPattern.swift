import NATS

/// A pattern to subscribe to: a concrete topic, or one with wildcards.
///
/// `*` matches exactly one token; `>` matches one or more and is always last.
public struct TopicPattern: Hashable, Sendable {
    /// The pattern as people write it.
    public let text: String
    /// Whether the pattern has a wildcard, so that it can match several topics.
    public let isWildcard: Bool

    /// Validates a pattern.
    ///
    /// - Throws: ``TopicError`` if the text breaks the grammar or is reserved.
    public init(_ text: String) throws(TopicError) {
        isWildcard = try TopicGrammar.check(text)
        self.text = text
    }

    /// The pattern that matches only this topic.
    public init(_ topic: Topic) {
        text = topic.text
        isWildcard = false
    }

    /// The topic itself if the pattern has no wildcard.
    public var topic: Topic? { isWildcard ? nil : try? Topic(text) }

    /// The NATS subject to subscribe to on a network whose subject prefix is `hash`.
    public func subject(under hash: String) -> String { "\(hash).\(text)" }

    /// Whether the pattern matches this topic.
    public func matches(_ topic: Topic) -> Bool { matches(topic.text) }

    /// Whether the pattern matches this concrete topic, given as text.
    public func matches(_ topic: String) -> Bool {
        guard isWildcard else { return topic == text }
        var pattern = Tokens(text)
        var concrete = Tokens(topic)
        while let expected = pattern.next() {
            guard let token = concrete.next(), !token.isEmpty else { return false }
            if expected == ">" { return true }
            if expected != "*", expected != token { return false }
        }
        return concrete.next() == nil
    }

    package func overlaps(_ other: TopicPattern) -> Bool { SubjectPattern.overlaps(text, other.text) }

    /// The patterns without those that another one covers, in order.
    package static func withoutCovered(_ patterns: [TopicPattern]) -> [TopicPattern] {
        var kept: [TopicPattern] = []
        for pattern in patterns where !kept.contains(where: { SubjectPattern.covers($0.text, pattern.text) }) {
            kept.removeAll { SubjectPattern.covers(pattern.text, $0.text) }
            kept.append(pattern)
        }
        return kept
    }

    /// Iterates over the tokens of a dotted text without an array.
    private struct Tokens {
        private var rest: Substring?

        init(_ text: String) { rest = text[...] }

        mutating func next() -> Substring? {
            guard let current = rest else { return nil }
            guard let dot = current.utf8.firstIndex(of: UInt8(ascii: ".")) else {
                rest = nil
                return current
            }
            rest = current[current.utf8.index(after: dot)...]
            return current[..<dot]
        }
    }
}

extension TopicPattern: CustomStringConvertible {
    /// The pattern as people write it.
    public var description: String { text }
}
