import JSON5

/// A length of time as a scenario writes it: a number with `ms`, `s`, `min` or `h` behind it, or a number of seconds.
enum LabDuration {
    /// The longest length: what a run cannot wait for is a slip of the pen.
    static let longest = Duration.seconds(24 * 3_600)

    /// What a mistake says.
    static let words = "it takes a length such as \"150ms\", \"2s\" or \"3min\", of a day at most"

    /// The length that a text says; nil where it says none.
    static func read(_ text: String) -> Duration? {
        for (unit, factor) in [("ms", 0.001), ("min", 60.0), ("s", 1), ("h", 3_600), ("m", 60)]
        where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)) else { return nil }
            return read(seconds: number * factor)
        }
        return nil
    }

    /// The length of so many seconds; nil where there is none.
    static func read(seconds: Double) -> Duration? {
        guard seconds.isFinite, seconds >= 0, let time = LabTime(seconds: seconds), time.duration <= longest else {
            return nil
        }
        return time.duration
    }

    /// The length as ``read(_:)-(String)`` reads it.
    static func text(_ duration: Duration) -> String {
        let time = LabTime(duration)
        let whole = time.microseconds % 1_000 == 0
        if time.microseconds % 1_000_000 == 0 {
            let seconds = time.microseconds / 1_000_000
            return seconds >= 60 && seconds % 60 == 0 ? "\(seconds / 60)min" : "\(seconds)s"
        }
        return whole ? "\(time.microseconds / 1_000)ms" : "\(time.fixed(digits: 6))s"
    }

    /// The length under a key; nil where the key is not there.
    static func decode<Keys: CodingKey>(
        _ values: KeyedDecodingContainer<Keys>, _ key: Keys
    ) throws -> Duration? {
        guard values.contains(key) else { return nil }
        let found: Duration? =
            if let number = try? values.decode(Double.self, forKey: key) { read(seconds: number) } else {
                (try? values.decode(String.self, forKey: key)).flatMap { read($0) }
            }
        guard let found else { throw SettingMistake(values.codingPath + [key], words) }
        return found
    }
}

/// A length of time as a scenario writes it, for the options of commands.
public struct LabLength: Hashable, Sendable {
    /// The length.
    public let duration: Duration

    /// The length that a text says, such as `150ms`, `2s` or `3min`; a number alone is seconds. Nil where it says none.
    public init?(_ text: String) {
        guard let duration = LabDuration.read(text) ?? Double(text).flatMap({ LabDuration.read(seconds: $0) }) else {
            return nil
        }
        self.duration = duration
    }
}
