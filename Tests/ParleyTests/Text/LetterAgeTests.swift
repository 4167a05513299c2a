import Relay
import Testing

@testable import Parley

@Suite("How old a letter is")
struct LetterAgeTests {
    private static let utc = DisplayZone.fixed(seconds: 0)

    private static func time(_ text: String) -> Timestamp { Timestamp(iso8601: text) ?? Timestamp(milliseconds: 0) }

    private static func words(_ time: String, at now: String, zone: DisplayZone = utc) -> String {
        LetterAge.words(of: self.time(time), at: self.time(now), zone: zone)
    }

    @Test(
        "Minutes, hours, yesterday, days, and a date from a week on, with the year where it is another one",
        arguments: [
            ("2025-11-21T09:59:30Z", "now"), ("2025-11-21T09:59:00Z", "1 min"), ("2025-11-21T09:57:00Z", "3 min"),
            ("2025-11-21T09:00:01Z", "59 min"), ("2025-11-21T09:00:00Z", "1 h"), ("2025-11-21T00:00:00Z", "10 h"),
            ("2025-11-20T23:00:00Z", "11 h"), ("2025-11-20T21:59:00Z", "yesterday"),
            ("2025-11-20T00:00:00Z", "yesterday"), ("2025-11-19T23:59:00Z", "2 days"),
            ("2025-11-15T10:00:00Z", "6 days"), ("2025-11-14T10:00:00Z", "14 Nov"),
            ("2024-12-31T10:00:00Z", "31 Dec 2024"),
        ])
    func words(time: String, words: String) {
        #expect(Self.words(time, at: "2025-11-21T10:00:00Z") == words)
    }

    @Test("A clock that is behind the server's says now, and what lies far ahead has its date")
    func ahead() {
        #expect(Self.words("2025-11-21T10:05:00Z", at: "2025-11-21T10:00:00Z") == "now")
        #expect(Self.words("2025-11-22T00:01:00Z", at: "2025-11-21T23:59:00Z") == "now")
        #expect(Self.words("2026-01-02T00:00:00Z", at: "2025-11-21T10:00:00Z") == "2 Jan 2026")
        let (first, last) = (Timestamp(milliseconds: .min), Timestamp(milliseconds: .max))
        for (time, now) in [(first, last), (last, first)] {
            #expect(!LetterAge.words(of: time, at: now, zone: Self.utc).isEmpty)
            #expect(LetterAge.untilChange(of: time, at: now, zone: Self.utc) > .zero)
        }
    }

    @Test("Which day it was is said by the clock on the wall")
    func zone() {
        let (time, now) = ("2025-11-20T05:00:00Z", "2025-11-20T22:00:00Z")
        #expect(Self.words(time, at: now) == "17 h")
        #expect(Self.words(time, at: now, zone: .fixed(seconds: 2 * 3_600)) == "yesterday")
    }

    @Test("All ages change with the clock's minute, whichever second the letters are of")
    func together() {
        let now = Self.time("2025-11-21T10:00:20Z")
        for second in ["00", "20", "40", "59"] {
            let wait = LetterAge.untilChange(
                of: Self.time("2025-11-21T09:57:\(second)Z"), at: now, zone: Self.utc)
            #expect(wait == .seconds(40))
        }
        #expect(Self.words("2025-11-21T09:57:00Z", at: "2025-11-21T10:00:59Z") == "3 min")
        // What is said to be of yesterday changes at midnight.
        let wait = LetterAge.untilChange(of: Self.time("2025-11-20T20:30:00Z"), at: now, zone: Self.utc)
        #expect(wait == .seconds(14 * 3_600 - 20))
    }

    @Test("The words stay as they are until the time that is told, and every change is told")
    func change() {
        for start in [0, 59_999, 60_000, 3_599_000, 3_600_000, 40_000_000, 86_400_000, 300_000_000, -5_000] {
            let time = Self.time("2025-11-21T10:00:00Z")
            var now = Timestamp(milliseconds: time.milliseconds + Int64(start))
            for _ in 0..<50 {
                let words = LetterAge.words(of: time, at: now, zone: Self.utc)
                let wait = LetterAge.untilChange(of: time, at: now, zone: Self.utc) / .milliseconds(1)
                let next = Timestamp(milliseconds: now.milliseconds + Int64(wait))
                let before = Timestamp(milliseconds: next.milliseconds - 1)
                #expect(next > now)
                #expect(LetterAge.words(of: time, at: before, zone: Self.utc) == words, "\(start), \(now)")
                now = next
            }
        }
    }
}
