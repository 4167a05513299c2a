import JSON5

/// How long somebody may do nothing until they count as away, as the configuration file has it: for a terminal that
/// does not report its focus, or a person who leaves it in front of them.
struct IdleSetting: Hashable, Sendable, Decodable {
    /// Seconds; 0 for ever.
    let seconds: Double

    /// Nobody counts as away because they do nothing.
    static let never = IdleSetting(seconds: 0)

    /// Nil for ever.
    var time: Duration? { seconds > 0 ? .seconds(seconds) : nil }

    init(seconds: Double) { self.seconds = seconds }

    init(from decoder: any Decoder) throws {
        let seconds = try decoder.singleValueContainer().decode(Double.self)
        guard seconds == 0 || (10..<1e9).contains(seconds) else {
            throw SettingMistake(decoder.codingPath, "it takes a number of seconds from 10 on, or 0")
        }
        self.seconds = seconds
    }
}
