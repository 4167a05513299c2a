import Platform

/// A moment by the server's clock, to the nanosecond, as JetStream stamps messages and streams.
public struct ServerTime: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    public var nanoseconds: Int64

    /// Creates a moment.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Creates a moment from a date.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970
        nanoseconds = abs(seconds) < 9e9 ? Int64(seconds * 1e9) : 0
    }

    /// Milliseconds since 1970.
    public var milliseconds: Int64 { nanoseconds / 1_000_000 }

    /// As a date, with a date's precision.
    public var date: Date { Date(timeIntervalSince1970: Double(nanoseconds) / 1e9) }

    /// Compares the moments.
    public static func < (left: ServerTime, right: ServerTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Parses RFC 3339, to the nanosecond.
    public init?(parsing text: String) {
        guard let moment = DateText.read(text) else { return nil }
        let (whole, overflow) = moment.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = whole.addingReportingOverflow(moment.nanoseconds)
        // Year 1, the server's "never", is out of range and becomes the beginning of 1970.
        nanoseconds = overflow || sumOverflow || moment.seconds < 0 ? 0 : sum
    }

    /// RFC 3339 in UTC, with nanoseconds.
    public var description: String {
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? DateText.write(seconds: seconds - 1, fraction: rest + 1_000_000_000, digits: 9)
            : DateText.write(seconds: seconds, fraction: rest, digits: 9)
    }

    /// Decodes the server's text form.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let time = ServerTime(parsing: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not an RFC 3339 time"))
        }
        self = time
    }

    /// Encodes the server's text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
