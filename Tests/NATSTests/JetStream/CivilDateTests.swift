import NATS
import Testing

@Suite("Dates of the calendar")
struct CivilDateTests {
    @Test(
        "are counted in days from 1 January 1970",
        arguments: [
            (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2025, 11, 21, 20_413), (2000, 3, 1, 11_017),
            (1900, 3, 1, -25_508), (1, 1, 1, -719_162), (0, 3, 1, -719_468), (0, 1, 1, -719_528),
            (9999, 12, 31, 2_932_896),
        ] as [(Int64, Int64, Int64, Int64)])
    func known(year: Int64, month: Int64, day: Int64, count: Int64) {
        let date = CivilDate(year: year, month: month, day: day)
        #expect(date.daysSince1970 == count)
        #expect(CivilDate(daysSince1970: count) == date)
        #expect(date.exists)
    }

    @Test("follow one another from the year 1 to the year 9999, with a leap day where one belongs")
    func years() {
        var next = CivilDate(year: 1, month: 1, day: 1).daysSince1970
        for year in Int64(1)...9_999 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            let leapDay = CivilDate(year: year, month: 2, day: 29)
            var dates = [CivilDate(year: year, month: 1, day: 1), CivilDate(year: year, month: 2, day: 28)]
            if isLeap { dates.append(leapDay) }
            dates.append(CivilDate(year: year, month: 3, day: 1))
            dates.append(CivilDate(year: year, month: 12, day: 31))
            let numbers: [Int64] = isLeap ? [0, 58, 59, 60, 365] : [0, 58, 59, 364]
            let expected = numbers.map { next + $0 }
            let isRight =
                dates.map(\.daysSince1970) == expected && expected.map(CivilDate.init(daysSince1970:)) == dates
            if !isRight || leapDay.exists != isLeap { Issue.record("\(year)") }
            next += isLeap ? 366 : 365
        }
    }

    @Test("come back from their number, each day of two centuries")
    func days() {
        let first = CivilDate(year: 1900, month: 1, day: 1).daysSince1970
        let last = CivilDate(year: 2099, month: 12, day: 31).daysSince1970
        let wrong = (first...last).filter { days in
            let date = CivilDate(daysSince1970: days)
            return !date.exists || date.daysSince1970 != days
        }
        #expect(wrong.isEmpty)
    }

    @Test(
        "exist only where the calendar has them",
        arguments: [
            (2025, 2, 29), (1900, 2, 29), (2100, 2, 29), (2024, 2, 30), (2025, 4, 31), (2025, 12, 32), (2025, 1, 0),
            (2025, 0, 1), (2025, 13, 1), (2025, 1, -1),
        ] as [(Int64, Int64, Int64)])
    func missing(year: Int64, month: Int64, day: Int64) {
        #expect(!CivilDate(year: year, month: month, day: day).exists)
    }
}
