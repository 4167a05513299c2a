import NATS
import NIOCore
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Push consumers from before the host's start", .realProcesses)
struct PushConsumerGuardTests {
    @Test(
        "What pushes letters, or to where it must not, is deleted at the host's start, and nothing else",
        arguments: TestServers.all)
    func sweep(path: String) async throws {
        let server = try await NATSServerProcess.start(NATSServerBinary(path: path))
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let jetStream = JetStream.patient(connection)
        for (stream, subject) in [("PB_alice", "postbox.alice.>"), ("local_stream", "local.>")] {
            try await jetStream.createStream(StreamConfiguration(name: stream, subjects: [subject]))
            try await jetStream.createConsumer(ConsumerConfiguration(name: "pull", isDurable: true), in: stream)
            for (name, target) in [("inbox", "_INBOX.alices"), ("elsewhere", "relay.control.bob")] {
                let body = """
                    {"stream_name":"\(stream)","config":{"name":"\(name)","durable_name":"\(name)",\
                    "deliver_subject":"\(target)","deliver_policy":"all","ack_policy":"none"}}
                    """
                let answer = try await connection.request(
                    ByteBuffer(string: body), to: "$JS.API.CONSUMER.CREATE.\(stream).\(name)", timeout: .seconds(60))
                #expect(answer.text.contains(target), "\(answer.text)")
            }
        }
        let guardian = try PushConsumerGuard(
            jetStream: jetStream, users: UserAccounts(register: NetworkDirectory(path: TemporaryFolder().path)),
            limits: NetworkSettings().users, logger: .silent)
        let watch = Task { try await guardian.run() }
        try await eventually("what may stay alone is left") {
            let letters = try await jetStream.consumers(in: "PB_alice").map(\.name)
            let lines = try await jetStream.consumers(in: "local_stream").map(\.name)
            return letters == ["pull"] && lines.sorted() == ["inbox", "pull"]
        }
        watch.cancel()
        await connection.close()
        try await server.stop()
    }
}
