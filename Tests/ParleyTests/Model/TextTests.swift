import Relay
import Testing

@testable import Parley

@Suite("Words and times")
struct TextTests {
    @Test(
        "Moments as the calendar shows them",
        arguments: [
            (0, "00:00", "Thursday 1 January 1970"),
            (-1, "23:59", "Wednesday 31 December 1969"),
            (951_782_400_000, "00:00", "Tuesday 29 February 2000"),
            (1_763_719_200_000, "10:00", "Friday 21 November 2025"),
            (4_102_444_799_999, "23:59", "Thursday 31 December 2099"),
        ] as [(Int64, String, String)])
    func civil(milliseconds: Int64, clock: String, date: String) {
        let time = CivilTime(Timestamp(milliseconds: milliseconds), zone: .fixed(seconds: 0))
        #expect(time.clock == clock)
        #expect(time.dateLine(currentYear: nil) == date)
    }

    @Test("A claimed moment outside the calendar is shown at its end", arguments: [Int64.min, .max])
    func extremes(milliseconds: Int64) {
        for zone in [DisplayZone.local, .fixed(seconds: 50_400), .fixed(seconds: -43_200)] {
            let time = CivilTime(Timestamp(milliseconds: milliseconds), zone: zone)
            #expect((0...23).contains(time.hour) && (1...12).contains(time.month) && (1...31).contains(time.day))
            #expect(time.shortStamp.count == 12)
        }
    }

    @Test("The zone moves the day")
    func zone() {
        let late = CivilTime(Timestamp(milliseconds: 1_763_719_200_000), zone: .fixed(seconds: 14 * 3600))
        #expect(late.clock == "00:00")
        #expect(late.dateLine(currentYear: 2025) == "Saturday 22 November")
    }

    @Test(
        "Round trips",
        arguments: [
            (Duration.microseconds(400), "0.4 ms"), (.milliseconds(12), "12 ms"), (.milliseconds(1240), "1.2 s"),
            (.zero, "0.0 ms"), (.seconds(-1), "0.0 ms"),
        ])
    func latency(duration: Duration, words: String) {
        #expect(Wording.latency(duration) == words)
    }

    @Test(
        "Waits are rounded up",
        arguments: [
            (Duration.milliseconds(1), "1 s"), (.milliseconds(3500), "4 s"), (.seconds(119), "119 s"),
            (.seconds(121), "3 min"), (.seconds(3 * 3600), "3 h"), (.seconds(-5), "0 s"),
        ])
    func wait(duration: Duration, words: String) {
        #expect(Wording.wait(duration) == words)
    }

    @Test("Counts")
    func counts() {
        #expect(Wording.count(1, "letter") == "1 letter")
        #expect(Wording.count(12_345, "letter") == "12,345 letters")
        #expect(Wording.compact(999) == "999" && Wording.compact(12_000) == "12k" && Wording.compact(.max) == "999M")
    }

    @Test("Every key of the table has one meaning in its place, and each binding is in the help")
    func bindings() {
        let help = HelpText.lines(.standard)
        for table in KeyMap.standard.tables {
            let keys = table.entries.flatMap(\.sequences)
            #expect(Set(keys).count == keys.count, "\(table.name): \(keys)")
            #expect(Set(table.entries.map(\.name)).count == table.entries.count, "\(table.name)")
            for entry in table.entries { #expect(help.contains(.entry(entry.label, entry.binding.words))) }
        }
        func expectActions<P: Pane>(of pane: P.Type) {
            for action in P.Action.allCases {
                for key in action.binding.keys { #expect(KeyMap.standard.action(of: key, in: pane) == action) }
            }
        }
        for pane in Panes.all { expectActions(of: pane) }
        for action in EverywhereKey.allCases {
            for key in action.binding.keys { #expect(KeyMap.standard.action(of: key) == action) }
        }
        #expect(Set(Panes.all.map { $0.title }).count == Panes.all.count)
    }
}
