import NATS
import Testing

@testable import Relay

@Suite struct TopicCursorTests {
    private enum Verdict { case new, recovered, repeated }

    private func judge(_ cursor: inout TopicCursor, sequence: UInt64, repetition: Int? = nil) -> Verdict {
        let wasLive = cursor.isLive
        return cursor.receive(sequence: sequence, repetition: repetition) ? wasLive ? .new : .recovered : .repeated
    }

    @Test("B38: messages are new once, by sequence and by identifier")
    func duplicates() {
        var cursor = TopicCursor()
        #expect(judge(&cursor, sequence: 5, repetition: 1) == .new)
        #expect(judge(&cursor, sequence: 5, repetition: 1) == .repeated)
        #expect(judge(&cursor, sequence: 4, repetition: 3) == .repeated)
        #expect(judge(&cursor, sequence: 9, repetition: 1) == .repeated, "The same message stored twice")
        #expect(judge(&cursor, sequence: 9, repetition: 2) == .repeated, "Its sequence has been passed")
        #expect(judge(&cursor, sequence: 10) == .new)
        #expect(cursor.last == 10)
    }

    @Test("Only so many identifiers are remembered, the newest")
    func bounded() {
        var cursor = TopicCursor(remembered: 3)
        for number in 1...7 as ClosedRange<UInt64> { _ = cursor.receive(sequence: number, repetition: Int(number)) }
        for id in 5...7 { #expect(judge(&cursor, sequence: 10 + UInt64(id), repetition: id) == .repeated) }
        #expect(judge(&cursor, sequence: 18, repetition: 1) == .new)
    }

    @Test("B38: after an outage everything missed is asked for, and marked as recovered until the present is reached")
    func recovery() {
        var cursor = TopicCursor(last: 10)
        #expect(cursor.isLive)
        #expect(cursor.resume(first: 1, newest: 13) == (11, 0))
        #expect(!cursor.isLive)
        #expect(judge(&cursor, sequence: 11) == .recovered)
        #expect(judge(&cursor, sequence: 13) == .recovered)
        #expect(cursor.isLive)
        #expect(judge(&cursor, sequence: 14) == .new)
    }

    @Test("B38: the rest may hold nothing for this subscription")
    func nothingOfOurs() {
        var cursor = TopicCursor(last: 10)
        _ = cursor.resume(first: 1, newest: 13)
        cursor.reach(13)
        #expect(cursor.isLive && cursor.last == 10)
        #expect(cursor.resume(first: 1, newest: 13) == (11, 0))
        #expect(cursor.isLive)
    }

    @Test(
        "B38: what the stream no longer has is counted as lost",
        arguments: [
            (10, 11, 20, 11, 0), (10, 12, 20, 12, 1), (10, 16, 20, 16, 5), (10, 10, 20, 11, 0), (10, 21, 20, 21, 10),
            (0, 1, 5, 1, 0), (0, 4, 5, 4, 3),
        ] as [(UInt64, UInt64, UInt64, UInt64, UInt64)]
    ) func gaps(_ last: UInt64, _ first: UInt64, _ newest: UInt64, _ start: UInt64, _ lost: UInt64) {
        var cursor = TopicCursor(last: last)
        #expect(cursor.resume(first: first, newest: newest) == (start, lost))
        #expect(cursor.isLive == (newest < first))
        #expect(judge(&cursor, sequence: start) != .repeated)
    }

    @Test("A subscription that has seen nothing goes on with new messages")
    func fresh() {
        var cursor = TopicCursor()
        #expect(cursor.resume(first: 5, newest: 90) == (nil, 0))
        #expect(cursor.isLive && judge(&cursor, sequence: 91) == .new)
    }

    @Test("The largest sequences do not overflow")
    func extremes() {
        var cursor = TopicCursor(last: .max)
        #expect(cursor.resume(first: 1, newest: .max).start == .max)
        #expect(judge(&cursor, sequence: .max) == .repeated)
        cursor = TopicCursor(last: 0)
        #expect(cursor.resume(first: .max, newest: .max).lost == UInt64.max - 1)
    }

    @Test("B38: under random outages and repetitions each stored message is delivered once, in order, or counted lost")
    func random() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SeededGenerator(seed: seed)
            var cursor = TopicCursor(last: 0)
            var first: UInt64 = 1
            var newest: UInt64 = 0
            var delivered: [UInt64] = []
            var lost: UInt64 = 0
            for _ in 0..<40 {
                newest += .random(in: 0...10, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    first = min(first + .random(in: 0...15, using: &random), newest + 1)
                }
                let resumption = cursor.resume(first: first, newest: newest)
                lost += resumption.lost
                guard var next = resumption.start else { continue }
                // The server repeats a few and may break off at any point.
                next -= min(next - first, .random(in: 0...3, using: &random))
                let end = Int.random(in: 0..<3, using: &random) == 0 ? (next + newest) / 2 : newest
                while next <= end {
                    let isRecovered = !cursor.isLive
                    if cursor.receive(sequence: next, repetition: Int(next)) {
                        delivered.append(next)
                        #expect(isRecovered)
                    }
                    next += 1
                }
            }
            #expect(delivered == delivered.sorted() && Set(delivered).count == delivered.count)
            #expect(UInt64(delivered.count) + lost == cursor.last)
        }
    }

    @Test("B38: what a replica shows late is no repetition, though the server said that nothing more was there")
    func laggingReplica() {
        var cursor = TopicCursor(last: 98)
        #expect(judge(&cursor, sequence: 99) == .new)
        cursor.reach(100)
        #expect(judge(&cursor, sequence: 100) == .new)
        cursor.reach(200)
        // None of the hundred that are gone was this subscription's.
        #expect(cursor.resume(first: 201, newest: 210) == (201, 0))
        // The stream lost its newest messages: what comes has their sequences.
        cursor = TopicCursor(last: 5)
        cursor.reach(100)
        #expect(cursor.resume(first: 1, newest: 50) == (6, 0))
        #expect(judge(&cursor, sequence: 51) == .new)
    }
}
