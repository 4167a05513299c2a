import NATS
import Relay
import Testing

@Suite struct TopicCursorTests {
    @Test("B38: messages are new once, by sequence and by identifier")
    func duplicates() {
        var cursor = TopicCursor()
        #expect(cursor.receive(sequence: 5, id: "a") == .deliver(isRecovered: false))
        #expect(cursor.receive(sequence: 5, id: "a") == .duplicate)
        #expect(cursor.receive(sequence: 4, id: "older") == .duplicate)
        #expect(cursor.receive(sequence: 9, id: "a") == .duplicate, "The same message stored twice")
        #expect(cursor.receive(sequence: 9, id: "b") == .duplicate, "Its sequence has been passed")
        #expect(cursor.receive(sequence: 10) == .deliver(isRecovered: false))
        #expect(cursor.last == 10 && cursor.duplicates == 4)
    }

    @Test("Only so many identifiers are remembered, the newest")
    func bounded() {
        var cursor = TopicCursor(rememberedIdentifiers: 3)
        for number in 1...7 as ClosedRange<UInt64> { _ = cursor.receive(sequence: number, id: "\(number)") }
        for id in ["5", "6", "7"] { #expect(cursor.receive(sequence: 10 + (UInt64(id) ?? 0), id: id) == .duplicate) }
        #expect(cursor.receive(sequence: 18, id: "1") == .deliver(isRecovered: false))
        let isNew = cursor.remember(id: "own")
        #expect(isNew)
        #expect(cursor.receive(sequence: 19, id: "own") == .duplicate)
    }

    @Test("B38: after an outage everything missed is asked for, and marked as recovered until the present is reached")
    func recovery() {
        var cursor = TopicCursor(last: 10)
        #expect(cursor.isLive)
        #expect(cursor.resume(first: 1, newest: 13) == TopicCursor.Resumption(start: 11))
        #expect(!cursor.isLive)
        #expect(cursor.receive(sequence: 11) == .deliver(isRecovered: true))
        #expect(cursor.receive(sequence: 13) == .deliver(isRecovered: true))
        #expect(cursor.isLive)
        #expect(cursor.receive(sequence: 14) == .deliver(isRecovered: false))
    }

    @Test("B38: the rest may hold nothing for this subscription")
    func nothingOfOurs() {
        var cursor = TopicCursor(last: 10)
        _ = cursor.resume(first: 1, newest: 13)
        cursor.reach(13)
        #expect(cursor.isLive && cursor.last == 10)
        #expect(cursor.resume(first: 1, newest: 13) == TopicCursor.Resumption(start: 11))
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
        #expect(cursor.resume(first: first, newest: newest) == TopicCursor.Resumption(start: start, lost: lost))
        #expect(cursor.lost == lost)
        #expect(cursor.isLive == (newest < first))
        #expect(cursor.receive(sequence: start) != .duplicate)
    }

    @Test("A stream that was made again is read from its start")
    func restarted() {
        var cursor = TopicCursor(last: 100)
        #expect(cursor.resume(first: 1, newest: 3) == TopicCursor.Resumption(start: 1, isRestarted: true))
        #expect(cursor.receive(sequence: 1) == .deliver(isRecovered: true))
        cursor = TopicCursor(last: 100)
        #expect(cursor.resume(first: 1, newest: 0) == TopicCursor.Resumption(start: 1, isRestarted: true))
        #expect(cursor.isLive)
        #expect(cursor.receive(sequence: 1) == .deliver(isRecovered: false))
    }

    @Test("A subscription that has seen nothing goes on with new messages")
    func fresh() {
        var cursor = TopicCursor()
        #expect(cursor.resume(first: 5, newest: 90) == TopicCursor.Resumption(start: nil))
        #expect(cursor.isLive && cursor.receive(sequence: 91) == .deliver(isRecovered: false))
    }

    @Test("The largest sequences do not overflow")
    func extremes() {
        var cursor = TopicCursor(last: .max)
        #expect(cursor.resume(first: 1, newest: .max).start == .max)
        #expect(cursor.receive(sequence: .max) == .duplicate)
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
            for _ in 0..<40 {
                newest += .random(in: 0...10, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 {
                    first = min(first + .random(in: 0...15, using: &random), newest + 1)
                }
                let resumption = cursor.resume(first: first, newest: newest)
                guard var next = resumption.start else { continue }
                // The server repeats a few and may break off at any point.
                next -= min(next - first, .random(in: 0...3, using: &random))
                let end = Int.random(in: 0..<3, using: &random) == 0 ? (next + newest) / 2 : newest
                while next <= end {
                    if case .deliver(let isRecovered) = cursor.receive(sequence: next, id: "\(next)") {
                        delivered.append(next)
                        #expect(isRecovered)
                    }
                    next += 1
                }
            }
            #expect(delivered == delivered.sorted() && Set(delivered).count == delivered.count)
            #expect(UInt64(delivered.count) + cursor.lost == cursor.last)
        }
    }

    @Test("B38: what a replica shows late is no repetition, though the server said that nothing more was there")
    func laggingReplica() {
        var cursor = TopicCursor(last: 98)
        #expect(cursor.receive(sequence: 99) == .deliver(isRecovered: false))
        cursor.reach(100)
        #expect(cursor.receive(sequence: 100) == .deliver(isRecovered: false))
        cursor.reach(200)
        // None of the hundred that are gone was this subscription's.
        #expect(cursor.resume(first: 201, newest: 210) == TopicCursor.Resumption(start: 201))
        // The stream lost its newest messages: what comes has their sequences.
        cursor = TopicCursor(last: 5)
        cursor.reach(100)
        #expect(cursor.resume(first: 1, newest: 50) == TopicCursor.Resumption(start: 6))
        #expect(cursor.receive(sequence: 51) == .deliver(isRecovered: false))
    }
}
