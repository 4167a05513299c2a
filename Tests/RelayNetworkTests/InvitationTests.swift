import NATS
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Invitations: what they say, and how often they serve")
struct InvitationTests {
    private static let server = "tls://chat.example.org:4222"
    private static let distant: Int64 = 4_102_444_800

    private let folder: TemporaryDirectory
    /// Of a network in the folder, without a server.
    private let administrator: NetworkAdministrator
    private var directory: NetworkDirectory { administrator.directory }

    init() throws {
        folder = try TemporaryDirectory()
        administrator = NetworkAdministrator(directory: NetworkDirectory(path: folder.path + "/local"))
    }

    /// What the network answers to somebody with an invitation.
    private func answer(
        _ invitation: Invitation, for key: NKeyPair, in directory: NetworkDirectory, signed: NKeyPair? = nil
    ) async throws -> EnrolmentReply {
        let service = EnrolmentService(users: directory, issuer: try NetworkIdentity.open(in: directory).issuer)
        let statement = EnrolmentRequest.statement(user: invitation.user, key: key.publicKey.text)
        let request = EnrolmentRequest(
            invitation: invitation.credentials.keyPair.publicKey.text, key: key.publicKey.text,
            proof: Base64URL.encode((signed ?? invitation.credentials.keyPair).sign(statement)))
        let reply = await service.reply(to: Wire.json(request), of: try UserName(invitation.user))
        return try JSONDecoder().decode(EnrolmentReply.self, from: Data(reply))
    }

    @Test("It serves one key, as often as that asks, until its time has passed")
    func once() throws {
        var record = InvitationRecord(key: "I", created: 1, expires: 100)
        try record.use(for: "A", at: 10)
        try record.use(for: "A", at: 99)
        #expect(throws: InvitationFailure.usedUp) { try record.use(for: "B", at: 11) }
        var late = InvitationRecord(key: "I", created: 1, expires: 100)
        #expect(throws: InvitationFailure.expired) { try late.use(for: "A", at: 100) }
        #expect(late.usedBy == nil)
        var revoked = InvitationRecord(key: "I", created: 1, expires: 100)
        revoked.isRevoked = true
        #expect(throws: InvitationFailure.revoked) { try revoked.use(for: "A", at: 10) }
    }

    @Test("Its text is read again, whatever is around it, and shows its secret to nobody else")
    func text() async throws {
        let made = try await administrator.invite(user: "alice", servers: [Self.server], expires: Self.distant)
        let text = made.text()
        #expect(try Invitation(parsing: text) == made && made.servers == [Self.server] && made.authority == nil)
        let quoted = text.split(separator: "\n", omittingEmptySubsequences: false).map { "> \($0)\r" }
        #expect(try Invitation(parsing: "Hello!\n" + quoted.joined(separator: "\n") + "\nBye") == made)
        #expect(text.split(separator: "\n").count { Invitation.isEnd(String($0)) } == 1)
        let seed = made.credentials.keyPair.withSeedText { $0 }
        #expect(!"\(made)".contains(seed) && !String(reflecting: made).contains(seed))
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for part in [
            "", "hello", lines.dropLast(3).joined(separator: "\n"), lines.dropFirst(5).joined(separator: "\n"),
            (lines.prefix(5) + lines.dropFirst(7)).joined(separator: "\n"),
        ] {
            #expect(throws: NetworkError.invitation(.damaged), "\(part)") { try Invitation(parsing: part) }
        }
    }

    @Test(
        "One whose names no subject can be made of is damaged", arguments: ["", "a b", "a.b", "*", ">", "ä", "a\u{1B}"])
    func names(name: String) async throws {
        let made = try await administrator.invite(user: "alice", servers: [Self.server], expires: Self.distant)
        let good = made.names
        for names in [
            Invitation.Names(namespace: name, hash: good.hash, api: good.api),
            Invitation.Names(namespace: good.namespace, hash: name, api: good.api),
            Invitation.Names(namespace: good.namespace, hash: good.hash, api: "x.\(name)."),
        ] {
            let changed = Invitation(
                user: "alice", servers: made.servers, authority: nil, names: names,
                expires: made.expires, credentials: made.credentials)
            #expect(throws: NetworkError.invitation(.damaged)) { try Invitation(parsing: changed.text()) }
        }
    }

    @Test("Without the administrator's credentials no act on a network of one's own seems to have been done")
    func withoutAdministrator() async throws {
        _ = try await administrator.add(user: "alice")
        let path = IdentityFiles(folder: directory.keys).administrator
        try FileManager.default.removeItem(atPath: path)
        await #expect(throws: NetworkError.damaged(path: path, reason: "it is missing")) {
            try await administrator.ban(user: "alice")
        }
        await #expect(throws: NetworkError.damaged(path: path, reason: "it is missing")) {
            try await administrator.kick(user: "alice")
        }
    }

    @Test("It can ask for credentials and do nothing else, and those are the user's own")
    func exchange() async throws {
        let invitation = try await administrator.invite(
            user: "alice", rights: RightsChange(topics: ["chat.>"]), servers: [Self.server], expires: Self.distant)
        let may = try invitation.credentials.claims()
        #expect(may.grant.template.pub?.allow == ["relay.enrol.alice"] && may.expires == Self.distant)
        #expect(may.grant.template.sub?.allow == ["_INBOX_~join.>"])

        let key = NKeyPair.generate(.user)
        #expect(try await answer(invitation, for: key, in: directory, signed: key).error == "damaged")
        let reply = try await answer(invitation, for: key, in: directory)
        let claims = try UserClaims.verify(#require(reply.token))
        let record = try directory.knownRecord(of: UserName("alice"))
        #expect(claims.subject == key.publicKey.text && claims.grant.issuerAccount == record.account)
        #expect(claims.grant.template.pub == nil && claims.expires == nil && record.rights.subscribe == ["chat.>"])
        // An answer that was lost is given again, and nobody else gets one.
        #expect(try await answer(invitation, for: key, in: directory).token != nil)
        #expect(try await answer(invitation, for: .generate(.user), in: directory).error == "usedUp")
    }

    @Test("It is void when it was taken back, when another one was made, and while its user is kept out")
    func void() async throws {
        func invite() async throws -> Invitation {
            try await administrator.invite(user: "bob", servers: [Self.server], expires: Self.distant)
        }
        let first = try await invite()
        let second = try await invite()
        #expect(try await answer(first, for: .generate(.user), in: directory).error == "revoked")
        _ = try await administrator.ban(user: "bob")
        #expect(try await answer(second, for: .generate(.user), in: directory).error == "refused")
        await #expect(throws: NetworkError.self) { try await invite() }
        _ = try await administrator.unban(user: "bob")
        #expect(try await administrator.revokeInvitation(of: "bob") == .revoked)
        #expect(try await administrator.revokeInvitation(of: "bob") == .none)
        #expect(try await answer(second, for: .generate(.user), in: directory).error == "revoked")
    }

    @Test("Somebody is invited only to where the network is reached")
    func servers() async throws {
        func invite(_ servers: [String]) async throws -> [String] {
            try await administrator.invite(user: "alice", servers: servers, expires: Self.distant).servers
        }
        await #expect(throws: NetworkError.self) { try await invite([]) }
        for text in ["http://x", "tls://name:password@x"] {
            await #expect(throws: NetworkError.self, "\(text)") { try await invite([text]) }
        }
        try directory.prepare()
        try directory.keep(NetworkListener(listen: "127.0.0.1:7000"))
        #expect(try await invite([]) == ["nats://127.0.0.1:7000"])
    }
}
