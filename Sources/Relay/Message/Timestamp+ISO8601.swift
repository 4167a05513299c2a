import NATS

extension Timestamp {
    /// The moment in UTC as ISO 8601 with milliseconds, such as `2025-11-21T10:01:02.345Z`.
    ///
    /// Years outside 0000 to 9999 are written with a sign and as many digits as they need.
    public var iso8601: String {
        let days = Timestamp.floorDivide(milliseconds, 86_400_000)
        let rest = milliseconds - days * 86_400_000
        let date = CivilDate(daysSince1970: days)
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60)
        let (second, millisecond) = (rest / 1_000 % 60, rest % 1_000)
        return String(unsafeUninitializedCapacity: 40) { text in
            var position = 0
            func write(_ character: Unicode.Scalar) {
                text[position] = UInt8(ascii: character)
                position += 1
            }
            func write(_ number: Int64, _ width: Int) {
                var width = width
                var unit: Int64 = 1
                for _ in 1..<width { unit *= 10 }
                while number / unit > 9 { (unit, width) = (unit * 10, width + 1) }
                for _ in 0..<width {
                    text[position] = UInt8(ascii: "0") + UInt8(number / unit % 10)
                    position += 1
                    unit /= 10
                }
            }
            let isCommonYear = (0...9_999).contains(date.year)
            if !isCommonYear { write(date.year < 0 ? "-" : "+") }
            write(abs(date.year), isCommonYear ? 4 : 6)
            write("-")
            write(date.month, 2)
            write("-")
            write(date.day, 2)
            write("T")
            write(hour, 2)
            write(":")
            write(minute, 2)
            write(":")
            write(second, 2)
            write(".")
            write(millisecond, 3)
            write("Z")
            return position
        }
    }

    /// Reads an ISO 8601 moment: a date, or a date and a time to the minute, second or a fraction of it, with `Z`, an
    /// offset (`+02:00`, `+0200`, `+02`) or none, which counts as UTC. Years have four digits.
    ///
    /// - Returns: nil for anything else, including dates that no calendar has.
    public init?(iso8601 text: String) {
        var reader = DateReader(text)
        guard let value = reader.moment() else { return nil }
        self.init(milliseconds: value)
    }
}

/// Reads one ISO 8601 text from its bytes, by hand because Foundation's format style accepts one form and senders use
/// several.
private struct DateReader {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = Substring(text).utf8 }

    mutating func moment() -> Int64? {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists else { return nil }
        let days = date.daysSince1970
        if rest.isEmpty { return days * 86_400_000 }

        guard take("T") || take("t") || take(" "), let hour = number(2), take(":"), let minute = number(2),
            hour < 24, minute < 60
        else { return nil }
        var milliseconds = (hour * 60 + minute) * 60_000
        if take(":") {
            // A leap second counts as the second that follows it.
            guard let second = number(2), second <= 60 else { return nil }
            milliseconds += second * 1_000
            if take(".") || take(",") {
                guard let fraction = fraction() else { return nil }
                milliseconds += fraction
            }
        }
        guard let offset = offset(), rest.isEmpty else { return nil }
        return days * 86_400_000 + milliseconds - offset
    }

    private mutating func offset() -> Int64? {
        if rest.isEmpty || take("Z") || take("z") { return 0 }
        let sign: Int64
        if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
        guard let hour = number(2), hour < 24 else { return nil }
        if rest.isEmpty { return sign * hour * 3_600_000 }
        _ = take(":")
        guard let minute = number(2), minute < 60 else { return nil }
        return sign * (hour * 60 + minute) * 60_000
    }

    /// The digits after the decimal point as milliseconds; what is finer is cut off.
    private mutating func fraction() -> Int64? {
        var value: Int64 = 0
        var digits = 0
        while let digit = digit() {
            if digits < 3 { value = value * 10 + digit }
            digits += 1
        }
        guard digits > 0 else { return nil }
        for _ in 0..<max(0, 3 - digits) { value *= 10 }
        return value
    }

    private mutating func number(_ width: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    private mutating func digit() -> Int64? {
        guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }
}
