import Platform

/// The ISO 8601 text of a moment, of which RFC 3339 is one form.
///
/// Handwritten because Foundation's format style stops at milliseconds and parses one form, while servers send
/// nanoseconds and clients several forms.
package enum DateText {
    /// Parses a date, or a date and a time to the minute, second or a fraction of it, with `Z`, an offset (`+02:00`,
    /// `+0200`, `+02`) or none, which counts as UTC. Years have four digits. The nanoseconds are the fraction of the
    /// second. Nil for anything else, including dates that do not exist.
    package static func read(_ text: String) -> (seconds: Int64, nanoseconds: Int64)? {
        var reader = Reader(rest: Substring(text).utf8)
        return reader.moment()
    }

    /// The text of a moment in UTC: seconds since 1970, and a fraction of a second in units of 10 to the power of
    /// `-digits`. Years outside 0000 to 9999 have a sign and as many digits as they need.
    package static func write(seconds: Int64, fraction: Int64, digits: Int) -> String {
        var moment = time_t(seconds)
        var date = tm()
        gmtime_r(&moment, &date)
        let year = Int64(date.tm_year) + 1_900
        return String(unsafeUninitializedCapacity: 50) { text in
            var position = 0
            func write(_ character: Unicode.Scalar) {
                text[position] = UInt8(ascii: character)
                position += 1
            }
            func write(_ number: some BinaryInteger, _ width: Int, after mark: Unicode.Scalar? = nil) {
                if let mark { write(mark) }
                let number = Int64(number)
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
            let isCommonYear = (0...9_999).contains(year)
            if !isCommonYear { write(year < 0 ? "-" : "+") }
            write(abs(year), isCommonYear ? 4 : 6)
            write(date.tm_mon + 1, 2, after: "-")
            write(date.tm_mday, 2, after: "-")
            write(date.tm_hour, 2, after: "T")
            write(date.tm_min, 2, after: ":")
            write(date.tm_sec, 2, after: ":")
            write(fraction, digits, after: ".")
            write("Z")
            return position
        }
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func moment() -> (seconds: Int64, nanoseconds: Int64)? {
            guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2) else {
                return nil
            }
            var date = tm()
            (date.tm_year, date.tm_mon, date.tm_mday) = (CInt(year) - 1_900, CInt(month) - 1, CInt(day))
            var seconds = Int64(timegm(&date))
            // `timegm` turns 30 February into 1 or 2 March.
            guard (date.tm_mon, date.tm_mday) == (CInt(month) - 1, CInt(day)) else { return nil }
            if rest.isEmpty { return (seconds, 0) }

            guard take("T") || take("t") || take(" "), let hour = number(2), take(":"), let minute = number(2),
                hour < 24, minute < 60
            else { return nil }
            seconds += (hour * 60 + minute) * 60
            var nanoseconds: Int64 = 0
            if take(":") {
                // A leap second counts as the second after it.
                guard let second = number(2), second <= 60 else { return nil }
                seconds += second
                if take(".") || take(",") {
                    guard let fraction = fraction() else { return nil }
                    nanoseconds = fraction
                }
            }
            guard let offset = offset(), rest.isEmpty else { return nil }
            return (seconds - offset, nanoseconds)
        }

        private mutating func offset() -> Int64? {
            if rest.isEmpty || take("Z") || take("z") { return 0 }
            let sign: Int64
            if take("+") { sign = 1 } else if take("-") { sign = -1 } else { return nil }
            guard let hour = number(2), hour < 24 else { return nil }
            if rest.isEmpty { return sign * hour * 3_600 }
            _ = take(":")
            guard let minute = number(2), minute < 60 else { return nil }
            return sign * (hour * 60 + minute) * 60
        }

        /// The digits after the decimal point as nanoseconds; further digits are dropped.
        private mutating func fraction() -> Int64? {
            var value: Int64 = 0
            var unit: Int64 = 1_000_000_000
            while let digit = digit() {
                unit /= 10
                value += digit * unit
            }
            return unit == 1_000_000_000 ? nil : value
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
}
