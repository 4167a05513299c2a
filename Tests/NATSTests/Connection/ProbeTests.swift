import Testing

@testable import NATS

@Suite("Probes that somebody asks for")
struct ProbeTests {
    private let idle = LivenessMachine.Outbound()

    private func machine() -> LivenessMachine { LivenessMachine(interval: .max, limit: 5, now: 0) }

    @Test("B25 a hastened ping leaves at once and is judged by its own limit")
    func quick() {
        var machine = machine()
        let isDue = machine.hasten(now: 3, limit: 2)
        #expect(isDue)
        #expect(machine.momentCame(now: 3, outbound: idle) == .ping(until: 5))
        #expect(machine.momentCame(now: 5, outbound: idle) == .stale)
    }

    @Test("B20 a probe that is under way is not hastened, so that nothing is judged before its time")
    func underWay() {
        var machine = machine()
        let isDue = machine.hasten(now: 3, limit: 5)
        #expect(isDue)
        #expect(machine.momentCame(now: 3, outbound: idle) == .ping(until: 8))
        let isDueAgain = machine.hasten(now: 4, limit: 2)
        #expect(!isDueAgain)
        machine.heard()
        machine.answered()
        let isDueAfterAnswer = machine.hasten(now: 5, limit: 9)
        #expect(isDueAfterAnswer)
        // Never more than the usual limit.
        #expect(machine.momentCame(now: 5, outbound: idle) == .ping(until: 10))
    }

    @Test("B20 a hastened ping behind what the peer has not taken has the usual limit, for as long as that gets less")
    func behindMany() {
        var machine = machine()
        let isDue = machine.hasten(now: 0, limit: 2)
        #expect(isDue)
        let many = 1 << 20
        func outbound(taken: Int) -> LivenessMachine.Outbound {
            .init(acknowledged: taken, taken: taken, waiting: many - taken)
        }
        #expect(machine.momentCame(now: 0, outbound: outbound(taken: 0)) == .ping(until: 5))
        #expect(machine.momentCame(now: 5, outbound: outbound(taken: 1_000)) == .wait(until: 10))
        #expect(machine.momentCame(now: 10, outbound: outbound(taken: 1_000)) == .stale)
    }
}
