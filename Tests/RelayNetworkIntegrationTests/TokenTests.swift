import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// Bearer tokens that the network itself issues.
@Suite("Network: bearer tokens", .realProcesses)
struct TokenTests {
    @Test(
        "B58 a token is a login by itself until it is revoked, which ends no other; a file's token is none",
        arguments: TestServers.all)
    func issued(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let administrator = network.administrator
            let end = NetworkAdministrator.now + 3_600
            await #expect(throws: NetworkError.unknownUser("alice")) {
                try await administrator.makeToken(of: "alice", expires: end)
            }
            let file = try network.directory.credentials(for: "alice")
            let made = try await administrator.makeToken(of: "alice", expires: end)
            let other = try await administrator.makeToken(of: "alice", expires: end)
            let narrow = try await administrator.makeToken(
                of: "alice", rights: RightsChange(topics: ["chat.>"]), expires: end)
            #expect(made.key.kind == .token && made.key.expires == end && made.key.id != other.key.id)

            // By the call that Nexconn's clients have for it, by RongCloud's, and by none of theirs.
            let client = try network.client(credentials: RelayCredentials.none)
            let journal = Journal(client)
            let user = Box<Result<String, RelayError>?>(nil)
            client.connect(
                params: ConnectParams(token: made.token),
                completionHandler: { name, error in user.value = error.map { .failure($0) } ?? .success(name ?? "") })
            try await eventually("an answer") { user.value != nil }
            #expect(try user.value?.get() == "alice")
            let third = try network.client(credentials: RelayCredentials.none)
            let answer = Box<String?>(nil)
            third.connect(
                withToken: narrow.token, success: { answer.value = "success \($0)" },
                error: { answer.value = "error \($0.rawValue)" })
            try await eventually("an answer") { answer.value != nil }
            #expect(answer.value == "success alice")
            #expect(await third.accessRights == AccessRights(topics: ["chat.>"]))
            _ = try await third.send(topic: "chat.a", message: "with fewer rights", timeout: .seconds(60))
            await #expect(throws: RelayError.notAuthorized("publishing to ops.a")) {
                try await third.send(topic: "ops.a", message: "no", timeout: .seconds(60))
            }
            await third.close()
            let second = try network.client(credentials: .accessToken(other.token))
            try await second.connect(timeLimit: 60)

            #expect(try await administrator.revokeToken(made.key.id).user.text == "alice")
            #expect(try await journal.end().reason == .credentialsRevoked(nil))
            await #expect(throws: RelayError.self) { try await client.connect(timeLimit: 60) }
            _ = try await second.send(topic: "chat.a", message: "still here", timeout: .seconds(60))
            for client in [client, second] { await client.close() }
            // Whatever is decided later.
            try await administrator.ban(user: "alice", reason: "spam")
            await #expect(throws: NetworkError.userBanned("alice", reason: "spam")) {
                try await administrator.makeToken(of: "alice", expires: end)
            }
            await #expect(throws: RelayError.connection(.banned("spam"))) { try await second.connect(timeLimit: 60) }
            try await administrator.unban(user: "alice")
            await #expect(throws: RelayError.self) { try await client.connect(timeLimit: 60) }
            try await second.connect(timeLimit: 60)
            await second.close()

            let unsigned = try network.client(credentials: .accessToken(file.jwt))
            await #expect(throws: RelayError.self) { try await unsigned.connect(timeLimit: 60) }
            #expect(unsigned.status.reason?.words.contains("the secret of its key") == true)
            await #expect(throws: NetworkError.self) {
                try await administrator.revokeToken(file.keyPair.publicKey.text)
            }
        }
    }
}
