import Relay

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whose wall clock the screen shows.
enum DisplayZone: Hashable, Sendable {
    /// The machine's time zone.
    case local
    /// A fixed distance from UTC, in seconds.
    case fixed(seconds: Int)

    /// Seconds to add to UTC at `epochSeconds`.
    func offset(at epochSeconds: Int64) -> Int {
        switch self {
        case .fixed(let seconds):
            return seconds
        case .local:
            var moment = time_t(epochSeconds)
            var fields = tm()
            guard localtime_r(&moment, &fields) != nil else { return 0 }
            return Int(fields.tm_gmtoff)
        }
    }
}

/// A moment as a calendar and a clock on the wall show it (proleptic Gregorian).
struct CivilTime: Hashable, Sendable {
    let year: Int
    /// 1 to 12.
    let month: Int
    /// 1 to 31.
    let day: Int
    /// 0 to 23.
    let hour: Int
    /// 0 to 59.
    let minute: Int
    /// 0 to 59.
    let second: Int
    /// 0 to 999.
    let millisecond: Int
    /// Days since 1 January 1970 in the display zone: equal for two moments of one day.
    let dayNumber: Int

    /// A sender may claim any moment; the years 1 to 9999 are shown, others as the nearest of these.
    private static let secondsRange: ClosedRange<Int64> = -62_135_500_000...253_402_200_000

    init(_ timestamp: Timestamp, zone: DisplayZone) {
        let whole = Self.floorDivide(timestamp.milliseconds, 1000)
        let utc = min(max(whole, Self.secondsRange.lowerBound), Self.secondsRange.upperBound)
        let seconds = utc + Int64(zone.offset(at: utc))
        let days = Self.floorDivide(seconds, 86_400)
        let second = Int(seconds - days * 86_400)
        dayNumber = Int(days)
        hour = second / 3600
        minute = second % 3600 / 60
        self.second = second % 60
        millisecond = Int((timestamp.milliseconds % 1000 + 1000) % 1000)

        // Counting years from 1 March puts the leap day last, so that month lengths follow one formula.
        let shifted = Int(days) + 719_468
        let era = shifted >= 0 ? shifted / 146_097 : (shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `10:01`.
    var clock: String { "\(Self.twoDigits(hour)):\(Self.twoDigits(minute))" }

    /// `10:01:05.123`, always 12 columns.
    var preciseClock: String {
        let digits = String(millisecond)
        return "\(clock):\(Self.twoDigits(second)).\(String(repeating: "0", count: max(0, 3 - digits.count)))\(digits)"
    }

    /// `21 Nov 10:01`, always 12 columns.
    var shortStamp: String {
        let dayText = day < 10 ? " \(day)" : "\(day)"
        return "\(dayText) \(Self.months[month - 1].prefix(3)) \(clock)"
    }

    /// `Friday 21 November`, with the year when it is not `currentYear`.
    func dateLine(currentYear: Int?) -> String {
        let text = "\(weekday) \(day) \(Self.months[month - 1])"
        return year == currentYear ? text : "\(text) \(year)"
    }

    /// The weekday's English name.
    var weekday: String {
        // 1 January 1970 was a Thursday.
        Self.weekdays[((dayNumber + 4) % 7 + 7) % 7]
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ]

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        let quotient = value / divisor
        return value % divisor < 0 ? quotient - 1 : quotient
    }
}
