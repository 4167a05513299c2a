import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Pages and pull consumers", .realProcesses, .sharedServers)
struct PullTests {
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

    @Test("a fetch that waits can be cancelled, and one for nothing brings nothing")
    func cancelled() async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(NATSServerProcess.anyBinary)
        try await jetStream.createConsumer(ConsumerConfiguration(name: "reader", isDurable: true), in: name)
        let consumer = try PullConsumer("reader", in: name, jetStream)
        #expect(try await consumer.fetch(0).isEmpty)
        let task = Task { try await consumer.fetch(1, expires: .seconds(60)) }
        task.cancel()
        await #expect(throws: NATSError.cancelled) { try await task.value }
        await jetStream.connection.close()
    }

    @Test(
        "a pull whose bytes are used up to the last one is known to have ended", arguments: NATSServerProcess.binaries)
    func usedUp(binary: NATSServerBinary) async throws {
        let (patient, name) = try await JetStreamFixture.stream(binary)
        var jetStream = patient
        for size in [1_000, 2_000, 3_000, 4_000] {
            _ = try await jetStream.publish(ByteBuffer(repeating: 0, count: size), to: "\(name).a")
        }
        var found: [StoredMessage] = []
        for consumer in ["first", "other"] {
            try await jetStream.createConsumer(
                ConsumerConfiguration(name: consumer, acknowledgement: .none, isDurable: true), in: name)
        }
        try await PullConsumer("first", in: name, jetStream).fetch(4, expires: .zero, into: &found)
        let exact = found.prefix(2).reduce(0) { $0 + $1.size }
        // The server says nothing; a reader that waits for its answer waits for so long.
        jetStream.timeout = .seconds(20)
        let other = try PullConsumer("other", in: name, jetStream)
        var part: [StoredMessage] = []
        try await other.fetch(4, bytes: exact, expires: .zero, into: &part)
        #expect(part.map(\.sequence) == [1, 2])
        #expect(try await other.fetch(4).map(\.sequence) == [3, 4])
        await jetStream.connection.close()
    }
}
