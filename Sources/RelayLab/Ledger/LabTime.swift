/// A moment of a run, counted from its start, or a duration in it, in whole microseconds, as in logs and pages.
public struct LabTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The microseconds.
    public var microseconds: Int64

    /// Makes a time.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// A duration, rounded down to the microsecond.
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000)
        microseconds = overflows ? .max / 2 : whole + attoseconds / 1_000_000_000_000
    }

    /// Seconds with a fraction, rounded to the microsecond; nil if out of a run's range.
    public init?(seconds: Double) {
        let value = (seconds * 1_000_000).rounded()
        guard value.magnitude < 0x1p53 else { return nil }
        microseconds = Int64(value)
    }

    /// Zero.
    public static let zero = LabTime(microseconds: 0)

    /// The time in seconds.
    public var seconds: Double { Double(microseconds) / 1_000_000 }

    /// The time as a duration.
    public var duration: Duration { .microseconds(microseconds) }

    /// Whether a moment is earlier.
    public static func < (left: LabTime, right: LabTime) -> Bool { left.microseconds < right.microseconds }

    /// The time between two moments.
    public static func - (left: LabTime, right: LabTime) -> LabTime {
        LabTime(microseconds: left.microseconds - right.microseconds)
    }

    /// A moment later by a duration.
    public static func + (left: LabTime, right: LabTime) -> LabTime {
        LabTime(microseconds: left.microseconds + right.microseconds)
    }

    /// `0.052 s`: seconds with three decimals, rounded.
    public var description: String { fixed(digits: 3) + " s" }

    /// Seconds with 1 to 6 decimals, rounded.
    func fixed(digits: Int) -> String {
        var unit: Int64 = 1
        for _ in 0..<(6 - digits) { unit *= 10 }
        let parts = (microseconds.magnitude + UInt64(unit) / 2) / UInt64(unit)
        let scale = 1_000_000 / UInt64(unit)
        let fraction = String(parts % scale)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return (microseconds < 0 ? "-" : "") + "\(parts / scale).\(zeros)\(fraction)"
    }
}

extension LabTime: RawRepresentable, Codable {
    /// The time in seconds, as a log writes it.
    public var rawValue: Double { seconds }
    /// Makes a time from seconds; nil if out of a run's range.
    public init?(rawValue: Double) { self.init(seconds: rawValue) }
}
