import NIOConcurrencyHelpers
import Testing

@testable import Relay

@Suite("Queue between a subscription and its reader")
struct BoundedChannelTests {
    /// A channel of numbers, each of which counts as so many bytes.
    private func numbers(capacity: Int = 100, bytes: Int) -> BoundedChannel<Int> {
        BoundedChannel(capacity: capacity, bytes: bytes) { ChannelWeight(bytes: $0) }
    }

    @Test("B40 is full by bytes as well as by elements, and takes one element of any size")
    func full() async throws {
        let channel = numbers(capacity: 3, bytes: 10)
        #expect(await channel.send(100))
        #expect(channel.isFull && channel.waiting.bytes == 100)
        #expect(try await channel.next() == 100)
        #expect(!channel.isFull && channel.waiting.bytes == 0)
        for number in [4, 5] { #expect(await channel.send(number)) }
        #expect(!channel.isFull)
        #expect(await channel.send(50))
        #expect(channel.isFull && channel.waiting.bytes == 59)
        #expect(try await channel.nextBatch() == [4, 5, 50])
        #expect(!channel.isFull && channel.waiting.bytes == 0)
        for _ in 0..<3 { #expect(await channel.send(0)) }
        #expect(channel.isFull)
    }

    @Test("B40 counts what came together by what it is made of")
    func weights() async throws {
        let channel = BoundedChannel<[Int]>(capacity: 10, bytes: 100) {
            ChannelWeight(count: $0.count, bytes: 2 * $0.count)
        }
        #expect(await channel.send([1, 2, 3]))
        channel.mark([])
        #expect(!channel.isFull && channel.waiting.bytes == 6)
        #expect(await channel.send(Array(1...7)))
        #expect(channel.isFull)
        #expect(try await channel.next() == [1, 2, 3])
        #expect(!channel.isFull && channel.waiting.bytes == 14)
        #expect(try await channel.nextBatch() == [[], Array(1...7)])
        #expect(channel.waiting.bytes == 0)
    }

    @Test("B40 has its writer wait until bytes were taken, and loses nothing")
    func writerWaits() async throws {
        let channel = numbers(bytes: 10)
        let expected = (0..<1_000).map { $0 % 7 }
        let writer = Task { () -> Bool in
            for number in expected { guard await channel.send(number) else { return false } }
            return true
        }
        var taken: [Int] = []
        var most = 0
        while taken.count < expected.count, let number = try await channel.next() {
            taken.append(number)
            most = max(most, channel.waiting.bytes)
        }
        #expect(taken == expected)
        #expect(await writer.value)
        // Fewer than ten wait when the next comes, which has at most six.
        #expect(most <= 15)
    }

    @Test("B40 what waits for room comes once the reader has taken one, the newest alone, before what is written later")
    func late() async throws {
        let channel = numbers(capacity: 2, bytes: 1_000)
        channel.markWithRoom(1)
        #expect(await channel.send(2))
        #expect(channel.isFull)
        channel.markWithRoom(3)
        channel.markWithRoom(4)
        let writer = Task { await channel.send(5) }
        for number in [1, 2, 4, 5] { #expect(try await channel.next() == number) }
        #expect(await writer.value)
        #expect(!channel.isFull && channel.waiting.bytes == 0)
    }

    @Test("B40 what waits for room is read at the end, too, unless something else has taken its place")
    func lateAtTheEnd() async throws {
        for (isReplaced, numbers) in [(false, [1, 2]), (true, [1, 3])] {
            let channel = self.numbers(capacity: 1, bytes: 1_000)
            #expect(await channel.send(1))
            channel.markWithRoom(2)
            if isReplaced { channel.mark(3, isLast: true) }
            channel.close()
            for number in numbers { #expect(try await channel.next() == number) }
            #expect(try await channel.next() == nil)
        }
    }

    @Test("B40 a writer that waits for bytes is released when the reader leaves")
    func closed() async throws {
        let channel = numbers(bytes: 10)
        #expect(await channel.send(10))
        let writer = Task { await channel.send(1) }
        channel.close()
        #expect(await writer.value == false)
        #expect(try await channel.next() == 10)
        #expect(try await channel.next() == nil)
    }

    @Test("B40 a batch holds no more than was asked for, and what stands alone is whole however much it counts")
    func limitedBatches() async throws {
        let channel = BoundedChannel<[Int]>(capacity: 100) { ChannelWeight(count: $0.count) }
        for size in [3, 0, 2, 1, 9, 4] { #expect(await channel.send(Array(repeating: size, count: size))) }
        var sizes: [[Int]] = []
        while channel.waiting.count > 0, let batch = try await channel.nextBatch(upTo: 5) {
            sizes.append(batch.map(\.count))
        }
        #expect(sizes == [[3, 0, 2], [1], [9], [4]])
    }

    @Test("B40 several writers wait for one reader, and each one's elements keep their order")
    func manyWriters() async throws {
        let channel = numbers(capacity: 4, bytes: 1 << 20)
        let writers = (0..<4).map { writer in
            Task { for number in 0..<500 { guard await channel.send(4 * number + writer) else { break } } }
        }
        var taken: [Int] = []
        while taken.count < 2_000, let number = try await channel.next() { taken.append(number) }
        for writer in writers { await writer.value }
        for writer in 0..<4 {
            #expect(taken.filter { $0 % 4 == writer } == (0..<500).map { 4 * $0 + writer })
        }
    }

    @Test("B40 a cancelled writer waits no longer, unless it is patient")
    func cancelledWriter() async throws {
        let channel = numbers(capacity: 1, bytes: 100)
        #expect(channel.offer(1) && !channel.offer(2))
        let hasty = Task { await channel.send(2) }
        hasty.cancel()
        #expect(await !hasty.value)
        let patient = Task { await channel.send(3, isPatient: true) }
        patient.cancel()
        for number in [1, 3] { #expect(try await channel.next() == number) }
        #expect(await patient.value)
    }

    @Test("B40 a writer that waits for room before it reads adds at once then, and hears that it is to stop")
    func waitsForRoom() async throws {
        let channel = numbers(capacity: 1, bytes: 100)
        #expect(await channel.waitForRoom())
        channel.mark(1)
        let cancelled = Task { await channel.waitForRoom() }
        cancelled.cancel()
        #expect(await !cancelled.value)
        let waiting = Task { await channel.waitForRoom() }
        #expect(try await channel.next() == 1)
        #expect(await waiting.value)
        channel.mark(2)
        let closed = Task { await channel.waitForRoom() }
        channel.close()
        #expect(await !closed.value)
        #expect(try await channel.next() == 2)
    }

    @Test("A reader that does not wait is woken when something waits where nothing did, and neighbours are joined")
    func wakesAndJoins() {
        let wakes = NIOLockedValueBox(0)
        let channel = BoundedChannel<[Int]>(
            capacity: 4, weight: { ChannelWeight(count: $0.count) },
            join: { last, next in
                guard last.first == next.first else { return false }
                last += next
                return true
            }, wake: { wakes.withLockedValue { $0 += 1 } })
        #expect(channel.take() == nil)
        for number in [1, 1, 2, 1] { #expect(channel.offer([number])) }
        #expect(!channel.offer([1]) && wakes.withLockedValue(\.self) == 1)
        #expect(channel.take() == [1, 1] && channel.take() == [2] && channel.take() == [1] && channel.take() == nil)
        #expect(channel.waiting == ChannelWeight(count: 0) && channel.offer([5]))
        #expect(wakes.withLockedValue(\.self) == 2)
    }
}
