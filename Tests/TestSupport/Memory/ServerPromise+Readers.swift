import NATS
import NIOCore
import Testing

// Consumers, pages and pulls.
extension PromiseScene {
    func orderedReading() async throws {
        try await makeStream()
        try await fill(1...10)
        let time = try await jetStream.message(in: name, sequence: 8).time
        let table: [(start: StartPosition, expected: [Int], pending: UInt64)] = [
            (.all, Array(1...12), 10), (.new, [11, 12], 0), (.last, [10, 11, 12], 1),
            (.lastPerSubject, [8, 9, 10, 11, 12], 3), (.sequence(4), Array(4...12), 7),
            (.sequence(0), Array(1...12), 10), (.time(time), Array(8...12), 3),
        ]
        var readers: [OrderedMessages.Iterator] = []
        for entry in table {
            var reader = try jetStream.orderedMessages(in: name, from: entry.start).makeAsyncIterator()
            try await reader.open()
            #expect(reader.initiallyPending == entry.pending, "\(entry.start)")
            readers.append(reader)
        }
        try await fill(11...12)
        for (index, entry) in table.enumerated() {
            let found = try await texts(&readers[index], entry.expected.count)
            #expect(found == entry.expected.map(String.init), "\(entry.start)")
        }
        var filtered = try jetStream.orderedMessages(in: name, filter: "\(name).1").makeAsyncIterator()
        #expect(try await texts(&filtered, 4) == ["1", "4", "7", "10"])
        // More than one pull brings.
        try await fill(13...1_500)
        var all = try jetStream.orderedMessages(in: name, filter: "\(name).>").makeAsyncIterator()
        #expect(try await texts(&all, 1_500) == (1...1_500).map(String.init))
        let missing = try await refusal {
            var reader = try jetStream.orderedMessages(in: name + "x").makeAsyncIterator()
            _ = try await reader.next()
        }
        #expect(missing?.errorCode == JetStreamFailure.streamNotFound)
    }

    func lostConsumers() async throws {
        try await makeStream()
        try await fill(1...5)
        var reader = try jetStream.orderedMessages(in: name, from: .new).makeAsyncIterator()
        try await reader.open()
        let consumers = try await jetStream.consumers(in: name)
        #expect(consumers.count == 1)
        for consumer in consumers { try await jetStream.deleteConsumer(consumer.name, in: name) }
        try await fill(6...10)
        #expect(try await texts(&reader, 5) == (6...10).map(String.init))
    }

    func pages() async throws {
        try await makeStream()
        try await fill(1...50)
        for number in [1, 2, 20, 21, 22, 49, 50] {
            try await jetStream.deleteMessage(in: name, sequence: UInt64(number))
        }
        let left = (3...48).filter { !(20...22).contains($0) }
        for limit in [1_000, 43, 7] {
            var texts: [String] = []
            var next: UInt64 = 1
            while true {
                let page = try await jetStream.page(of: name, from: .sequence(next), limit: limit)
                texts += page.messages.map(\.payloadText)
                #expect(page.messages.count <= limit && page.pending == UInt64(left.count - texts.count))
                guard page.pending > 0, let last = page.messages.last else { break }
                next = last.sequence + 1
            }
            #expect(texts == left.map(String.init))
        }
        let filtered = try await jetStream.page(of: name, filter: "\(name).1", from: .sequence(10), limit: 3)
        #expect(filtered.messages.map(\.sequence) == [10, 13, 16])
        #expect(filtered.pending == UInt64(left.filter { $0 > 16 && $0 % 3 == 1 }.count))
        let behind = try await jetStream.page(of: name, from: .sequence(51), limit: 5)
        #expect(behind.messages.isEmpty && behind.pending == 0)
        try await eventually("no consumer is left") { try await jetStream.streamInfo(name).state.consumers == 0 }
    }

