import Testing

@testable import NATS

@Suite("Silence")
struct SilenceMachineTests {
    private typealias Outbound = LivenessMachine.Outbound

    /// Looks at a machine every 50 ms, as its driver does while something waits.
    private struct Look {
        var machine = SilenceMachine()
        var now: Int64 = 1_000_000_000
        var outbound = Outbound()
        var actions: [SilenceMachine.Action] = []

        /// - Parameter milliseconds: how long something waits, looked at to its end.
        mutating func wait(_ milliseconds: Int64) {
            let end = now + milliseconds * 1_000_000
            while now < end {
                now += 50_000_000
                let outbound = outbound
                if let action = machine.waits(now: now, outbound: { outbound }) { actions.append(action) }
            }
        }

        /// Whether bytes that arrive end a silence.
        mutating func hear() -> Bool { machine.heard() }
    }

    @Test("B61 whoever waits for an answer asks after a second, and after two without a byte the peer is silent")
    func silence() {
        var look = Look()
        look.wait(50)
        let began = look.now
        look.wait(950)
        #expect(look.actions.isEmpty)
        look.wait(50)
        #expect(look.actions == [.ask])
        look.wait(950)
        #expect(!look.machine.isSilent)
        look.wait(50)
        #expect(look.actions == [.ask, .silent(since: began)] && look.machine.isSilent)
        // That is said once.
        look.wait(60_000)
        #expect(look.actions.count == 2)
        let (first, second) = (look.hear(), look.hear())
        #expect(first && !second && !look.machine.isSilent)
    }

    @Test("a peer that says anything at all is not silent, however late an answer is")
    func lateAnswer() {
        var look = Look()
        for _ in 1...20 {
            look.wait(1_900)
            let wasSilent = look.hear()
            #expect(!wasSilent)
        }
        #expect(look.actions.allSatisfy { $0 == .ask } && look.actions.count == 20)
    }

    @Test("time in which nothing was awaited, or in which this side could not hear, does not count")
    func excused() {
        var look = Look()
        look.wait(1_900)
        look.machine.excuse()
        look.now += 3_600_000_000_000
        look.wait(1_900)
        #expect(look.actions == [.ask, .ask])
        // What was heard while nothing was awaited says nothing of what is asked next.
        look.machine.excuse()
        _ = look.machine.heard()
        look.wait(50)
        let began = look.now
        look.wait(2_000)
        #expect(look.actions.last == .silent(since: began))
    }

    @Test("a peer that takes a long queue is slow, and silent from when it takes no more")
    func slow() {
        var look = Look()
        look.outbound.waiting = 1 << 20
        for _ in 1...200 {
            look.outbound.acknowledged += 1
            look.wait(50)
        }
        #expect(look.actions.allSatisfy { $0 == .ask })
        look.wait(3_100)
        #expect(look.machine.isSilent)
        // With nothing queued, what the peer's system takes is no sign of the peer.
        var short = Look()
        for _ in 1...50 {
            short.outbound.acknowledged += 1
            short.wait(50)
        }
        #expect(short.machine.isSilent)
    }
}
