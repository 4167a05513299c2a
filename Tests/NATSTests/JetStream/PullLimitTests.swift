import NIOCore
import Testing

@testable import NATS

@Suite("How much readers ask for at once")
struct PullLimitTests {
    private let now = NIODeadline.now()

    @Test("less than the least that a server holds for a client, as far as INFO tells that")
    func information() {
        let limit = PullLimit()
        #expect(limit.bytes(maximumPayload: 1 << 20) == 512 << 10)
        #expect(limit.bytes(maximumPayload: 64 << 20) == PullBudget.usualBytes)
        #expect(limit.bytes(maximumPayload: 16) == 64 << 10)
        // One pull is under way when the next is sent.
        var budget = PullBudget(maximumPayload: 1 << 20, asked: limit.bytes(maximumPayload: 1 << 20))
        var most = 0
        for source in 0..<1_000 as Range<UInt64> {
            while budget.wantsPull(of: 2_000) {
                budget.began(source, messages: 2_000, bytes: budget.next)
                most = max(most, budget.bytes)
            }
            _ = budget.received(10 << 10, at: 0)
        }
        #expect(most <= 1 << 20)
    }

    @Test("half as much after each cut, and the usual again after some minutes without one")
    func cuts() {
        let limit = PullLimit()
        limit.wasCut(at: now)
        #expect(limit.bytes(maximumPayload: 1 << 20, at: now) == 256 << 10)
        limit.wasCut(at: now + .minutes(5))
        #expect(limit.bytes(maximumPayload: 1 << 20, at: now + .minutes(14)) == 128 << 10)
        for _ in 0..<100 { limit.wasCut(at: now + .minutes(14)) }
        #expect(limit.bytes(maximumPayload: 1 << 30, at: now + .minutes(14)) == 64 << 10)
        #expect(limit.bytes(maximumPayload: 1 << 20, at: now + .minutes(25)) == 512 << 10)
    }
}
