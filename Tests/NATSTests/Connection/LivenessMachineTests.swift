import Testing

@testable import NATS

@Suite("Signs of life")
struct LivenessMachineTests {
    private typealias Outbound = LivenessMachine.Outbound
    private let idle = LivenessMachine.Outbound()

    private func machine() -> LivenessMachine { LivenessMachine(interval: 20, limit: 5, now: 0) }

    @Test("B20 silence after a ping ends the connection within interval and limit")
    func silence() {
        var machine = machine()
        #expect(machine.nextPing == 20)
        #expect(machine.momentCame(now: 20, outbound: idle) == .ping(until: 25))
        #expect(machine.momentCame(now: 25, outbound: idle) == .stale)
    }

    @Test("silence counts only while this side could read: after a stop of the process the limit runs again")
    func excused() {
        var stopped = machine()
        #expect(stopped.momentCame(now: 20, outbound: idle) == .ping(until: 25))
        #expect(stopped.momentCame(now: 90, outbound: idle) == .wait(until: 95))
        #expect(stopped.momentCame(now: 95, outbound: idle) == .stale)
    }

    @Test("an answer in time leads to the next ping one interval after the last")
    func answers() {
        var machine = machine()
        for round in 1...5 as ClosedRange<Int64> {
            #expect(
                machine.momentCame(now: 20 * round, outbound: idle) == .ping(until: 20 * round + 5))
            machine.heard()
            machine.answered()
            #expect(
                machine.momentCame(now: 20 * round + 5, outbound: idle)
                    == .wait(until: 20 * round + 20))
        }
    }

    @Test("any bytes count, and a ping without its answer is not repeated but still counts")
    func otherBytes() {
        var machine = machine()
        #expect(machine.momentCame(now: 20, outbound: idle) == .ping(until: 25))
        machine.heard()
        #expect(machine.momentCame(now: 25, outbound: idle) == .wait(until: 40))
        // Heard before the second look does not help in it.
        machine.heard()
        #expect(machine.momentCame(now: 40, outbound: idle) == .wait(until: 45))
        #expect(machine.momentCame(now: 45, outbound: idle) == .stale)
    }

    @Test("a ping behind a long queue is waited for while the queue gets shorter, and then for the limit")
    func longQueue() {
        var machine = machine()
        let start = Outbound(acknowledged: 7, taken: 1_000_000, waiting: 500_000)
        #expect(machine.momentCame(now: 20, outbound: start) == .ping(until: 25))
        var taken = 1_000_000
        for now in stride(from: 25, to: 225, by: 5) as StrideTo<Int64> {
            taken += 10_000
            // More is published meanwhile: only what is taken counts.
            let outbound = Outbound(acknowledged: taken, taken: taken, waiting: 2_000_000)
            #expect(machine.momentCame(now: now, outbound: outbound) == .wait(until: now + 5))
        }
        taken = 1_500_000
        // It has the ping now, and one limit to answer, whatever else it takes.
        #expect(
            machine.momentCame(
                now: 225, outbound: Outbound(acknowledged: taken, taken: taken, waiting: 0))
                == .wait(until: 230))
        #expect(
            machine.momentCame(
                now: 230, outbound: Outbound(acknowledged: taken + 9, taken: taken + 9, waiting: 0))
                == .stale)
    }

    @Test("a queue moves when the peer acknowledges bytes, however many of them count as taken")
    func acknowledgedAlone() {
        var machine = machine()
        let start = Outbound(acknowledged: 100, taken: 5, waiting: 500_000)
        #expect(machine.momentCame(now: 20, outbound: start) == .ping(until: 25))
        for round in 1...40 as ClosedRange<Int> {
            let now = Int64(20 + 5 * round)
            let outbound = Outbound(acknowledged: 100 + round, taken: 5 - round, waiting: 500_000)
            #expect(machine.momentCame(now: now, outbound: outbound) == .wait(until: now + 5))
        }
        let end = Outbound(acknowledged: 140, taken: -35, waiting: 500_000)
        #expect(machine.momentCame(now: 225, outbound: end) == .stale)
    }

    @Test("a queue that does not move, and a short one, are no excuse")
    func standingQueue() {
        var standing = machine()
        let long = Outbound(taken: 5, waiting: 500_000)
        #expect(standing.momentCame(now: 20, outbound: long) == .ping(until: 25))
        // Written by this side, and not taken by the peer.
        let written = Outbound(taken: 400_000, waiting: 100_000)
        #expect(standing.momentCame(now: 25, outbound: written) == .stale)
        var trickling = machine()
        #expect(
            trickling.momentCame(now: 20, outbound: Outbound(taken: 5, waiting: 10))
                == .ping(until: 25))
        #expect(
            trickling.momentCame(now: 25, outbound: Outbound(acknowledged: 50, taken: 50, waiting: 10))
                == .stale)
    }

    @Test("a ping that could not be sent is owed no answer")
    func unsent() {
        var machine = machine()
        #expect(machine.momentCame(now: 20, outbound: idle) == .ping(until: 25))
        machine.pingFailed()
        #expect(machine.momentCame(now: 25, outbound: idle) == .wait(until: 40))
        #expect(machine.momentCame(now: 40, outbound: idle) == .ping(until: 45))
    }

    @Test("a moment that comes early or late, and figures without bounds")
    func odd() {
        var machine = machine()
        #expect(machine.momentCame(now: 3, outbound: idle) == .wait(until: 20))
        #expect(machine.momentCame(now: 90, outbound: idle) == .ping(until: 95))
        machine.heard()
        #expect(machine.momentCame(now: 300, outbound: idle) == .wait(until: 305))
        var endless = LivenessMachine(interval: .max, limit: .max, now: 7)
        #expect(endless.nextPing == .max)
        #expect(endless.momentCame(now: 8, outbound: idle) == .wait(until: .max))
    }
}
