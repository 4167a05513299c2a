/// Short English for counts and durations.
enum Wording {
    /// `1 letter`, `5 letters`, `12,000 letters`.
    static func count(_ number: Int, _ singular: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// `a`, `a or b`, `a, b or c`.
    static func alternatives(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }

    /// `12,345`.
    static func grouped(_ number: Int) -> String {
        guard number.magnitude >= 1_000 else { return "\(number)" }
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (offset, digit) in digits.enumerated() {
            if offset > 0, (digits.count - offset).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// `999`, `12k`, `3M`: at most four columns, for narrow counters.
    static func compact(_ number: Int) -> String {
        switch number {
        case ..<0: "0"
        case ..<1000: "\(number)"
        case ..<1_000_000: "\(number / 1000)k"
        case ..<1_000_000_000: "\(number / 1_000_000)M"
        default: "999M"
        }
    }

    /// A round-trip time: `0.4 ms`, `35 ms`, `1.2 s`.
    static func latency(_ duration: Duration) -> String {
        let microseconds = clampedMicroseconds(duration)
        if microseconds < 10_000 { return "\(tenths(microseconds, unit: 1000)) ms" }
        if microseconds < 1_000_000 { return "\(microseconds / 1000) ms" }
        return "\(tenths(microseconds, unit: 1_000_000)) s"
    }

    /// A wait, rounded up so that a countdown never shows 0 before its end: `4 s`, `2 min`, `3 h`.
    static func wait(_ duration: Duration) -> String {
        let seconds = max(0, (clampedMicroseconds(duration) + 999_999) / 1_000_000)
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7200 { return "\((seconds + 59) / 60) min" }
        return "\((seconds + 3599) / 3600) h"
    }

    /// How long something has lasted, rounded down: `42 s`, `2 min`, `3 h`.
    static func elapsed(_ duration: Duration) -> String {
        let seconds = clampedMicroseconds(duration) / 1_000_000
        let unit = elapsedUnit(seconds)
        return "\(seconds / unit) \(unit == 1 ? "s" : unit == 60 ? "min" : "h")"
    }

    /// The time until ``elapsed(_:)`` says something else.
    static func untilElapsedChanges(_ duration: Duration) -> Duration {
        let microseconds = clampedMicroseconds(duration)
        let unit = elapsedUnit(microseconds / 1_000_000) * 1_000_000
        return .microseconds(unit - microseconds % unit)
    }

    private static func elapsedUnit(_ seconds: Int64) -> Int64 { seconds < 120 ? 1 : seconds < 7_200 ? 60 : 3_600 }

    /// How long something took or takes: `40 ms`, `0.3 s`, `42 s`, `3 min 20 s`, `2 h 5 min`.
    static func length(_ duration: Duration) -> String {
        let microseconds = clampedMicroseconds(duration)
        if microseconds < 100_000 { return "\((microseconds + 500) / 1000) ms" }
        if microseconds < 9_950_000 { return "\(tenths(microseconds, unit: 1_000_000)) s" }
        let seconds = (microseconds + 500_000) / 1_000_000
        if seconds < 120 { return "\(seconds) s" }
        if seconds < 7200 { return "\(seconds / 60) min" + (seconds % 60 == 0 ? "" : " \(seconds % 60) s") }
        let minutes = seconds / 60
        return "\(minutes / 60) h" + (minutes % 60 == 0 ? "" : " \(minutes % 60) min")
    }

    /// `90 bytes`, `512 MB`, `3.4 GB`: a disk's space, in powers of ten as disks are sold.
    static func bytes(_ count: UInt64) -> String {
        if count < 1_000 { return count == 1 ? "1 byte" : "\(count) bytes" }
        if count < 1_000_000 { return "\(count / 1_000) kB" }
        if count < 1_000_000_000 { return "\(count / 1_000_000) MB" }
        let tenths = count / 100_000_000
        return tenths < 1_000 ? "\(tenths / 10).\(tenths % 10) GB" : "\(grouped(Int(clamping: tenths / 10))) GB"
    }

    private static func clampedMicroseconds(_ duration: Duration) -> Int64 {
        let parts = duration.components
        guard parts.seconds < 1_000_000_000 else { return 1_000_000_000_000_000 }
        guard parts.seconds >= 0 else { return 0 }
        return parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
    }

    /// A place in an order, such as `second` or `21st`.
    static func ordinal(_ number: Int) -> String {
        let names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
        if names.indices.contains(number - 1) { return names[number - 1] }
        let ending =
            switch (number % 100, number % 10) {
            case (11...13, _): "th"
            case (_, 1): "st"
            case (_, 2): "nd"
            case (_, 3): "rd"
            default: "th"
            }
        return grouped(number) + ending
    }

    private static func tenths(_ value: Int64, unit: Int64) -> String {
        let rounded = (value * 10 + unit / 2) / unit
        return "\(rounded / 10).\(rounded % 10)"
    }
}
