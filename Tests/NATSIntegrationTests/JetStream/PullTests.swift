import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Pages and pull consumers", .realProcesses, .sharedServers)
struct PullTests {
    @Test("pages run through a stream with holes, without gap or repeat", arguments: NATSServerProcess.binaries)
    func pages(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await JetStreamFixture.fill(jetStream, name, 1...100)
        for number in [1, 2, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 99, 100] {
            try await jetStream.deleteMessage(in: name, sequence: UInt64(number))
        }
        let left = (3...98).filter { !(40...50).contains($0) }
        for limit in [1_000, 85, 7] {
            var texts: [String] = []
            var next: UInt64 = 1
            while true {
                let page = try await jetStream.page(of: name, from: .sequence(next), limit: limit)
                texts += page.messages.map(\.text)
                #expect(page.messages.count <= limit)
                #expect(page.pending == UInt64(left.count - texts.count))
                guard page.pending > 0, let last = page.messages.last else { break }
                next = last.sequence + 1
            }
            #expect(texts == left.map(String.init))
        }
        let filtered = try await jetStream.page(of: name, filter: "\(name).1", from: .sequence(10), limit: 5)
        #expect(filtered.messages.map(\.sequence) == [10, 13, 16, 19, 22])
        #expect(filtered.pending == UInt64(left.filter { $0 > 22 && $0 % 3 == 1 }.count))
        #expect(filtered.messages.allSatisfy { $0.subject == "\(name).1" })
        let behind = try await jetStream.page(of: name, from: .sequence(101), limit: 5)
        #expect(behind.messages.isEmpty && behind.pending == 0)
        let nothing = try await jetStream.page(of: name, filter: "\(name).none.>", from: .all, limit: 5)
        #expect(nothing.messages.isEmpty && nothing.pending == 0)
        // A page leaves no consumer behind.
        try await eventually("no consumer is left") { try await jetStream.streamInfo(name).state.consumers == 0 }
        await jetStream.connection.close()
    }

    @Test("a page of a stream that does not exist says so", arguments: NATSServerProcess.binaries)
    func noStream(binary: NATSServerBinary) async throws {
        let jetStream = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        let error = await failure { () async throws(NATSError) in
            _ = try await jetStream.page(of: "MISSING", from: .all, limit: 5)
        }
        guard case .jetStream(let refusal) = error, refusal.errorCode == JetStreamFailure.streamNotFound else {
            Issue.record("\(String(describing: error))")
            return
        }
        await jetStream.connection.close()
    }

    @Test("what is acknowledged does not come again, and what is not does", arguments: NATSServerProcess.binaries)
    func acknowledgements(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await JetStreamFixture.fill(jetStream, name, 1...10)
        let configuration = ConsumerConfiguration(name: "reader", isDurable: true)
        #expect(try await jetStream.createConsumer(configuration, in: name).pending == 10)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        let messages = try await consumer.fetch(10)
        #expect(messages.map(\.text) == (1...10).map(String.init))
        #expect(messages.map(\.pending) == (0..<10).reversed().map { UInt64($0) })
        for message in messages { try consumer.acknowledge(message) }
        try await jetStream.connection.flush()
        #expect(try await consumer.fetch(10).isEmpty)
        #expect(try await jetStream.consumerInfo("reader", in: name).pending == 0)
        var hasty = ConsumerConfiguration(name: "hasty", from: .sequence(10), isDurable: true)
        hasty.acknowledgementWait = 200_000_000
        try await jetStream.createConsumer(hasty, in: name)
        let forgetful = try PullConsumer("hasty", in: name, jetStream)
        #expect(try await forgetful.fetch(1).map(\.sequence) == [10])
        #expect(try await forgetful.fetch(1, expires: .seconds(20)).map(\.sequence) == [10])
        try await jetStream.deleteConsumer("reader", in: name)
        let error = await failure { () async throws(NATSError) in
            _ = try await jetStream.consumerInfo("reader", in: name)
        }
        guard case .jetStream(let refusal) = error, refusal.errorCode == JetStreamFailure.consumerNotFound else {
            Issue.record("\(String(describing: error))")
            return
        }
        await jetStream.connection.close()
    }

    @Test("a fetch that fails midway gives what has come", arguments: NATSServerProcess.binaries)
    func interruptedFetch(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await JetStreamFixture.fill(jetStream, name, 1...3)
        try await jetStream.createConsumer(ConsumerConfiguration(name: "reader", isDurable: true), in: name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        let fetching = Task { try await consumer.fetch(10, expires: .seconds(100)) }
        try await eventually("three are on their way") {
            try await jetStream.consumerInfo("reader", in: name).pending == 0
        }
        // The consumer goes while the fetch waits for seven more.
        try await jetStream.deleteConsumer("reader", in: name)
        #expect(try await fetching.value.map(\.text) == ["1", "2", "3"])
        await jetStream.connection.close()
    }

    @Test(
        "a fetch waits for messages, takes what came when its time is up, and can be cancelled",
        arguments: NATSServerProcess.binaries)
    func waiting(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await jetStream.createConsumer(ConsumerConfiguration(name: "reader", isDurable: true), in: name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        #expect(try await consumer.fetch(5).isEmpty)
        #expect(try await consumer.fetch(5, expires: .milliseconds(100)).isEmpty)
        try await JetStreamFixture.fill(jetStream, name, 1...3)
        let some = try await consumer.fetch(5, expires: .seconds(3))
        #expect(some.map(\.text) == ["1", "2", "3"])
        #expect(try await consumer.fetch(0).isEmpty)
        async let published: Void = JetStreamFixture.fill(jetStream, name, 4...5)
        #expect(try await consumer.fetch(2, expires: .seconds(120)).map(\.text) == ["4", "5"])
        try await published
        let task = Task {
            let waiting = try PullConsumer("reader", in: name, jetStream)
            return try await waiting.fetch(1, expires: .seconds(60))
        }
        task.cancel()
        await #expect(throws: NATSError.cancelled) { try await task.value }
        await jetStream.connection.close()
    }
}
