import JSON5

/// A duration as a scenario writes it: a number followed by `ms`, `s`, `min` or `h`, or a number of seconds.
public enum LabDuration {
    /// The longest duration: a longer one must be a typing error.
    static let longest = Duration.seconds(24 * 3_600)

    /// Parses a duration, such as `150ms`, `2s` or `3min`; a number alone is seconds. Nil if invalid.
    public static func read(_ text: String) -> Duration? {
        for (unit, factor) in [("ms", 0.001), ("min", 60.0), ("s", 1), ("h", 3_600), ("m", 60)]
        where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).flatMap { read(seconds: $0 * factor) }
        }
        return Double(text).flatMap { read(seconds: $0) }
    }

    static func read(seconds: Double) -> Duration? {
        guard seconds >= 0, let time = LabTime(seconds: seconds), time.duration <= longest else { return nil }
        return time.duration
    }

    static func text(_ duration: Duration) -> String {
        let time = LabTime(duration)
        if time.microseconds % 1_000_000 == 0 {
            let seconds = time.microseconds / 1_000_000
            return seconds >= 60 && seconds % 60 == 0 ? "\(seconds / 60)min" : "\(seconds)s"
        }
        return time.microseconds % 1_000 == 0 ? "\(time.microseconds / 1_000)ms" : "\(time.fixed(digits: 6))s"
    }
}

extension KeyedDecodingContainer {
    /// The duration of a key; nil if the key is missing.
    func length(_ key: Key) throws -> Duration? {
        guard contains(key) else { return nil }
        let found =
            if let number = try? decode(Double.self, forKey: key) { LabDuration.read(seconds: number) } else {
                (try? decode(String.self, forKey: key)).flatMap { Double($0) == nil ? LabDuration.read($0) : nil }
            }
        guard let found else {
            throw SettingMistake(
                codingPath + [key], "it takes a length such as \"150ms\", \"2s\" or \"3min\", at most a day")
        }
        return found
    }

    func number(_ key: Key, _ range: ClosedRange<Int>) throws -> Int? {
        guard let number = try decodeIfPresent(Double.self, forKey: key) else { return nil }
        guard let whole = Int(exactly: number), range.contains(whole) else {
            throw SettingMistake(
                codingPath + [key], "it takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    /// The choice under a key; nil if the key is missing.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: Key, kind: String) throws -> Choice? {
        try choice(key, of: Choice.allCases.map(\.rawValue), kind: kind).flatMap { Choice(rawValue: $0) }
    }

    /// The word under a key; nil if the key is missing.
    func choice(_ key: Key, of known: [String], kind: String) throws -> String? {
        guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
        if known.contains(text) { return text }
        throw SettingMistake(codingPath + [key], "“\(text)” is no \(kind); these are: \(known.joined(separator: ", "))")
    }
}
