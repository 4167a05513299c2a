import NIOCore
import TestSupport

@testable import NATS

/// Streams of the suite's shared servers, one for each test.
enum JetStreamFixture {
    /// A new stream in memory that stores `<name>.>`.
    static func stream(
        _ binary: NATSServerBinary, _ options: ConnectOptions = ConnectOptions()
    ) async throws -> (JetStream, name: String) {
        let jetStream = JetStream(try await SharedServers.connect(binary, options), timeout: .seconds(120))
        let name = SharedServers.unique()
        var configuration = StreamConfiguration(name: name, subjects: ["\(name).>"], storage: .memory)
        configuration.allowsDirectAccess = true
        try await jetStream.createStream(configuration)
        return (jetStream, name)
    }

    /// Stores the numbers from `first` on as texts, under `<name>.<number modulo 3>`.
    static func fill(_ jetStream: JetStream, _ name: String, _ numbers: ClosedRange<Int>) async throws {
        let publisher = JetStreamPublisher(jetStream)
        for number in numbers {
            try await publisher.publish(ByteBuffer(string: "\(number)"), to: "\(name).\(number % 3)") { _ in }
        }
        try await publisher.drained()
    }
}

extension StoredMessage {
    /// The payload as text.
    var text: String { String(buffer: payload) }
}
