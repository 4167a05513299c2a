import NIOConcurrencyHelpers
import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Pipelined publisher", .realProcesses, .sharedServers)
struct JetStreamPublisherTests {
    @Test("20,000 messages in a window are stored in order, each answered once", arguments: NATSServerProcess.binaries)
    func window(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        let publisher = JetStreamPublisher(jetStream, window: 512)
        let count = 20_000
        let sequences = NIOLockedValueBox<[UInt64]>([])
        for index in 0..<count {
            try await publisher.publish(ByteBuffer(string: "\(index)"), to: "\(name).a") { result in
                if case .success(let acknowledgement) = result {
                    sequences.withLockedValue { $0.append(acknowledgement.sequence) }
                }
            }
            #expect(publisher.inFlight <= 512)
        }
        try await publisher.drained()
        #expect(publisher.inFlight == 0)
        #expect(sequences.withLockedValue { $0 } == (1...UInt64(count)).map { $0 })
        let last = try await jetStream.message(in: name, sequence: UInt64(count))
        #expect(last.text == "\(count - 1)")
        await jetStream.connection.close()
    }

    @Test("failures reach their own message, and the window stays usable", arguments: NATSServerProcess.binaries)
    func failures(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        let publisher = JetStreamPublisher(jetStream, window: 2)
        let answers = NIOLockedValueBox<[Int: Bool]>([:])
        for index in 0..<20 {
            let subject = index % 2 == 0 ? "\(name).a" : SharedServers.unique()
            try await publisher.publish(ByteBuffer(), to: subject) { result in
                let isStored = if case .success = result { true } else { false }
                answers.withLockedValue { $0[index] = isStored }
            }
        }
        await #expect(throws: NATSError.invalidSubject("a b")) {
            try await publisher.publish(ByteBuffer(), to: "a b") { _ in Issue.record("answered") }
        }
        try await publisher.drained()
        #expect(answers.withLockedValue { $0 } == Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, $0 % 2 == 0) }))
        #expect(publisher.inFlight == 0)
        await jetStream.connection.close()
    }

    @Test(
        "a cancelled sender leaves the full window, and a lost connection answers all in flight and wakes waiters",
        arguments: NATSServerProcess.binaries)
    func waiting(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary)
        let connection = try await server.connect(ConnectOptions(pingInterval: .zero))
        let jetStream = JetStream(connection, timeout: .seconds(600))
        try await jetStream.createStream(StreamConfiguration(name: "S", subjects: ["s.>"], storage: .memory))
        try await server.pause()
        let narrow = JetStreamPublisher(jetStream, window: 1)
        try await narrow.publish(ByteBuffer(), to: "s.a") { _ in }
        let sender = Task { try await narrow.publish(ByteBuffer(), to: "s.a") { _ in Issue.record("answered") } }
        sender.cancel()
        await #expect(throws: NATSError.cancelled) { try await sender.value }
        server.resume()
        try await narrow.drained()

        try await server.pause()
        let publisher = JetStreamPublisher(jetStream, window: 10)
        let failed = NIOLockedValueBox(0)
        let task = Task {
            for _ in 0..<20 {
                try await publisher.publish(ByteBuffer(), to: "s.a") { result in
                    if case .failure = result { failed.withLockedValue { $0 += 1 } }
                }
            }
        }
        try await eventually("a full window") { publisher.inFlight == 10 }
        async let drained: Void? = try? publisher.drained()
        // Killed while it is halted: nothing that waits can have been stored.
        try await server.kill9()
        _ = await connection.waitUntilClosed()
        await #expect(throws: (any Error).self) { try await task.value }
        _ = await drained
        #expect(publisher.inFlight == 0)
        #expect(failed.withLockedValue(\.self) == 10)
    }
}
