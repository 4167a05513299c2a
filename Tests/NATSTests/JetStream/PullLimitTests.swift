import NIOCore
import Testing

@testable import NATS

@Suite("How much readers ask for at once")
struct PullLimitTests {
    private let now = NIODeadline.now()

    @Test("less than the least that a server holds for a client, as far as INFO tells that")
    func information() {
        let limit = PullLimit()
        #expect(limit.bytes(maximumPayload: 3 << 20) == 1 << 20)
        #expect(limit.bytes(maximumPayload: 64 << 20) == PullBudget.usualBytes)
        #expect(limit.bytes(maximumPayload: 16) == 64 << 10)
    }

    @Test("so does what a server counts whose writer is late: all that it writes counts until that write has ended")
    func lateWriter() {
        let most = 3 << 20
        var budget = PullBudget(maximumPayload: most, asked: PullLimit().bytes(maximumPayload: most))
        var (source, queued, counted) = (UInt64(0), 0, 0)
        func pull() {
            while budget.wantsPull(of: 100_000) {
                source += 1
                budget.began(source, messages: 100_000, bytes: budget.next)
                queued += budget.next
            }
        }
        pull()
        // The first write begins when half of what was asked for is there, the others when all of it is.
        for share in [2] + Array(repeating: 1, count: 20) {
            let written = queued / share
            queued -= written
            for _ in 0..<written / 1_024 {
                _ = budget.received(1_024, at: 0)
                pull()
                counted = max(counted, written + queued)
            }
        }
        #expect(counted <= most && counted > 2 * budget.next)
    }

    @Test("half as much after each cut, and the usual again after some minutes without one")
    func cuts() {
        let limit = PullLimit()
        limit.wasCut(at: now)
        #expect(limit.bytes(maximumPayload: 3 << 20, at: now) == 512 << 10)
        limit.wasCut(at: now + .minutes(5))
        #expect(limit.bytes(maximumPayload: 3 << 20, at: now + .minutes(14)) == 256 << 10)
        for _ in 0..<100 { limit.wasCut(at: now + .minutes(14)) }
        #expect(limit.bytes(maximumPayload: 1 << 30, at: now + .minutes(14)) == 64 << 10)
        #expect(limit.bytes(maximumPayload: 3 << 20, at: now + .minutes(25)) == 1 << 20)
    }
}
