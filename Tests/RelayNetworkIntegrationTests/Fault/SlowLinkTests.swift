import NATS
import NIOCore
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

/// Connections over a link that takes long for what they send.
@Suite("Faults: a slow link", .realProcesses, .certificates)
struct SlowLinkTests {
    @Test("B20 a peer that is slow to take a long queue is not left, secured too")
    func longQueue() async throws {
        let server = try await NATSServerProcess.start(
            configuration: TestCertificates.configuration(), jetStream: false)
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: server.port))
        var options = ConnectOptions(
            connectTimeout: .seconds(60), pingInterval: .milliseconds(100), pongTimeout: .seconds(5))
        options.tls = TLSOptions(authorityFile: try TestCertificates.path("authority.pem"))
        let connection = try await NATSConnection.connect(to: proxy.address, options: options)
        try await proxy.set(.throttle(bytesPerSecond: 1_500_000, .fromClient), on: .present)
        let payload = ByteBuffer(repeating: 0x61, count: 1_000_000)
        // Several times as much as the link carries in the time that an answer may take.
        for _ in 0..<24 { try connection.publish(payload, to: "a") }
        try await connection.flush(timeout: .seconds(240))
        #expect(connection.isOpen)
        await connection.close()
        await proxy.close()
    }
}
