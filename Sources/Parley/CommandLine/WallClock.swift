import Platform
import Relay

enum WallClock {
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
}

/// A point in the past as given on the command line: `all`, a duration such as `15m`, or an ISO 8601 time.
enum PastTime: Hashable, Sendable {
    case all
    case at(Timestamp)

    init?(_ text: String, now: Timestamp = WallClock.now) {
        if text == "all" {
            self = .all
        } else if let length = Self.seconds(text) {
            self = .at(Timestamp(milliseconds: max(0, now.milliseconds - Int64(length * 1_000))))
        } else if let time = Timestamp(iso8601: text) {
            self = .at(time)
        } else {
            return nil
        }
    }

    /// The seconds of a duration such as `90s`, `15m`, `2h` or `7d`; a number without a unit means seconds.
    static func seconds(_ text: String) -> Double? {
        guard let last = text.last else { return nil }
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
        let factor = units[last]
        let digits = factor == nil ? text[...] : text.dropLast()
        guard let number = Double(digits), number >= 0, number.isFinite, number < 1e10 else { return nil }
        return number * (factor ?? 1)
    }
}
