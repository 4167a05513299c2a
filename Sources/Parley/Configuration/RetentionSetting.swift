import JSON5
import Relay

private enum RetentionKeys: String, CodingKey { case topic, age, size, topics }

/// How long messages stay in the local store, as the configuration file has it.
///
///     { retention: { age: "365d", size: "2GB", topics: [{ topic: "alerts.>", age: "7d", size: "10MB" }] } }
///
/// What it does not say of all messages is Parley's own rule. Of the entries for topics the first that matches counts,
/// for each topic by itself; one without bounds keeps what a later one would delete.
extension RetentionPolicy: Decodable {
    /// Most entries for topics. Each step of a deletion looks at them for each topic.
    static let maximumTopics = 100

    /// Reads a policy; what is not given is Parley's own.
    public init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: ["age", "size", "topics"])
        let values = try decoder.container(keyedBy: RetentionKeys.self)
        self = .parley
        try all.read(values)
        patterns = try values.decodeIfPresent([PatternLimit].self, forKey: .topics) ?? []
        let path = values.codingPath + [RetentionKeys.topics]
        guard patterns.count <= Self.maximumTopics else {
            throw SettingMistake(path, "there are more than \(Self.maximumTopics) entries")
        }
        for (index, topic) in patterns.enumerated() {
            // An entry that never counts is a mistake that should be heard of.
            let cover = patterns[..<index].first {
                TopicPattern.withoutCovered([$0.pattern, topic.pattern]) == [$0.pattern]
            }
            guard let cover else { continue }
            throw SettingMistake(
                path + [PathKey(index)],
                "“\(topic.pattern)” never counts, since “\(cover.pattern)” stands before it and has its topics")
        }
    }
}

extension RetentionPolicy.PatternLimit: Decodable {
    /// Reads the bounds of a topic or pattern.
    public init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: ["topic", "age", "size"])
        let values = try decoder.container(keyedBy: RetentionKeys.self)
        guard let text = try values.decodeIfPresent(String.self, forKey: .topic) else {
            throw SettingMistake(decoder.codingPath, "it names no topic; write topic: \"alerts.>\", say")
        }
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(text) } catch {
            throw SettingMistake(decoder.codingPath + [RetentionKeys.topic], "\(error)")
        }
        self.init(pattern, .none)
        try limit.read(values)
    }
}

extension RetentionPolicy.Limit {
    /// Takes the bounds that are given, such as `30d` and `500MB`; `none` is no bound.
    fileprivate mutating func read(_ values: KeyedDecodingContainer<RetentionKeys>) throws {
        if let text = try values.decodeIfPresent(String.self, forKey: .age) {
            age = text.last?.isLetter == true ? PastTime.seconds(text).flatMap { $0 > 0 ? .seconds($0) : nil } : nil
            guard age != nil || text == "none" else {
                throw SettingMistake(
                    values.codingPath + [RetentionKeys.age],
                    "“\(text)” is no age; write a number with s, m, h, d or w, such as 30d, or none")
            }
        }
        if let text = try values.decodeIfPresent(String.self, forKey: .size) {
            bytes = Self.bytes(text)
            guard bytes != nil || text == "none" else {
                throw SettingMistake(
                    values.codingPath + [RetentionKeys.size],
                    "“\(text)” is no size; write a number with kB, MB or GB, such as 500MB, or none")
            }
        }
    }

    private static let units: [String: Double] = [
        "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1_024, "mib": 1_048_576, "gib": 1_073_741_824,
        "tib": 1_099_511_627_776,
    ]

    private static func bytes(_ text: String) -> Int? {
        let digits = text.prefix { "0123456789.".contains($0) }
        let unit = text.dropFirst(digits.count).drop(while: { $0 == " " }).lowercased()
        guard let factor = units[unit], let number = Double(digits) else { return nil }
        let count = number * factor
        guard count >= 1, count < 0x1p53 else { return nil }
        return Int(count)
    }
}
