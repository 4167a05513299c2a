import Foundation
import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Keys of users: each credential is a thing of its own")
struct UserKeyTests {
    private static let distant: Int64 = 4_102_444_800

    private let folder: TemporaryDirectory
    /// Of a network in the folder, without a server.
    private let administrator: NetworkAdministrator
    private var directory: NetworkDirectory { administrator.directory }

    init() throws {
        folder = try TemporaryDirectory()
        administrator = NetworkAdministrator(directory: NetworkDirectory(path: folder.path + "/local"))
    }

    /// The revocations in the token that a server is handed for a user.
    private func revocations(of user: String, in directory: NetworkDirectory) throws -> [String: Int64] {
        let account = try directory.knownRecord(of: UserName(user)).account
        let token = try #require(try PrivateFile.read(directory.tokenPath(ofAccount: account)))
        return try AccountClaims.verify(String(decoding: token, as: UTF8.self)).grant.revocations ?? [:]
    }

    @Test("A key is meant by its id, the beginning of it or the public key, and by nothing that fits two")
    func ids() throws {
        let alice = try UserName("alice")
        let keys = ["UABCDEFGHIJKLMN", "UABCDEFGHZZZZZZ", "UCXYZ234567ABCD"].map {
            UserKey($0, .file, created: 1)
        }
        #expect(keys[2].id == "XYZ23456")
        for text in ["XYZ23456", "xyz", "X", "UCXYZ234567ABCD"] {
            #expect(try keys.meant(by: text, of: alice) == keys[2], "\(text)")
        }
        let ambiguous = #expect(throws: NetworkError.self) { try keys.meant(by: "BCD", of: alice) }
        #expect(ambiguous?.description == #""BCD" may be any of BCDEFGHI, BCDEFGHZ: write more of it."#)
        for text in ["", "Q", "XYZ23456Q"] {
            let unknown = #expect(throws: NetworkError.self) { try keys.meant(by: text, of: alice) }
            #expect(unknown?.description.contains("alice has no key \(text.debugDescription)") == true)
        }
    }

