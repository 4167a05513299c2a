import Relay

/// A letter's age, as shown in a list of letters: `now`, `3 min`, `2 h`, `yesterday`, `4 days`, then its date. It is
/// the age at the clock's last full minute, so that a list of any length changes at most once a minute.
enum LetterAge {
    private static let minute: Int64 = 60_000
    private static let hour = 60 * minute
    private static let day = 24 * hour
    /// From this number of days on the date says more.
    private static let daysLimit = 7

    /// The age of a letter stored at `time` by the server's clock, which may be ahead of this machine's.
    static func words(of time: Timestamp, at now: Timestamp, zone: DisplayZone) -> String {
        let now = fullMinute(now)
        let (then, today) = (CivilTime(time, zone: zone), CivilTime(now, zone: zone))
        let age = milliseconds(from: time, to: now)
        let days = today.dayNumber - then.dayNumber
        if age < minute, age > -hour || days == 0 { return "now" }
        if age >= minute, age < hour { return "\(age / minute) min" }
        // For a person who is still awake, the late evening is not yet yesterday.
        if age >= hour, days == 0 || age < day / 2 { return "\(age / hour) h" }
        switch days {
        case 1: return "yesterday"
        case 2..<daysLimit: return "\(days) days"
        default: return then.shortDate(currentYear: today.year)
        }
    }

    /// The time until ``words(of:at:zone:)`` may say something else.
    static func untilChange(of time: Timestamp, at now: Timestamp, zone: DisplayZone) -> Duration {
        let begin = fullMinute(now)
        let clock = CivilTime(begin, zone: zone)
        let ofDay = Int64((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1_000 + Int64(clock.millisecond)
        let midnight = max(1, day - ofDay)
        let age = milliseconds(from: time, to: begin)
        let isOfToday = CivilTime(time, zone: zone).dayNumber == clock.dayNumber
        let change =
            switch age {
            case ...(-hour): min(midnight, 1 - hour - age)
            case ..<minute: min(midnight, minute - age)
            case ..<hour: min(midnight, minute - age % minute)
            case ..<day where isOfToday || age < day / 2: min(midnight, hour - age % hour)
            default: midnight
            }
        // It shows at the first full minute after that.
        let minutes = (change + minute - 1) / minute
        return .milliseconds(minutes * minute - (now.milliseconds - begin.milliseconds))
    }

    /// The beginning of the clock's minute. Moments before 1970 stay as they are.
    private static func fullMinute(_ time: Timestamp) -> Timestamp {
        Timestamp(milliseconds: time.milliseconds - max(0, time.milliseconds % minute))
    }

    /// The time between two moments, a century at most: a sender may claim any.
    private static func milliseconds(from time: Timestamp, to now: Timestamp) -> Int64 {
        let limit = 36_525 * day
        let (difference, isTooLarge) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        guard !isTooLarge else { return now > time ? limit : -limit }
        return min(max(-limit, difference), limit)
    }
}

extension ChatModel {
    private var lettersInView: ArraySlice<PostboxMessage> {
        guard screen.view.isInbox,
            InboxColumns.showAge(on: InboxLayout.tableColumns(model: self, area: layout(on: size).main))
        else { return [] }
        return network.inbox.letters.dropFirst(network.inbox.firstVisible).prefix(size.rows)
    }

    func nextAge(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let letters = lettersInView
        guard !letters.isEmpty else { return nil }
        let passed = now.instant.duration(to: instant) / .milliseconds(1)
        let wall = Timestamp(milliseconds: now.wall.milliseconds + Int64(min(max(0, passed), 1e12)))
        return letters.map { LetterAge.untilChange(of: $0.createdAt, at: wall, zone: zone) }.min()
            .map { instant.advanced(by: $0) }
    }
}