    func batches() async throws {
        try await makeStream()
        try await fill(1...50)
        for number in [1, 2, 20, 21, 22, 49, 50] {
            try await jetStream.deleteMessage(in: name, sequence: UInt64(number))
        }
        let (name, left) = (name, (3...48).filter { !(20...22).contains($0) })
        var jetStream = jetStream
        let (without, block) = (jetStream, ByteBuffer(repeating: 7, count: 100_000))
        jetStream.readsBatches = true
        let reader = jetStream
        func batch(
            from sequence: UInt64, filter: String? = nil, limit: Int, bytes: Int = 1 << 20
        ) async throws -> (messages: [StoredMessage], pending: UInt64)? {
            try await reader.batch(of: name, filter: filter, from: sequence, limit: limit, bytes: bytes)
        }
        let unasked = try await without.batch(of: name, from: 1, limit: 5, bytes: 1 << 20)?.messages.count
        #expect(unasked == nil)
        guard connection.info.isAtLeast(2, 11) else {
            let count = try await batch(from: 1, limit: 5)?.messages.count
            #expect(count == nil)
            return
        }
        for limit in [1_000, 43, 7] {
            var texts: [String] = []
            var next: UInt64 = 0
            while true {
                let page = try #require(try await batch(from: next, limit: limit))
                texts += page.messages.map(\.payloadText)
                #expect(page.messages.count <= limit && page.pending == UInt64(left.count - texts.count))
                guard page.pending > 0, let last = page.messages.last else { break }
                next = last.sequence + 1
            }
            #expect(texts == left.map(String.init))
        }
        let filtered = try #require(try await batch(from: 10, filter: "\(name).1", limit: 3))
        #expect(filtered.messages.map(\.sequence) == [10, 13, 16])
        #expect(filtered.messages.allSatisfy { $0.subject == "\(name).1" })
        #expect(filtered.pending == UInt64(left.filter { $0 > 16 && $0 % 3 == 1 }.count))
        let behind = try #require(try await batch(from: 51, limit: 5))
        #expect(behind.messages.isEmpty && behind.pending == 0)
        let nothing = try #require(try await batch(from: 1, filter: "\(name).none.*", limit: 5))
        #expect(nothing.messages.isEmpty && nothing.pending == 0)
        // One message comes however large it is, and no more than fit.
        let one = try #require(try await batch(from: 3, limit: 50, bytes: 1))
        #expect(one.messages.map(\.sequence) == [3] && one.pending == UInt64(left.count - 1))
        for _ in 0..<60 { _ = try await without.publish(block, to: "\(name).large") }
        let some = try #require(try await batch(from: 51, limit: 50, bytes: 1_000_000))
        #expect((8...9).contains(some.messages.count) && some.pending == UInt64(60 - some.messages.count))
        let large = try #require(try await batch(from: 51, limit: 1_000, bytes: 64 << 20))
        #expect(large.messages.map(\.sequence) == Array(51...110) && large.pending == 0)
        #expect(large.messages.allSatisfy { $0.payload.readableBytes == 100_000 })
        // A sender can write what a server writes of a message, and is not believed.
        _ = try await without.publish(
            ByteBuffer(string: "forged"), to: "\(name).1",
            headers: ["Nats-Sequence": "7", "Nats-Subject": "\(name).x", "Nats-Last-Sequence": "1"])
        let forged = try #require(try await batch(from: 111, limit: 5))
        #expect(forged.messages.map(\.sequence) == [111] && forged.messages.first?.subject == "\(name).1")
        #expect(try await without.lastMessageDirect(in: name, subject: "\(name).1")?.sequence == 111)
        #expect(try await without.streamInfo(name).state.consumers == 0)
    }

