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

    @Test("B10 a discovery of servers that never ends is given up, and tried again")
    func endlessDiscovery() async throws {
        let fixture = try await ClientFixture.start()
        let addresses = try RelayConfiguration.addresses([fixture.server.url])
        let searches = Collected()
        let stuck = Completion<Void>()
        var configuration = RelayConfiguration(
            servers: .discovered { () throws(RelayError) in
                searches.add("search")
                if searches.all.count == 1 { await stuck.value() }
                return addresses
            },
            user: ClientFixture.user, namespace: ClientFixture.namespace, reconnect: .rongcloud)
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        // Enough for the second search, however busy the machine is.
        await client.setLimits(discovery: .seconds(1))
        await client.beginConnecting()
        try await client.state(is: .connected)
        stuck.fulfil(())
        await client.close()
    }
}

/// The entry of a user's session in the network's bucket.
@Suite("Client: the entry of an exclusive session", .realProcesses)
struct SessionEntryTests {
    private static let key = SessionClaim.key(for: ClientFixture.user)

    private func client(_ fixture: ClientFixture) throws -> RelayClient {
        var configuration = try fixture.configuration(reconnect: .rongcloud)
        configuration.sessions = .exclusive(.yield)
        configuration.followsNetwork = false
        return RelayClient(configuration: configuration)
    }

    @Test("B18 a session whose renewal was stored without an answer is still renewed and given back")
    func lostAcknowledgement() async throws {
        let fixture = try await ClientFixture.start()
        try await fixture.withJetStream { try await KeyValueBucket(SessionClaim.bucket, $0).create(history: 1) }
        let client = try client(fixture)
        try await client.connect(timeLimit: 60)
        let session = try #require(await client.claim)
        let renewed = try await fixture.withJetStream {
            try await KeyValueBucket(SessionClaim.bucket, $0).put(ByteBuffer(bytes: session.value), for: Self.key)
        }
        try await eventually("the client knows of its newest entry") { await client.claim?.revision == renewed }
        #expect(client.status.state == .connected)
        await client.close()
        #expect(
            try await fixture.withJetStream { try await KeyValueBucket(SessionClaim.bucket, $0).get(Self.key) } == nil)
    }

    @Test("B18 a network without sessions is told from one whose sessions are slow", arguments: [true, false])
    func slowBucket(exists: Bool) async throws {
        let fixture = try await ClientFixture.start()
        let silent = try await NATSConnection.connect(
            to: try ServerAddress(parsing: fixture.server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let stream = "KV_" + SessionClaim.bucket
        let questions = try silent.subscribe(to: "$JS.API.DIRECT.GET.\(stream).>")
        try await silent.flush()
        if exists {
            try await fixture.withJetStream {
                // Without direct access, so that the silence above is the only answer.
                _ = try await $0.createStream(
                    StreamConfiguration(name: stream, subjects: ["$KV.\(SessionClaim.bucket).>"]))
            }
        }
        let client = try client(fixture)
        let statuses = Collector<ConnectionStatus>()
        await statuses.start(client.statuses)
        await client.beginConnecting()
        try await statuses.wait(for: "a failed attempt") { $0.contains { $0.reason != nil } }
        let words = await statuses.elements.compactMap(\.reason?.words).first ?? ""
        #expect(words.contains("keeps no sessions") == !exists, "\(words)")
        await client.close()
        await silent.close()
        withExtendedLifetime(questions) {}
    }
}
