import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// What the server says about credentials, and what a token provider makes of it.
@Suite("Network: credentials and tokens", .realProcesses)
struct CredentialReasonTests {
    @Test(
        "B5 a seed that is not the token's, or an expired token, ends the session for that reason; B2 no text shows either",
        arguments: TestServers.all)
    func wrongSeed(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let token = try network.token(isBearer: false)
            let seed = NKeyPair.generate(.user).withSeedText { $0 }
            let client = try network.client(credentials: .apiKey(token, secret: seed))
            let journal = Journal(client)
            let error = await #expect(throws: RelayError.connection(.authenticationFailed(""))) {
                try await client.connect()
            }
            let status = try await journal.end()
            #expect(NexconnConnectionStatus(status).rawValue == 15)
            #expect(RongCloudCode(status)?.rawValue == 31_004)
            try await journal.heard([.disconnected])
            #expect(journal.statuses.map(\.state) == [.initialized, .connecting, .disconnected])
            var dumped = ""
            dump(client.configuration, to: &dumped)
            dump(journal.statuses, to: &dumped)
            let told = error.map { "\($0) \($0.words)" } ?? ""
            for text in [told, "\(client)", "\(client.configuration)", "\(status)", dumped] {
                #expect(!text.contains(seed) && !text.contains(seed.dropFirst(2)))
                #expect(!text.contains(token) && !text.contains(token.suffix(40)))
            }
            let late = try network.client(credentials: .accessToken(network.token(lifetime: -60)))
            let lateJournal = Journal(late)
            await #expect(throws: RelayError.connection(.tokenExpired)) { try await late.connect() }
            let end = try await lateJournal.end()
            #expect(RongCloudCode(end)?.rawValue == 31_020)
            #expect(PlatformSubscriptionStatus(end) == .error(.connection(.tokenExpired)))
        }
    }

    /// A connected client whose token soon ends; a busy machine that was slower than the token gets a longer one.
    private func connected(_ make: (Int64) throws -> RelayClient) async throws -> (RelayClient, Journal) {
        for lifetime: Int64 in [8, 30, 120] {
            let client = try make(lifetime)
            let journal = Journal(client)
            do throws(RelayError) {
                try await client.connect()
                return (client, journal)
            } catch {
                guard error == .connection(.tokenExpired) else { throw error }
            }
        }
        throw TestFailure("no login was faster than its token")
    }

    @Test("B5 a provider is asked for the first token, and a refused one asks it at most twice more")
    func refused() async throws {
        try await TestNetwork.run(server: TestServers.all[0]) { network in
            let asked = NIOLockedValueBox(0)
            var grant = UserGrant()
            grant.template.bearerToken = true
            let stranger = try UserClaims(
                subject: NKeyPair.generate(.user).publicKey, name: "alice", grant: grant
            ).encode(signedBy: .generate(.account))
            let client = try network.client(
                credentials: .accessTokens {
                    asked.withLockedValue { $0 += 1 }
                    return stranger
                })
            let journal = Journal(client)
            await #expect(throws: RelayError.connection(.authenticationFailed(""))) { try await client.connect() }
            try await journal.end()
            #expect(asked.withLockedValue(\.self) == 3)
            try await journal.heard([.disconnected])
        }
    }

    @Test(
        "B5 B6 a token that expires while connected ends the session if its provider throws, and the old one stays",
        arguments: TestServers.all)
    func providerThrows(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            struct NoToken: Error {}
            let (client, journal) = try await connected { lifetime in
                try network.client(
                    credentials: .accessTokens(startingWith: network.token(lifetime: lifetime)) { throw NoToken() })
            }
            let status = try await journal.end()
            #expect(status.reason == .tokenExpired)
            #expect(client.user == "alice")
            let missing = try network.client(credentials: .accessTokens { throw NoToken() })
            await #expect(
                throws: RelayError.connection(.invalidCredentials("the token provider gave none"))
            ) { try await missing.connect() }
            #expect(RongCloudCode(missing.status)?.rawValue == 31_002)
        }
    }
}