    @Test("Acts on strangers, and reasons that would do something to a screen, are refused")
    func refusals() async throws {
        _ = try await administrator.add(user: "alice")
        let stranger = NetworkError.unknownUser("nobody")
        await #expect(throws: stranger) { try await administrator.kick(user: "nobody") }
        await #expect(throws: stranger) { try await administrator.ban(user: "nobody") }
        await #expect(throws: stranger) { try await administrator.unban(user: "nobody") }
        await #expect(throws: NetworkError.invalidUserName("a.b")) { try await administrator.ban(user: "a.b") }
        for reason in ["two\nlines", "\u{1B}[2J", "\u{202E}x", String(repeating: "x", count: 1_025)] {
            await #expect(throws: NetworkError.invalidReason) {
                try await administrator.ban(user: "alice", reason: reason)
            }
        }
        #expect(try directory.standing(of: "alice") == UserStanding())
    }

    @Test("A ban is made and lifted once, its reason can change, and nothing is handed out meanwhile")
    func banned() async throws {
        let own = try directory.credentials(for: "alice")
        #expect(try await administrator.ban(user: "alice", reason: "spam"))
        let refusal = NetworkError.userBanned("alice", reason: "spam")
        #expect(refusal.description.hasPrefix("alice is banned: spam."))
        #expect(throws: refusal) { try directory.credentials(for: "alice") }
        await #expect(throws: refusal) { try await administrator.add(user: "alice") }
        #expect(try await !administrator.ban(user: "alice", reason: "more spam"))
        #expect(try directory.standing(of: "alice").banned?.reason == "more spam")
        #expect(try await administrator.unban(user: "alice"))
        #expect(try await !administrator.unban(user: "alice"))
        #expect(try directory.credentials(for: "alice") == own)
    }

    @Test("A ban and a revocation are in the log with whom they concern, and no reason or secret is")
    func log() async throws {
        let folder = try TemporaryDirectory()
        let lines = Collected()
        var logger = NetworkHost.Options().logger
        logger.handler = LineLogHandler(logLevel: .trace) { lines.add("\($0) \($1)") }
        let administrator = NetworkAdministrator(
            directory: NetworkDirectory(path: folder.path + "/local"), logger: logger)
        let first = try await administrator.add(user: "alice")
        let made = try await administrator.makeKey(of: "alice")
        try await administrator.revoke(key: made.key.id, of: "alice", reason: "the reason")
        try await administrator.ban(user: "alice", reason: "the reason")
        try await administrator.unban(user: "alice")
        let all = lines.all
        #expect(all.contains("info user made user=alice"))
        #expect(all.contains("info key made key=\(made.key.id) kind=file user=alice"))
        #expect(all.contains("info keys revoked keys=\(made.key.id) user=alice"))
        #expect(
            all.filter { $0.contains("standing") } == [
                "info user's standing changed now=banned user=alice",
                "info user's standing changed now=admitted user=alice",
            ])
        for credentials in [first, made.credentials] {
            let seed = credentials.keyPair.withSeedText { $0 }
            #expect(!all.contains { $0.contains(credentials.jwt) || $0.contains(seed) })
        }
        #expect(!all.contains { $0.contains("the reason") })
    }

    @Test("Keys are bounded, and those that ended long ago are forgotten")
    func bounds() throws {
        let alice = try UserName("alice")
        var keys: [UserKey] = []
        for number in 0..<UserKey.limit {
            try keys.add(UserKey("U\(number)", .token, created: 0, expires: 100), of: alice, at: 0)
        }
        #expect(throws: NetworkError.tooManyKeys("alice")) {
            try keys.add(UserKey("U", .token, created: 0), of: alice, at: 0)
        }
        keys[0].revoked = 1
        try keys.add(UserKey("U", .token, created: 0), of: alice, at: 0)
        // The same key again, as of somebody whose answer was lost.
        try keys.add(UserKey("U0", .token, created: 50, expires: 100), of: alice, at: 50)
        #expect(keys.count == UserKey.limit + 1 && keys[0].revoked == 1)
        // Those that ended unrevoked are shown for a week, and no more than a hundred of them.
        try keys.add(UserKey("V", .token, created: 0), of: alice, at: 200)
        #expect(keys.map(\.publicKey) == ["U0"] + (900..<1_000).map { "U\($0)" } + ["U", "V"])
        let end = 100 + 7 * 86_400 as Int64
        try keys.add(UserKey("W", .token, created: 0), of: alice, at: end - 1)
        #expect(keys.count == 104, "a server whose clock is late would still take a revoked one")
        try keys.add(UserKey("X", .token, created: 0), of: alice, at: end)
        #expect(keys.map(\.publicKey) == ["U", "V", "W", "X"])
    }

    @Test("A user with more revoked keys than are kept of one gets no other, and can be read and changed as before")
    func manyRevoked() throws {
        let own = try directory.credentials(for: "alice").keyPair.publicKey.text
        let alice = try UserName("alice")
        try directory.changeUser(alice, signs: false) { record in
            for number in 0..<7_000 {
                var key = UserKey("U" + String(repeating: "A", count: 50) + "\(10_000 + number)", .file, created: 0)
                key.revoked = 1
                record.keys.append(key)
            }
        }
        for rights in [nil, RightsChange(topics: ["chat.>"])] {
            #expect(throws: NetworkError.tooManyKeys("alice")) {
                try directory.issueKey(of: alice, .file, rights: rights)
            }
        }
        try directory.changeUser(alice) { $0.revoke([$0.keys[0]], at: 1) }
        let record = try directory.knownRecord(of: alice)
        #expect(record.keys.count == 7_001 && record.keys[0].publicKey == own && record.keys[0].revoked == 1)
    }

    @Test("Nothing is handed out for a user whose access has ended, until it is extended")
    func ended() async throws {
        _ = try await administrator.add(user: "alice")
        try await administrator.expire(user: "alice", at: 1)
        let alice = try UserName("alice")
        let before = try directory.knownRecord(of: alice)
        let refusal = NetworkError.userExpired("alice", end: 1)
        await #expect(throws: refusal) {
            try await administrator.add(user: "alice", rights: RightsChange(topics: ["chat.a"]))
        }
        await #expect(throws: refusal) { try await administrator.makeKey(of: "alice") }
        await #expect(throws: refusal) { try await administrator.makeToken(of: "alice", expires: Self.distant) }
        await #expect(throws: refusal) {
            try await administrator.invite(user: "alice", servers: ["tls://a:1"], expires: Self.distant)
        }
        #expect(try directory.knownRecord(of: alice) == before)
        #expect(
            refusal.description == "The access of alice has ended: it held until 1970-01-01T00:00:01.000Z. "
                + "`parley network user expire alice 30d` extends it.")
        _ = try await administrator.add(
            user: "alice", rights: RightsChange(topics: ["chat.>"]), expires: Self.distant)
        _ = try await administrator.makeKey(of: "alice")
        // Made again without them, she keeps her topics and her end.
        _ = try await administrator.add(user: "alice")
        let kept = try directory.knownRecord(of: alice)
        #expect(kept.rights == AccessRights(topics: ["chat.>"]) && kept.expires == Self.distant)
    }

    @Test("B57 a revoked key stays revoked in every token that an act signs, and its user's other keys do not")
    func carried() async throws {
        let lost = try await administrator.add(user: "alice").keyPair.publicKey.text
        let kept = try await administrator.makeKey(of: "alice").key
        try await administrator.revoke(key: lost, of: "alice")
        let acts: [(String, () async throws -> Void)] = [
            ("revoke", {}),
            ("expire", { try await administrator.expire(user: "alice", at: Self.distant) }),
            ("expire never", { try await administrator.expire(user: "alice", at: nil) }),
            ("ban", { try await administrator.ban(user: "alice") }),
            ("unban", { try await administrator.unban(user: "alice") }),
            ("deactivate", { try await administrator.deactivate(user: "alice") }),
            ("activate", { try await administrator.activate(user: "alice") }),
            ("block", { try await administrator.blockApplication() }),
            ("unblock", { try await administrator.unblockApplication() }),
            ("grant", { try await administrator.grant(user: "alice", rights: RightsChange(topics: ["chat.>"])) }),
            (
                "add",
                {
                    _ = try await administrator.add(
                        user: "alice", rights: RightsChange(topics: ["chat.a"]), expires: Self.distant)
                }
            ),
            ("new", { _ = try await administrator.makeKey(of: "alice") }),
            (
                "invite",
                {
                    _ = try await administrator.invite(
                        user: "alice", rights: RightsChange(topics: [">"]), servers: ["tls://a:1"],
                        expires: Self.distant)
                }
            ),
            ("signing all again", { try AccountSigner.bringUpToDate(directory, mappings: .tokens) }),
        ]
        for (name, act) in acts {
            try await act()
            let revocations = try revocations(of: "alice", in: directory)
            #expect(revocations[lost] ?? 0 >= Self.distant, "\(name)")
            #expect(revocations[kept.publicKey] == nil, "\(name)")
        }
    }

    @Test("Accounts whose signing anew was cut short are all signed when it is done again")
    func signingCutShort() throws {
        for user in ["alice", "bob"] { _ = try directory.credentials(for: user) }
        try AccountSigner.bringUpToDate(directory, mappings: .wildcards)
        // It ends at bob, as on a full disk or with its process.
        let path = directory.recordPath(of: try UserName("bob"))
        let record = try #require(try PrivateFile.read(path))
        try PrivateFile.write([], to: path)
        #expect(throws: NetworkError.self) { try AccountSigner.bringUpToDate(directory, mappings: .tokens) }
        try PrivateFile.write(record, to: path)
        try AccountSigner.bringUpToDate(directory, mappings: .tokens)
        for user in ["alice", "bob"] {
            let account = try directory.knownRecord(of: UserName(user)).account
            let token = try #require(try PrivateFile.read(directory.tokenPath(ofAccount: account)))
            let claims = try AccountClaims.verify(String(decoding: token, as: UTF8.self))
            #expect(claims.grant.mappings == UserPermissions.mappings(.tokens), "\(user)")
        }
    }

    @Test("B57 all keys are revoked, the machine's own and an invitation too, and none is made in their place")
    func all() async throws {
        let own = try directory.credentials(for: "alice")
        let file = try await administrator.add(user: "alice")
        let invitation = try await administrator.invite(user: "alice", servers: ["tls://a:1"], expires: Self.distant)
        let all = [own.keyPair, file.keyPair, invitation.credentials.keyPair].map(\.publicKey.text)
        let listed = try await administrator.keys(of: "alice")
        #expect(listed.map(\.key.publicKey) == all && listed.map(\.key.kind) == [.identity, .file, .invitation])
        #expect(try await administrator.revokeAllKeys(of: "alice").map(\.publicKey) == all)
        #expect(try Set(revocations(of: "alice", in: directory).keys) == Set(all))
        #expect(try await administrator.revokeAllKeys(of: "alice").isEmpty)
        #expect(try await administrator.keys(of: "alice").allSatisfy { $0.key.revoked != nil })
        for _ in 0..<2 {
            let refusal = #expect(throws: NetworkError.keyRevoked("alice")) { try directory.credentials(for: "alice") }
            #expect(refusal?.description.contains("parley network key new alice") == true)
            PrivateFile.remove(try directory.credentialsPath(for: UserName("alice")))
        }
        let (key, credentials) = try await administrator.makeKey(of: "alice", for: .identity)
        #expect(!all.contains(key.publicKey) && key.kind == .identity)
        #expect(try directory.credentials(for: "alice") == credentials)
        await #expect(throws: NetworkError.keyInUse("alice")) {
            try await administrator.makeKey(of: "alice", for: .identity)
        }
    }

    @Test("B57 an invitation that is used while all keys are revoked gives a key that is revoked too, or none")
    func usedMeanwhile() async throws {
        for round in 0..<40 {
            let user = try UserName("u\(round)")
            let invitation = try await administrator.invite(
                user: user.text, servers: ["tls://a:1"], expires: Self.distant)
            let key = NKeyPair.generate(.user).publicKey.text
            async let revoked = administrator.revokeAllKeys(of: user.text)
            // At another moment of the act each time.
            try await Task.sleep(for: .microseconds(250 * round))
            let joined = try? await directory.redeem(
                invitation.credentials.keyPair.publicKey.text, for: key, of: user, at: NetworkAdministrator.now)
            _ = try await revoked
            let keys = try directory.knownRecord(of: user).keys
            let isKnown = keys.contains { $0.publicKey == key }
            #expect(keys.allSatisfy { $0.revoked != nil }, "round \(round)")
            #expect(isKnown == (joined != nil), "round \(round)")
        }
    }

    @Test("A user with files alone gets a key on this machine, and none after all were revoked")
    func filesAlone() async throws {
        for user in ["alice", "bob"] {
            let file = try await administrator.add(user: user).keyPair.publicKey.text
            if user == "alice" { _ = try await administrator.makeKey(of: user) }
            try await administrator.revoke(key: file, of: user)
        }
        _ = try directory.credentials(for: "alice")
        #expect(throws: NetworkError.keyRevoked("bob")) { try directory.credentials(for: "bob") }
    }

    @Test("The network's folder keeps no secret of a user but that of the machine's own key")
    func secrets() async throws {
        let issued = [
            try await administrator.add(user: "alice"), try await administrator.add(user: "alice"),
            try await administrator.makeKey(of: "alice", for: .token, isBearer: true).credentials,
        ]
        let own = try directory.credentials(for: "alice")
        let secrets = (issued + [own]).map { $0.keyPair.withSeedText { $0 } }
        var found: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            let text = String(
                decoding: FileManager.default.contents(atPath: folder.path + "/" + path) ?? Data(), as: UTF8.self)
            found += secrets.filter { text.contains($0) }
        }
        #expect(found == [secrets[3]])
        #expect(Set(secrets).count == 4)
        #expect(try issued[2].claims().grant.template.bearerToken == true)
    }
}
