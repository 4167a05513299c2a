import Testing

@testable import Relay

@Suite("Deadlines: one alarm for all who wait")
struct DeadlineTableTests {
    private let start = ContinuousClock.now

    private func second(_ number: Int) -> ContinuousClock.Instant { start + .seconds(number) }

    @Test("The alarm is set for the first deadline, and moved only for an earlier one")
    func alarm() {
        var table = DeadlineTable<String>()
        #expect(table.add("a", until: second(10)).alarm == second(10))
        #expect(table.add("b", until: second(11)).alarm == nil)
        #expect(table.add("c", until: second(10)).alarm == nil)
        #expect(table.add("d", until: second(4)).alarm == second(4))
        let first = table.ring(at: second(4))
        #expect(first.late == ["d"] && first.alarm == second(10))
        let next = table.ring(at: second(10))
        #expect(next.late.sorted() == ["a", "c"] && next.alarm == second(11))
        let last = table.ring(at: second(12))
        #expect(last.late == ["b"] && last.alarm == nil)
    }

    @Test("An alarm stays set when the wait for it has ended, and serves whoever waits when it rings")
    func kept() {
        var table = DeadlineTable<String>()
        let (key, alarm) = table.add("a", until: second(10))
        #expect(alarm == second(10))
        table.remove(key)
        #expect(table.add("b", until: second(15)).alarm == nil)
        let rung = table.ring(at: second(10))
        #expect(rung.late.isEmpty && rung.alarm == second(15))
    }

    @Test("An alarm that rings for nobody is not set again, and one that rings too early is")
    func unneeded() {
        var table = DeadlineTable<String>()
        let key = table.add("a", until: second(10)).key
        table.remove(key)
        let rung = table.ring(at: second(10))
        #expect(rung.late.isEmpty && rung.alarm == nil)
        #expect(table.add("b", until: second(20)).alarm == second(20))
        // The first alarm, stopped too late, or one that a coarse clock has ring too early.
        let late = table.ring(at: second(11))
        #expect(late.late.isEmpty && late.alarm == second(20))
    }
}
