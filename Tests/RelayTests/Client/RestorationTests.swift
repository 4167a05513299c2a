import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

/// What stands between a login and the connection that counts.
@Suite("Client: bringing a connection back", .realProcesses)
struct RestorationTests {
    /// Answers the namespace questions of one server for as long as the connection stands.
    private func answerNamespace(on server: NATSServerProcess, with answer: String) async throws -> NATSConnection {
        let service = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let questions = try service.subscribe(to: "accounts.user.get_namespace")
        Task { [weak service] in
            for try await question in questions {
                guard let reply = question.reply else { continue }
                _ = try service?.publish(ByteBuffer(string: answer), to: reply)
            }
        }
        try await service.flush()
        return service
    }

    @Test("B14 a server that takes logins and cannot serve is left for the next one")
    func serverWithoutService() async throws {
        let broken = try await NATSServerProcess.start()
        let fixture = try await ClientFixture.start()
        let refusing = try await answerNamespace(on: broken, with: #"{"status":"NOT_YET"}"#)
        let serving = try await answerNamespace(
            on: fixture.server,
            with: #"{"status":"NAMESPACE_RETRIEVE_SUCCESS","data":{"namespace":"test","hash":"h4sh"}}"#)
        let token = try UserClaims(subject: NKeyPair.generate(.user).publicKey, name: "alice", grant: UserGrant())
            .encode(signedBy: .generate(.account))
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([broken.url, fixture.server.url])),
            credentials: try .accessToken(token), reconnect: .rongcloud)
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        await client.beginConnecting()
        try await client.state(is: .connected)
        #expect(await client.knownServers.first?.port == fixture.server.port)
        await client.close()
        await refusing.close()
        await serving.close()
    }
}
