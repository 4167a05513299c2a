import NIOCore
import NIOEmbedded
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
    private func read(_ buffer: SubscriptionBuffer) -> [String] {
        var batch: [NATSMessage] = []
        guard case .batch = buffer.take(into: &batch) else { return [] }
        return batch.reversed().map(\.text)
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
        var batch: [NATSMessage] = []
        guard case .ended(.failed(.staleConnection)) = buffer.take(into: &batch) else {
            Issue.record("not ended")
            return
        }
        // The first reason stays.
        buffer.end(.finished)
        guard case .ended(.failed(.staleConnection)) = buffer.take(into: &batch) else {
            Issue.record("ended otherwise")
            return
        }
    }

    @Test("wakes waiters: for a message, and for the end")
    func wakeups() async {
        let buffer = buffer(10, .dropNewest)
        var batch: [NATSMessage] = []
        guard case .wait(let first, alarm: nil) = buffer.take(into: &batch),
            case .wait(let second, alarm: nil) = buffer.take(into: &batch)
        else {
            Issue.record("nothing to wait for")
            return
        }
        // There is one reader: the newest.
        #expect(await first.value() == .cancelled)
        _ = deliver(["1"], to: buffer)
        #expect(await second.value() == .ready)
        #expect(read(buffer) == ["1"])
        guard case .wait(let third, alarm: nil) = buffer.take(into: &batch) else {
            Issue.record("nothing to wait for")
            return
        }
        buffer.end(.finished)
        #expect(await third.value() == .ready)
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
            var batch: [NATSMessage] = []
            if !first.isEmpty { _ = deliver(first, to: buffer) }
            guard case .wait(let wakeup, let alarm) = buffer.take(into: &batch, gathering: gathering) else {
                Issue.record("\(first) are enough")
                continue
            }
            #expect(alarm == moment + Gathering.patience)
            if !rest.isEmpty { _ = deliver(rest, to: buffer) }
            if ends { buffer.end(.finished) }
            #expect(await wakeup.value() == .ready)
            guard case .batch = buffer.take(into: &batch, gathering: gathering) else {
                Issue.record("\(first) and \(rest) are not enough")
                continue
            }
            #expect(batch.reversed().map(\.text) == first + rest)
        }
    }

    @Test("a full buffer is enough for a reader of many")
    func gatheringAtTheBound() async throws {
        for overflow in [BufferLimits.Overflow.dropNewest, .dropOldest] {
            let buffer = buffer(2, overflow)
            var batch: [NATSMessage] = []
            let gathering = try #require(Gathering(of: 100, now: .uptimeNanoseconds(0)))
            guard case .wait(let wakeup, _) = buffer.take(into: &batch, gathering: gathering) else {
                Issue.record("there is something")
                continue
            }
            _ = deliver(["1", "2", "3"], to: buffer)
            #expect(await wakeup.value() == .ready)
            guard case .batch = buffer.take(into: &batch, gathering: gathering) else {
                Issue.record("\(overflow): the reader waits for what cannot come")
                continue
            }
            #expect(batch.count >= 2)
        }
    }

    @Test("a reader of many takes what has come when its moment is over, and has ended the wait of another")
    func gatheringInTime() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let buffer = buffer(100, .dropNewest, on: loop)
        var batch: [NATSMessage] = []
        let gathering = try #require(Gathering(of: 100, now: loop.now))
        guard case .wait(let one, alarm: nil) = buffer.take(into: &batch),
            case .wait(let many, let alarm?) = buffer.take(into: &batch, gathering: gathering)
        else {
            Issue.record("nothing to wait for, or no alarm")
            return
        }
        #expect(await one.value() == .cancelled)
        buffer.setAlarm(alarm)
        _ = deliver(["1", "2"], to: buffer)
        await loop.advanceTime(by: Gathering.patience)
        #expect(await many.value() == .deadline)
        #expect(read(buffer) == ["1", "2"])
        await loop.shutdownGracefully()
    }

    @Test("a reader hears of its deadline, on each of its waits")
    func deadline() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let buffer = buffer(100, .dropNewest, on: loop)
        var batch: [NATSMessage] = []
        for wait in 1...2 {
            let deadline = loop.now + .seconds(1)
            guard case .wait(let wakeup, let alarm?) = buffer.take(into: &batch, until: deadline) else {
                Issue.record("no alarm is set for wait \(wait)")
                return
            }
            buffer.setAlarm(alarm)
            await loop.advanceTime(by: .seconds(1))
            #expect(await wakeup.value() == .deadline)
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
