import JSON5

/// How many unread messages of a topic that is out of view are followed, as the configuration file has it. A topic with
/// more rests until it is in view.
struct FollowingSetting: Hashable, Sendable, Decodable {
    /// Messages; 0 for all.
    let messages: Int

    /// Every topic is followed whatever is unread there.
    static let all = FollowingSetting(messages: 0)
    /// A topic with fewer is no burden.
    static let least = 50

    /// Nil for all.
    var limit: Int? { messages > 0 ? messages : nil }

    init(messages: Int) { self.messages = messages }

    init(from decoder: any Decoder) throws {
        let number = try decoder.singleValueContainer().decode(Double.self)
        guard let whole = Int(exactly: number), whole == 0 || (Self.least...1_000_000_000).contains(whole) else {
            throw SettingMistake(decoder.codingPath, "it takes a number of messages from \(Self.least) on, or 0")
        }
        messages = whole
    }
}
