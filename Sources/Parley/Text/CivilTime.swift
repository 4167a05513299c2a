import Platform
import Relay

/// The time zone of the times on the screen.
enum DisplayZone: Hashable, Sendable {
    case local
    /// A fixed offset from UTC, in seconds.
    case fixed(seconds: Int)

    /// The seconds by which its clock is ahead of UTC at a moment.
    func secondsFromGMT(at moment: Timestamp) -> Int {
        Int(reading(at: Timestamp.floorDivide(moment.milliseconds, 1_000)).tm_gmtoff)
    }

    fileprivate func reading(at epochSeconds: Int64) -> tm {
        var fields = tm()
        switch self {
        case .fixed(let seconds):
            var moment = time_t(epochSeconds + Int64(seconds))
            gmtime_r(&moment, &fields)
            fields.tm_gmtoff = seconds
        case .local:
            var moment = time_t(epochSeconds)
            localtime_r(&moment, &fields)
        }
        return fields
    }
}

/// A moment as shown by a calendar and a wall clock (proleptic Gregorian).
struct CivilTime: Hashable, Sendable {
    let year: Int
    /// 1 to 12.
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int
    let millisecond: Int
    /// 0 for Sunday.
    private let weekday: Int
    /// Days since 1 January 1970 in the display zone: equal for two moments of the same day.
    let dayNumber: Int

    /// A sender may claim any moment; those outside the years 1 to 9999 are shown as the nearest one inside.
    private static let secondsRange: ClosedRange<Int64> = -62_135_500_000...253_402_200_000

    init(_ timestamp: Timestamp, zone: DisplayZone) {
        let whole = Timestamp.floorDivide(timestamp.milliseconds, 1_000)
        let seconds = min(max(whole, Self.secondsRange.lowerBound), Self.secondsRange.upperBound)
        let fields = zone.reading(at: seconds)
        year = Int(fields.tm_year) + 1_900
        month = Int(fields.tm_mon) + 1
        day = Int(fields.tm_mday)
        hour = Int(fields.tm_hour)
        minute = Int(fields.tm_min)
        second = Int(fields.tm_sec)
        millisecond = Int((timestamp.milliseconds % 1_000 + 1_000) % 1_000)
        weekday = Int(fields.tm_wday)
        dayNumber = Int(Timestamp.floorDivide(seconds + Int64(fields.tm_gmtoff), 86_400))
    }

    /// `10:01`.
    var clock: String { "\(Self.twoDigits(hour)):\(Self.twoDigits(minute))" }

    /// `10:01:05`.
    var clockWithSeconds: String { "\(clock):\(Self.twoDigits(second))" }

    /// `10:01:05.123`, always 12 columns.
    var preciseClock: String { "\(clockWithSeconds).\(millisecond < 100 ? "0" : "")\(Self.twoDigits(millisecond))" }

    /// `21 Nov 10:01`, always 12 columns.
    var shortStamp: String { "\(day < 10 ? " " : "")\(day) \(Self.months[month - 1].prefix(3)) \(clock)" }

    /// `1 Nov 10:01`, for sentences.
    var stamp: Substring { shortStamp.drop { $0 == " " } }

    /// `21 Nov`, with the year if it is not `currentYear`.
    func shortDate(currentYear: Int) -> String {
        let text = "\(day) \(Self.months[month - 1].prefix(3))"
        return year == currentYear ? text : "\(text) \(year)"
    }

    /// `Friday 21 November`, with the year if it is not `currentYear`.
    func dateLine(currentYear: Int?) -> String {
        let text = "\(Self.weekdays[weekday]) \(day) \(Self.months[month - 1])"
        return year == currentYear ? text : "\(text) \(year)"
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ]

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
