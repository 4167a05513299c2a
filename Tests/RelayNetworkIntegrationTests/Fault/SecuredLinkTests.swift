import NATS
import RelayFaults
import TestSupport
import Testing

/// Links to servers with TLS, whose names the proxy must not change.
@Suite("Faults: a link to a server with TLS", .realProcesses, .certificates)
struct SecuredLinkTests {
    private func connect(certificate: String, host: String) async throws -> Bool {
        let server = try await NATSServerProcess.start(
            configuration: TestCertificates.configuration(certificate), jetStream: false)
        let proxy = try await FaultProxy.start(target: ServerAddress(host: host, port: server.port, usesTLS: true))
        let options = ConnectOptions(
            tls: TLSOptions(authorityFile: try TestCertificates.path("authority.pem")), connectTimeout: .seconds(60))
        do {
            let connection = try await NATSConnection.connect(to: proxy.address, options: options)
            await connection.close()
            await proxy.close()
            return true
        } catch {
            await proxy.close()
            guard case .tls = error else { throw error }
            return false
        }
    }

    @Test("Behind the proxy a server has to show the name of its own host, not the proxy's")
    func name() async throws {
        #expect(try await connect(certificate: "server", host: "localhost"))
        // It has the proxy's address alone.
        #expect(try await !connect(certificate: "address", host: "localhost"))
        #expect(try await connect(certificate: "address", host: "127.0.0.1"))
    }
}
