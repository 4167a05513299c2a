import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import NATS

@Suite("Buffer between event loop and reader")
struct SubscriptionBufferTests {
    private func buffer(
        _ messages: Int, bytes: Int = 1 << 20, _ overflow: BufferLimits.Overflow,
        on loop: any EventLoop = EmbeddedEventLoop()
    ) -> SubscriptionBuffer {
        SubscriptionBuffer(
            sid: 2, subject: "s",
            limits: BufferLimits(messages: messages, bytes: bytes, overflow: overflow), on: loop)
    }

    private func deliver(_ texts: [String], to buffer: SubscriptionBuffer) -> Int? {
        var batch = texts.map {
            NATSMessage(subject: "s", reply: nil, content: ByteBuffer(string: $0), headerLength: 0)
        }
        let delivery = buffer.deliver(&batch, of: ReadChunk(number: 1, capacity: 64))
        #expect(batch.isEmpty)
        return delivery
    }

    @Test("copies what waits out of reads that it keeps little of, and never what a reader takes in time")
    func keptReads() {
        for takesAll in [true, false] {
            let buffer = buffer(10_000, .dropNewest)
            var contents: [ByteBuffer] = []
            for number in 0..<100 {
                var read = ByteBuffer(repeating: 0, count: 100_000)
                read.setString("\(1_000 + number)", at: 0)
                let content = read.getSlice(at: 0, length: 4) ?? ByteBuffer()
                var batch = [NATSMessage(subject: "s", reply: nil, content: content, headerLength: 0)]
                _ = buffer.deliver(&batch, of: ReadChunk(number: UInt64(number), capacity: read.storageCapacity))
                guard takesAll || number == 99 else { continue }
                var taken: [NATSMessage] = []
                _ = buffer.take(into: &taken)
                contents += taken.reversed().map(\.content)
            }
            #expect(contents.map { String(buffer: $0) } == (0..<100).map { "\(1_000 + $0)" })
            let large = contents.count { $0.storageCapacity >= 100_000 }
            #expect(takesAll ? large == 100 : large < 20)
        }
    }

    /// What a reader finds without waiting, in order.
    private func read(_ buffer: SubscriptionBuffer, gathering: Gathering? = nil) -> [String] {
        var batch: [NATSMessage] = []
        guard case .batch = buffer.take(into: &batch, gathering: gathering) else { return [] }
        return batch.reversed().map(\.text)
    }

    /// What a reader that finds too little waits for, and when its alarm is to ring.
    private func wait(
        for buffer: SubscriptionBuffer, until deadline: NIODeadline = .distantFuture, gathering: Gathering? = nil
    ) throws -> (wakeup: Completion<SubscriptionBuffer.Wakeup>, alarm: NIODeadline?) {
        var batch: [NATSMessage] = []
        guard case .wait(let wakeup, let alarm) = buffer.take(into: &batch, until: deadline, gathering: gathering)
        else { throw TestFailure("there is nothing to wait for") }
        return (wakeup, alarm)
    }

    private func isAccepted(_ lost: Int?) -> Bool { lost == nil }

    private func lost(_ lost: Int?) -> Int { lost ?? 0 }

    @Test("hands over what came, in order, batch after batch")
    func order() {
        let buffer = buffer(10, .dropNewest)
        #expect(isAccepted(deliver(["1", "2"], to: buffer)))
        #expect(isAccepted(deliver(["3"], to: buffer)))
        #expect(read(buffer) == ["1", "2", "3"])
        #expect(isAccepted(deliver(["4"], to: buffer)))
        #expect(read(buffer) == ["4"])
        #expect(buffer.delivered == 4 && buffer.dropped == 0)
    }

    @Test("drops and counts what arrives when it is full", arguments: [3, 1])
    func dropNewest(limit: Int) {
        let buffer = buffer(limit, .dropNewest)
        #expect(lost(deliver(["1", "2", "3", "4", "5"], to: buffer)) == 5 - limit)
        #expect(lost(deliver(["6"], to: buffer)) == 6 - limit)
        #expect(buffer.dropped == 6 - limit)
        #expect(read(buffer) == Array(["1", "2", "3"].prefix(limit)))
        #expect(isAccepted(deliver(["7"], to: buffer)))
        #expect(read(buffer) == ["7"])
    }

    @Test("drops and counts the oldest when it is full")
    func dropOldest() {
        let buffer = buffer(3, .dropOldest)
        #expect(isAccepted(deliver(["1", "2"], to: buffer)))
        #expect(lost(deliver(["3", "4"], to: buffer)) == 1)
        #expect(lost(deliver(["5", "6", "7", "8"], to: buffer)) == 5)
        #expect(read(buffer) == ["6", "7", "8"])
        #expect(isAccepted(deliver(["9", "10", "11"], to: buffer)))
        #expect(read(buffer) == ["9", "10", "11"])
    }

