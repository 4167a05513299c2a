import JSON5
import Relay

private enum RetentionKeys: String, CodingKey { case topic, age, size, topics }

/// The `retention` setting:
///
///     { retention: { age: "365d", size: "2GB", topics: [{ topic: "alerts.>", age: "7d", size: "10MB" }] } }
///
/// Missing limits are Parley's defaults. Each topic is governed by the first entry that matches it; one without limits
/// exempts its topics from later entries.
extension RetentionPolicy: Decodable {
    /// The most entries for topics. Each step of a deletion checks them for each topic.
    static let maximumTopics = 100

    /// Decodes a policy; missing limits are Parley's defaults.
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
            // An entry that never applies is a mistake.
            let cover = patterns[..<index].first {
                TopicPattern.withoutCovered([$0.pattern, topic.pattern]) == [$0.pattern]
            }
            guard let cover else { continue }
            throw SettingMistake(
                path + [PathKey(index)],
                "“\(topic.pattern)” never applies, since “\(cover.pattern)” before it matches its topics")
        }
    }
}

extension RetentionPolicy.PatternLimit: Decodable {
    /// Decodes the limits of a topic or pattern.
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
    /// Sets the given limits, such as `30d` and `500MB`; `none` means no limit.
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