    func pulls() async throws {
        try await makeStream()
        let configuration = ConsumerConfiguration(name: "reader", acknowledgement: .none, isDurable: true)
        try await jetStream.createConsumer(configuration, in: name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        #expect(try await consumer.fetch(5).isEmpty)
        #expect(try await consumer.fetch(5, expires: .milliseconds(100)).isEmpty)
        try await fill(1...3)
        // With and without waiting for the rest.
        #expect(try await consumer.fetch(2).map(\.payloadText) == ["1", "2"])
        #expect(try await consumer.fetch(5).map(\.payloadText) == ["3"])
        try await fill(4...5)
        // A consumer counts what is published behind the publish's answer.
        try await eventually("both are counted") {
            try await jetStream.consumerInfo("reader", in: name).pending == 2
        }
        let some = try await consumer.fetch(5, expires: .seconds(2))
        #expect(some.map(\.payloadText) == ["4", "5"] && some.map(\.pending) == [1, 0])
        let waiting = Task { try await consumer.fetch(2, expires: .seconds(100)) }
        try await fill(6...7)
        #expect(try await waiting.value.map(\.payloadText) == ["6", "7"])
    }

    func acknowledgements() async throws {
        try await makeStream()
        try await fill(1...3)
        var configuration = ConsumerConfiguration(name: "reader", isDurable: true)
        // Longer than a busy machine takes to acknowledge two of them.
        configuration.acknowledgementWait = 30_000_000_000
        let made = try await jetStream.createConsumer(configuration, in: name)
        #expect(made.pending == 3 && made.name == "reader" && made.stream == name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        let messages = try await consumer.fetch(3)
        #expect(messages.map(\.sequence) == [1, 2, 3])
        for message in messages.prefix(2) { try consumer.acknowledge(message) }
        try await connection.flush(timeout: Self.patience)
        let again = try await consumer.fetch(1, expires: .seconds(120))
        #expect(again.map(\.sequence) == [3])
        for message in again { try consumer.acknowledge(message) }
        try await connection.flush(timeout: Self.patience)
        #expect(try await consumer.fetch(3, expires: .milliseconds(600)).isEmpty)
        #expect(try await jetStream.consumers(in: name).map(\.name) == ["reader"])
    }

    func deletedConsumers() async throws {
        try await makeStream()
        try await fill(1...3)
        try await jetStream.createConsumer(ConsumerConfiguration(name: "reader", isDurable: true), in: name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        let fetching = Task { try await consumer.fetch(10, expires: .seconds(100)) }
        try await eventually("three are on their way") {
            try await jetStream.consumerInfo("reader", in: name).pending == 0
        }
        try await jetStream.deleteConsumer("reader", in: name)
        #expect(try await fetching.value.map(\.payloadText) == ["1", "2", "3"])
        let gone = try await refusal { _ = try await jetStream.consumerInfo("reader", in: name) }
        #expect(gone?.errorCode == JetStreamFailure.consumerNotFound)
        let twice = try await refusal { try await jetStream.deleteConsumer("reader", in: name) }
        #expect(twice?.errorCode == JetStreamFailure.consumerNotFound)
    }

    func extents() async throws {
        try await makeStream()
        #expect(try await look(from: .all).deliveredSequence == 0)
        try await fill(1...9)
        try await jetStream.purgeStream(name, filter: "\(name).1")
        let oldest = try await look(from: .all)
        let newest = try await look(from: .new)
        let middle = try await look(from: .sequence(5), filter: "\(name).2")
        #expect(oldest.deliveredSequence == 1 && oldest.pending == 6)
        #expect(newest.deliveredSequence == 9 && newest.pending == 0)
        let stored = try await jetStream.message(in: name, sequence: 9).time
        #expect(try #require(newest.created) >= stored)
        #expect(middle.deliveredSequence == 4 && middle.pending == 2)
        try await jetStream.purgeStream(name)
        #expect(try await look(from: .all).deliveredSequence == 9)
    }

    private func look(from start: StartPosition, filter: String? = nil) async throws -> ConsumerInfo {
        let configuration = ConsumerConfiguration(
            name: UniqueToken.next(), from: start, filter: filter, acknowledgement: .none)
        return try await jetStream.createConsumer(configuration, in: name)
    }
}
