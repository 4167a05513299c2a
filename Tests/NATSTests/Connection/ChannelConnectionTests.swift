import NIOCore
import NIOEmbedded
import TestSupport
import Testing

@testable import NATS

@Suite("Connections over channels that were made elsewhere", .realProcesses)
struct ChannelConnectionTests {
    private let address = ServerAddress(host: "memory")

    /// A channel that is active and leads to the test.
    private func channel() async throws -> NIOAsyncTestingChannel {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/memory")).get()
        return channel
    }

    @Test("A server may refuse all that it is sent before this side knows how much has left")
    func refusedEarly() async throws {
        let channel = try await channel()
        let address = address
        let connecting = Task {
            try await NATSConnection.connect(
                over: channel, to: address, options: ConnectOptions(pingInterval: .zero))
        }
        try await eventually("the connection reads") {
            (try? await channel.pipeline.containsHandler(type: ConnectionHandler.self).get()) != nil
        }
        try await channel.writeInbound(ByteBuffer(string: "INFO {\"server_id\":\"S\",\"headers\":true}\r\n"))
        _ = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
        try await channel.writeInbound(ByteBuffer(string: "PONG\r\n"))
        let connection = try await connecting.value
        await channel.testingEventLoop.run()
        let isHeld = connection.core.hold()
        #expect(isHeld)
        let count = 2 * ServerAllowance.refusals
        for _ in 0..<count { try connection.publish([UInt8](), to: "a") }
        let refusal = "-ERR 'Permissions Violation for Publish to \"a\"'\r\n"
        try await channel.writeInbound(ByteBuffer(string: String(repeating: refusal, count: count)))
        #expect(connection.isOpen)
        connection.core.release()
        try await channel.close().get()
        #expect(await connection.waitUntilClosed() == NATSError.closedByServer(nil))
    }

    @Test("A channel that is closed already is no connection")
    func closed() async throws {
        let channel = try await channel()
        try await channel.close().get()
        await channel.testingEventLoop.run()
        let address = address
        await #expect(throws: NATSError.self) { try await NATSConnection.connect(over: channel, to: address) }
    }
}
