import Testing

@testable import Relay

@Suite("Deadlines: one alarm for all who wait")
struct DeadlineTableTests {
    private let start = ContinuousClock.now

    private func second(_ number: Int) -> ContinuousClock.Instant { start + .seconds(number) }

    @Test("The alarm is set for the first deadline, and moved only for an earlier one")
    func alarm() {
        var table = DeadlineTable<String>()
        #expect(table.set("a", to: second(10)) == second(10))
        #expect(table.set("b", to: second(11)) == nil)
        #expect(table.set("c", to: second(10)) == nil)
        #expect(table.set("d", to: second(4)) == second(4))
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
        #expect(table.set("a", to: second(10)) == second(10))
        table.remove("a")
        #expect(table.set("b", to: second(15)) == nil)
        let rung = table.ring(at: second(10))
        #expect(rung.late.isEmpty && rung.alarm == second(15))
    }

    @Test("A deadline takes the place of an earlier one of the same name")
    func replaced() {
        var table = DeadlineTable<String>()
        #expect(table.set("a", to: second(10)) == second(10))
        #expect(table.set("a", to: second(12)) == nil)
        let early = table.ring(at: second(10))
        #expect(early.late.isEmpty && early.alarm == second(12))
        #expect(table.set("a", to: second(11)) == second(11))
        #expect(table.ring(at: second(11)).late == ["a"])
    }

    @Test("An alarm that rings for nobody is not set again, and one that rings too early is")
    func unneeded() {
        var table = DeadlineTable<String>()
        _ = table.set("a", to: second(10))
        table.remove("a")
        let rung = table.ring(at: second(10))
        #expect(rung.late.isEmpty && rung.alarm == nil)
        #expect(table.set("b", to: second(20)) == second(20))
        // The first alarm, stopped too late, or one that a coarse clock has ring too early.
        let late = table.ring(at: second(11))
        #expect(late.late.isEmpty && late.alarm == second(20))
    }
}
