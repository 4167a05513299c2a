import NATS

/// A moment as milliseconds since 1970-01-01T00:00:00Z, as on the wire.
///
/// Moments more than 146 million years before or after 1970, which only a mistake or malice can send, are clamped to
/// that, so that differences and texts of moments can always be calculated.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the epoch; negative before it.
    public let milliseconds: Int64

    /// A moment from milliseconds since the epoch.
    public init(milliseconds: Int64) { self.milliseconds = min(max(milliseconds, -Timestamp.bound), Timestamp.bound) }

    /// A moment from whole seconds since the epoch.
    public init(seconds: Int64) {
        let product = seconds.multipliedReportingOverflow(by: 1_000)
        self.init(milliseconds: product.overflow ? (seconds < 0 ? .min : .max) : product.partialValue)
    }

    /// A moment from nanoseconds since the epoch, rounded down to the millisecond.
    public init(nanoseconds: Int64) { self.init(milliseconds: Timestamp.floorDivide(nanoseconds, 1_000_000)) }

    /// A number of unknown unit: below 10^11 it counts seconds (dates up to the year 5138), else milliseconds. RelayX's
    /// SDKs write either.
    public init(secondsOrMilliseconds number: Int64) {
        self.init(milliseconds: number.magnitude < Timestamp.secondsBound ? number * 1_000 : number)
    }

    /// As ``init(secondsOrMilliseconds:)-(Int64)`` for a number with a fraction; nil if it is not finite or no date.
    public init?(secondsOrMilliseconds number: Double) {
        let value = number.magnitude < Double(Timestamp.secondsBound) ? number * 1_000 : number
        guard value.magnitude < 0x1p63 else { return nil }
        self.init(milliseconds: Int64(value))
    }

    /// Compares the moments.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    private static let secondsBound: UInt64 = 100_000_000_000
    private static let bound = Int64.max / 2

    /// The quotient rounded down, even below zero, where `/` rounds up.
    package static func floorDivide(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Timestamp {
    /// The moment in UTC as ISO 8601 with milliseconds, such as `2025-11-21T10:01:02.345Z`.
    ///
    /// Years outside 0000 to 9999 are written with a sign and as many digits as they need.
    public var iso8601: String {
        let seconds = Timestamp.floorDivide(milliseconds, 1_000)
        return DateText.write(seconds: seconds, fraction: milliseconds - seconds * 1_000, digits: 3)
    }

    /// Parses ISO 8601: a date, or a date and a time to the minute, second or a fraction of it, with `Z`, an offset
    /// (`+02:00`, `+0200`, `+02`) or none, which counts as UTC. Years have four digits.
    ///
    /// - Returns: Nil for anything else, including dates that do not exist.
    public init?(iso8601 text: String) {
        guard let moment = DateText.read(text) else { return nil }
        self.init(milliseconds: moment.seconds * 1_000 + moment.nanoseconds / 1_000_000)
    }
}

extension Timestamp: Codable {
    private enum CodingKeys: CodingKey { case milliseconds }

    /// Decodes a moment.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(milliseconds: try values.decode(Int64.self, forKey: .milliseconds))
    }
}

extension Timestamp: CustomStringConvertible {
    /// The same text as ``iso8601``.
    public var description: String { iso8601 }
}
