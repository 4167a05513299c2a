import NIOCore
import Testing

@testable import NATS

@Suite("Budget of pulls")
struct PullBudgetTests {
    @Test("a pull ends with its last message, and the next is due when half of it has come")
    func messages() {
        var budget = PullBudget(maximumPayload: 1 << 20)
        #expect(budget.wantsPull(of: 500))
        budget.began(7, messages: 500, bytes: budget.next)
        for number in 1...500 {
            let isDue = budget.wantsPull(of: 500)
            let hasEnded = budget.received(128, at: 0)
            #expect(isDue == (number > 250))
            #expect(hasEnded == (number == 500))
        }
        #expect(budget.pulls.isEmpty && budget.messages == 0 && budget.bytes == 0)
        #expect(budget.next == PullBudget.usualBytes)
    }

    @Test("a pull that names no bytes ends with its messages alone")
    func unbounded() {
        var budget = PullBudget(maximumPayload: 1 << 20)
        budget.began(1, messages: 3, bytes: budget.next, isBounded: false)
        let ends = (0..<3).map { _ in budget.received(PullBudget.usualBytes, at: 0) }
        #expect(ends == [false, false, true])
        #expect(budget.pulls.isEmpty && budget.bytes == 0)
    }

    @Test(
        "after a pull that was too small for one message the next asks for twice as much, up to what the buffer holds")
    func growth() {
        var budget = PullBudget(maximumPayload: 8 << 20)
        var asked: [Int] = []
        var failure: NATSError?
        while failure == nil, asked.count < 20 {
            asked.append(budget.next)
            budget.began(1, messages: 500, bytes: budget.next)
            do throws(NATSError) { try budget.ended(at: 0, isTooSmall: true) } catch { failure = error }
        }
        #expect(asked == [4, 8, 16, 32, 64].map { $0 << 20 } + [budget.largest])
        #expect(failure?.isRetryable == false)
        #expect(budget.bufferLimits(messages: 10).bytes > budget.largest)
        // The server's own limit always fits.
        #expect(PullBudget(maximumPayload: 100 << 20).largest > 100 << 20)
        #expect(PullBudget(maximumPayload: .max).largest > 0)
    }

    @Test("pulls that were too small together count once")
    func together() throws {
        var budget = PullBudget(maximumPayload: 8 << 20)
        for source in [1, 2] as [UInt64] { budget.began(source, messages: 500, bytes: budget.next) }
        try budget.ended(at: 0, isTooSmall: true)
        try budget.ended(at: 0, isTooSmall: true)
        #expect(budget.next == 8 << 20)
        // One that has brought something was not too small.
        budget.began(3, messages: 500, bytes: budget.next)
        _ = budget.received(1_000, at: 0)
        try budget.ended(at: 0, isTooSmall: true)
        #expect(budget.next == PullBudget.usualBytes)
    }

    /// Numbers that look random and are the same in every run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64 = 88_172_645_463_325_252

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    /// A pull as the server keeps it.
    private struct Waiting {
        let source: UInt64
        var messages: Int
        var bytes: Int
    }

    @Test("whatever the sizes, every message comes and all pulls together stay within the total")
    func everySize() throws {
        var numbers = Numbers()
        let kinds = [80...200, 1_000...20_000, 100_000...1_100_000, 3 << 20...5 << 20, 8 << 20...33 << 20]
        var budget = PullBudget(maximumPayload: 1 << 20)
        var waiting: [Waiting] = []
        var source: UInt64 = 0
        var kind = kinds[0]
        var refusals = 0
        for message in 0..<5_000 {
            if message % 50 == 0 { kind = kinds[Int.random(in: 0..<kinds.count, using: &numbers)] }
            let size = Int.random(in: kind, using: &numbers)
            var hasCome = false
            while !hasCome {
                if budget.wantsPull(of: 500) {
                    source += 1
                    waiting.append(Waiting(source: source, messages: 500, bytes: budget.next))
                    budget.began(source, messages: 500, bytes: budget.next)
                }
                let isWithinTotal = budget.bytes <= 2 * PullBudget.usualBytes || budget.pulls.count == 1
                try #require(isWithinTotal && budget.messages <= 1_500)
                try #require(!waiting.isEmpty)
                var pull = waiting.removeFirst()
                let served = pull.source
                let place = budget.pulls.firstIndex { $0.source == served }
                let index = try #require(place)
                if size > pull.bytes {
                    refusals += 1
                    try budget.ended(at: index, isTooSmall: true)
                    continue
                }
                pull.messages -= 1
                pull.bytes -= size
                let goesOn = pull.messages > 0 && pull.bytes > 0
                if goesOn { waiting.append(pull) }
                let hasEnded = budget.received(size, at: index)
                try #require(hasEnded != goesOn)
                hasCome = true
            }
        }
        #expect(refusals > 0)
        #expect(budget.messages == waiting.reduce(0) { $0 + $1.messages })
        #expect(budget.bytes == waiting.reduce(0) { $0 + $1.bytes })
    }
}

@Suite("Status of a pull")
struct PullStatusTests {
    private func message(_ line: String) -> NATSMessage {
        let block = "NATS/1.0 \(line)\r\nNats-Pending-Bytes: 1\r\n\r\n"
        return NATSMessage(
            subject: "inbox", reply: nil, content: ByteBuffer(string: block), headerLength: block.utf8.count)
    }

    @Test("tells a pull that has ended from one that was refused")
    func kinds() {
        let refusal = "Exceeded MaxRequestMaxBytes of 5"
        let table: [(String, PullStatus)] = [
            ("100 Idle Heartbeat\r\nNats-Last-Consumer: 7", .alive(sent: 7)), ("404 No Messages", .ended),
            ("408 Request Timeout", .ended),
            ("409 Batch Completed", .ended), ("409 Message Size Exceeds MaxBytes", .tooSmall),
            ("409 \(refusal)", .failed(JetStreamFailure(code: 409, errorCode: 0, text: refusal))),
            ("409 Consumer Deleted", .failed(JetStreamFailure(code: 409, errorCode: 0, text: "Consumer Deleted"))),
            ("503", .unheard),
        ]
        for (line, status) in table { #expect(PullStatus(message(line)) == status, "\(line)") }
        let plain = NATSMessage(subject: "inbox", reply: nil, content: ByteBuffer(string: "409"), headerLength: 0)
        #expect(PullStatus(plain) == nil)
    }
}
