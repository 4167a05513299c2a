import JSON5
import Relay

/// How long messages stay in the local store, as the configuration file has it.
///
///     { retention: { age: "365d", size: "2GB", topics: [{ topic: "alerts.>", age: "7d", size: "10MB" }] } }
///
/// What it does not say of all messages is Parley's own rule. Of the entries for topics the first that matches counts,
/// for each topic by itself; one without bounds keeps what a later one would delete.
struct RetentionSetting: Hashable, Sendable {
    /// What it asks for.
    var policy: RetentionPolicy

    /// Most entries for topics. Each step of a deletion looks at them for each topic.
    static let maximumTopics = 100

    /// Sets a policy.
    init(policy: RetentionPolicy) { self.policy = policy }
}

extension RetentionSetting: Decodable {
    private enum CodingKeys: String, CodingKey, CaseIterable { case age, size, topics }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let age = try values.decodeIfPresent(RetentionAge.self, forKey: .age)
        let size = try values.decodeIfPresent(RetentionSize.self, forKey: .size)
        let topics = try values.decodeIfPresent([TopicRetention].self, forKey: .topics) ?? []
        guard topics.count <= Self.maximumTopics else {
            throw DecodingError.dataCorruptedError(
                forKey: .topics, in: values, debugDescription: "there are more than \(Self.maximumTopics) entries")
        }
        var patterns: [RetentionPolicy.PatternLimit] = []
        for (index, topic) in topics.map(\.limit).enumerated() {
            // An entry that never counts is a mistake that should be heard of.
            let cover = patterns.first {
                TopicPattern.withoutCovered([$0.pattern, topic.pattern]) == [$0.pattern]
            }
            if let cover {
                throw SettingMistake(
                    values.codingPath + [CodingKeys.topics, PathKey(index)],
                    "“\(topic.pattern)” never counts, since “\(cover.pattern)” stands before it and has its topics")
            }
            patterns.append(topic)
        }
        var policy = RetentionPolicy.parley
        if let age { policy.all.age = age.duration }
        if let size { policy.all.bytes = size.bytes }
        policy.patterns = patterns
        self.init(policy: policy)
    }
}

/// The bounds of a topic or pattern.
private struct TopicRetention: Decodable {
    let limit: RetentionPolicy.PatternLimit

    private enum CodingKeys: String, CodingKey, CaseIterable { case topic, age, size }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let text = try values.decodeIfPresent(String.self, forKey: .topic) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "it names no topic; write topic: \"alerts.>\", say"))
        }
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(text) } catch {
            throw DecodingError.dataCorruptedError(forKey: .topic, in: values, debugDescription: "\(error)")
        }
        let age = try values.decodeIfPresent(RetentionAge.self, forKey: .age)
        let size = try values.decodeIfPresent(RetentionSize.self, forKey: .size)
        limit = RetentionPolicy.PatternLimit(pattern, RetentionPolicy.Limit(age: age?.duration, bytes: size?.bytes))
    }
}

/// `30d`, or `none`.
private struct RetentionAge: Decodable {
    let duration: Duration?

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard text != "none" else {
            duration = nil
            return
        }
        guard text.last?.isLetter == true, let seconds = PastTime.seconds(text), seconds > 0 else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "“\(text)” is no age; write a number with s, m, h, d or w, such as 30d, or none"))
        }
        duration = .seconds(seconds)
    }
}

/// `500MB`, or `none`.
private struct RetentionSize: Decodable {
    let bytes: Int?

    private static let units: [String: Double] = [
        "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 1_024, "mib": 1_048_576, "gib": 1_073_741_824,
        "tib": 1_099_511_627_776,
    ]

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard text != "none" else {
            bytes = nil
            return
        }
        guard let count = Self.count(text) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "“\(text)” is no size; write a number with kB, MB or GB, such as 500MB, or none"))
        }
        bytes = count
    }

    private static func count(_ text: String) -> Int? {
        let digits = text.prefix { "0123456789.".contains($0) }
        let unit = text.dropFirst(digits.count).drop(while: { $0 == " " }).lowercased()
        guard let factor = units[unit], let number = Double(digits) else { return nil }
        let count = number * factor
        guard count >= 1, count < 0x1p53 else { return nil }
        return Int(count)
    }
}