    @Test("counts bytes as well as messages", arguments: [BufferLimits.Overflow.dropNewest, .dropOldest])
    func bytes(overflow: BufferLimits.Overflow) {
        let buffer = buffer(100, bytes: 10, overflow)
        #expect(lost(deliver(["12345", "12345", "x"], to: buffer)) == 1)
        #expect(read(buffer) == (overflow == .dropNewest ? ["12345", "12345"] : ["12345", "x"]))
        // Larger than the whole buffer: lost, and the buffer stays usable.
        #expect(lost(deliver(["12345678901"], to: buffer)) == 2)
        #expect(read(buffer) == [])
        #expect(isAccepted(deliver(["1234567890"], to: buffer)))
        #expect(read(buffer) == ["1234567890"])
    }

    @Test("gives what had arrived before its end, and nothing after")
    func ending() {
        let buffer = buffer(10, .dropNewest)
        _ = deliver(["1"], to: buffer)
        buffer.end(.failed(.staleConnection))
        _ = deliver(["2"], to: buffer)
        #expect(read(buffer) == ["1"])
        // The first reason stays.
        buffer.end(.finished)
        var batch: [NATSMessage] = []
        guard case .ended(.failed(.staleConnection)) = buffer.take(into: &batch) else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test("wakes waiters: for a message, and for the end")
    func wakeups() async throws {
        let buffer = buffer(10, .dropNewest)
        let (first, second) = (try wait(for: buffer), try wait(for: buffer))
        #expect(first.alarm == nil && second.alarm == nil)
        // There is one reader: the newest.
        #expect(await first.wakeup.value() == .cancelled)
        _ = deliver(["1"], to: buffer)
        #expect(await second.wakeup.value() == .ready)
        #expect(read(buffer) == ["1"])
        let third = try wait(for: buffer)
        buffer.end(.finished)
        #expect(await third.wakeup.value() == .ready)
    }

    @Test("a reader of many is woken once so many have come, or many bytes, or nothing more will")
    func gathering() async throws {
        let moment = NIODeadline.uptimeNanoseconds(0)
        let gathering = try #require(Gathering(of: 3, now: moment))
        #expect(Gathering(of: 1, now: moment) == nil)
        let large = String(repeating: "x", count: Gathering.bytes)
        for (first, rest, ends) in [
            (["1", "2"], ["3"], false), (["1"], [large], false), (["1"], [], true), ([], ["1", "2", "3", "4"], false),
        ] {
            let buffer = buffer(10, .dropNewest)
            if !first.isEmpty { _ = deliver(first, to: buffer) }
            let waiting = try wait(for: buffer, gathering: gathering)
            #expect(waiting.alarm == moment + Gathering.patience)
            if !rest.isEmpty { _ = deliver(rest, to: buffer) }
            if ends { buffer.end(.finished) }
            #expect(await waiting.wakeup.value() == .ready)
            #expect(read(buffer, gathering: gathering) == first + rest)
        }
    }

    @Test("a full buffer is enough for a reader of many")
    func gatheringAtTheBound() async throws {
        for overflow in [BufferLimits.Overflow.dropNewest, .dropOldest] {
            let buffer = buffer(2, overflow)
            let gathering = try #require(Gathering(of: 100, now: .uptimeNanoseconds(0)))
            let waiting = try wait(for: buffer, gathering: gathering)
            _ = deliver(["1", "2", "3"], to: buffer)
            #expect(await waiting.wakeup.value() == .ready)
            #expect(read(buffer, gathering: gathering).count >= 2, "\(overflow)")
        }
    }

    @Test("a reader of many takes what has come when its moment is over, and has ended the wait of another")
    func gatheringInTime() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let buffer = buffer(100, .dropNewest, on: loop)
        let gathering = try #require(Gathering(of: 100, now: loop.now))
        let one = try wait(for: buffer)
        let many = try wait(for: buffer, gathering: gathering)
        #expect(await one.wakeup.value() == .cancelled)
        try buffer.setAlarm(#require(many.alarm))
        _ = deliver(["1", "2"], to: buffer)
        await loop.advanceTime(by: Gathering.patience)
        #expect(await many.wakeup.value() == .deadline)
        #expect(read(buffer) == ["1", "2"])
        await loop.shutdownGracefully()
    }

    @Test("a reader hears of its deadline, on each of its waits")
    func deadline() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let buffer = buffer(100, .dropNewest, on: loop)
        for _ in 1...2 {
            let waiting = try wait(for: buffer, until: loop.now + .seconds(1))
            try buffer.setAlarm(#require(waiting.alarm))
            await loop.advanceTime(by: .seconds(1))
            #expect(await waiting.wakeup.value() == .deadline)
        }
        buffer.end(.finished)
        await loop.shutdownGracefully()
    }

    @Test("holds at least one message and one byte whatever is asked of it")
    func leastLimits() {
        let limits = BufferLimits(messages: -5, bytes: 0)
        #expect(limits.messages == 1 && limits.bytes == 1)
    }
}
