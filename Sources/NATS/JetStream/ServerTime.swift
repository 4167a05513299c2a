import Platform

/// A moment by the server's clock, to the nanosecond, as JetStream stamps messages and streams.
///
/// Its text is read and written by hand because Foundation's format style stops at milliseconds.
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

    /// Earlier or later.
    public static func < (left: ServerTime, right: ServerTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Reads RFC 3339, with up to nine digits of a second.
    public init?(parsing text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes.count <= 40 else { return nil }
        func number(_ from: Int, _ count: Int) -> Int64? {
            var value: Int64 = 0
            for index in from..<from + count {
                guard index < bytes.count else { return nil }
                let digit = bytes[index] &- 0x30
                guard digit <= 9 else { return nil }
                value = value * 10 + Int64(digit)
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), (1...12).contains(month), (1...31).contains(day),
            hour < 24, minute < 60, second <= 60, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] | 0x20 == 0x74,
            bytes[13] == 0x3A, bytes[16] == 0x3A
        else { return nil }
        var position = 19
        var fraction: Int64 = 0
        if bytes[position] == UInt8(ascii: ".") {
            position += 1
            var scale: Int64 = 100_000_000
            while position < bytes.count, bytes[position] &- 0x30 <= 9 {
                fraction += Int64(bytes[position] - 0x30) * scale
                scale /= 10
                position += 1
            }
        }
        guard position < bytes.count else { return nil }
        var offset: Int64 = 0
        if bytes[position] | 0x20 == 0x7A {
            guard position + 1 == bytes.count else { return nil }
        } else {
            guard bytes[position] == 0x2B || bytes[position] == 0x2D, let hours = number(position + 1, 2),
                let minutes = number(position + 4, 2), position + 6 == bytes.count, bytes[position + 3] == 0x3A
            else { return nil }
            offset = (hours * 3_600 + minutes * 60) * (bytes[position] == 0x2B ? 1 : -1)
        }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = whole.addingReportingOverflow(fraction)
        // Year 1, the server's "never", is out of range; it reads as the beginning of 1970.
        nanoseconds = overflow || sumOverflow || seconds < 0 ? 0 : sum
    }

    /// RFC 3339 in UTC, with nanoseconds.
    public var description: String {
        let seconds = nanoseconds / 1_000_000_000
        let date = CivilDate(daysSince1970: seconds / 86_400)
        let rest = seconds % 86_400
        func padded(_ value: Int64, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T\(padded(rest / 3_600, 2)):"
            + "\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2)).\(padded(nanoseconds % 1_000_000_000, 9))Z"
    }

    /// Reads the server's text form.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let time = ServerTime(parsing: text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not an RFC 3339 time"))
        }
        self = time
    }

    /// Writes the server's text form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
