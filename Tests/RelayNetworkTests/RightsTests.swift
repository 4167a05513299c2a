import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Rights of keys: what an account is given")
struct RightsTests {
    private let folder: TemporaryDirectory
    /// Of a network in the folder, without a server.
    private let administrator: NetworkAdministrator
    private var directory: NetworkDirectory { administrator.directory }

    init() throws {
        folder = try TemporaryDirectory()
        administrator = NetworkAdministrator(directory: NetworkDirectory(path: folder.path + "/local"))
    }

    private func change(_ body: (inout RightsChange) -> Void) -> RightsChange {
        var change = RightsChange()
        body(&change)
        return change
    }

    /// The claims of the account that credentials belong to, as a server is handed them.
    private func account(of credentials: Credentials, in directory: NetworkDirectory) throws -> AccountClaims {
        let account = try #require(try credentials.claims().grant.issuerAccount)
        let token = try #require(try PrivateFile.read(directory.tokenPath(ofAccount: account)))
        return try AccountClaims.verify(String(decoding: token, as: UTF8.self))
    }

    @Test("A change names one direction alone, both, or neither, and all else stays")
    func changes() {
        let before = AccessRights(publish: ["a"], subscribe: ["b"], keyValue: .read, letters: false)
        #expect(RightsChange().applied(to: before) == before && RightsChange().isEmpty)
        #expect(RightsChange(topics: ["c"]).applied(to: before).publish == ["c"])
        let readOnly = change { $0.subscribe = ["c.>"] }.applied(to: before)
        #expect(readOnly == AccessRights(publish: [], subscribe: ["c.>"], keyValue: .read, letters: false))
        let keys = change { ($0.keyValue, $0.letters) = (.write, true) }.applied(to: before)
        #expect(keys == AccessRights(publish: ["a"], subscribe: ["b"]))
    }

    @Test("What a grant loses is kept as soon as the grant is, and for each act by itself")
    func losses() throws {
        _ = try directory.credentials(for: "alice")
        for topics in [["chat.>", "ops.>"], ["chat.>"], [">"]] {
            try directory.changeUser(UserName("alice")) { $0.rights = AccessRights(topics: topics) }
        }
        let first = Narrowing(lost: [">"], kept: ["chat.>", "ops.>"])
        let second = Narrowing(lost: ["ops.>"], kept: ["chat.>"])
        #expect(try directory.narrowings() == [first, second])
        try directory.forget(second)
        #expect(try directory.narrowings() == [first])
        try directory.forget(first)
        #expect(try directory.narrowings().isEmpty)
    }

    @Test("Two rights have in common what both allow, and no more")
    func intersections() {
        for (one, other, common) in [
            ("chat.>", "chat.a", "chat.a"), (">", "a.>", "a.>"), ("a.*.c", "*.b.c", "a.b.c"),
            ("a.*.>", "a.b.>", "a.b.>"),
            ("a.>", "b.>", nil), ("a.>", "a", nil), ("a.b", "a.b", "a.b"), ("a.>", "a.*.c", "a.*.c"),
        ] {
            #expect(SubjectPattern.intersection(one, other) == common, "\(one) \(other)")
            #expect(SubjectPattern.intersection(other, one) == common, "\(other) \(one)")
        }
        let all = AccessRights.all
        let narrow = AccessRights(publish: [], subscribe: ["chat.>"], keyValue: .read, letters: false)
        #expect(narrow.isWithin(all) && !all.isWithin(narrow) && all.intersection(narrow) == narrow)
        #expect(narrow.mayRead("chat.a") && !narrow.mayPublish(to: "chat.a") && !narrow.mayRead("ops.a"))
    }

    @Test("B59 a key with fewer rights is in an account of its own, with the imports of those rights alone")
    func imports() async throws {
        let full = try await administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>", "ops.>"]))
        let reader = try await administrator.makeKey(
            of: "alice",
            rights: change {
                ($0.subscribe, $0.keyValue, $0.letters) = (["chat.>"], AccessRights.KeyValueAccess.none, false)
            })
        let writer = try await administrator.makeKey(
            of: "alice", rights: change { ($0.publish, $0.letters) = (["chat.a"], false) })
        let again = try await administrator.makeKey(
            of: "alice", for: .token,
            rights: change {
                ($0.subscribe, $0.keyValue, $0.letters) = (["chat.>"], AccessRights.KeyValueAccess.none, false)
            }, isBearer: true)
        #expect(again.key.account == reader.key.account && writer.key.account != reader.key.account)
        #expect(reader.key.account != (try full.claims().grant.issuerAccount))
        let hash = try NetworkIdentity.open(in: directory).names.hash
        func subjects(_ credentials: Credentials) throws -> [String] {
            let claims = try account(of: credentials, in: directory)
            #expect(claims.name == "alice")
            #expect(try credentials.claims().grant.template.pub == nil, "a token carries no permissions")
            return (claims.grant.imports ?? []).map(\.subject)
        }
        let read = try subjects(reader.credentials)
        #expect(
            !read.contains { $0.hasPrefix(hash) || $0.hasPrefix("$KV.local") || $0.hasPrefix("postbox") }, "\(read)")
        #expect(!read.contains { $0.contains("PB_alice") || $0.contains(".KV_local") || $0.contains("ops") }, "\(read)")
        #expect(read.contains { $0.hasSuffix("_stream.*.\(hash).chat.>") })
        let write = try subjects(writer.credentials)
        #expect(write.filter { $0.hasPrefix(hash) } == ["\(hash).chat.a"], "\(write)")
        #expect(!write.contains { $0.contains("_stream.") || $0.contains("PB_alice") }, "\(write)")

        // What the user loses, the keys lose as well; nothing that a key was not given comes to it.
        try await administrator.grant(user: "alice", rights: RightsChange(topics: ["chat.b", "ops.>"]))
        #expect(try !subjects(writer.credentials).contains { $0.hasPrefix(hash) })
        #expect(try subjects(reader.credentials).contains { $0.hasSuffix("_stream.*.\(hash).chat.b") })
        try await administrator.grant(user: "alice", rights: RightsChange(topics: [">"]))
        #expect(
            try !subjects(reader.credentials).contains {
                $0.contains("ops") || $0.hasSuffix(".>") && $0.contains("CREATE.local_stream.*.\(hash).>")
            })
        let listed = try await administrator.keys(of: "alice").map(\.rights)
        #expect(listed[0] == .all && listed[1].subscribe == ["chat.>"] && listed[2].publish == ["chat.a"])
        await #expect(throws: NetworkError.self) {
            try await administrator.grant(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            _ = try await administrator.makeKey(of: "alice", rights: RightsChange(topics: ["ops.a"]))
        }
        // This machine's own key as well, and when it is issued anew.
        let own = try await administrator.makeKey(
            of: "alice", for: .identity, rights: change { $0.subscribe = ["chat.>"] })
        #expect(try directory.credentials(for: "alice") == own.credentials)
        try await administrator.expire(user: "alice", at: 4_102_444_800)
        #expect(try directory.credentials(for: "alice").claims().grant.issuerAccount == own.key.account)
        // Each of the accounts is alice's, and a revoked key is void in each.
        try await administrator.revoke(key: again.key.publicKey, of: "alice")
        for credentials in [full, reader.credentials, writer.credentials] {
            let claims = try account(of: credentials, in: directory)
            #expect(directory.user(ofAccount: claims.subject)?.text == "alice")
            #expect(claims.grant.revocations?[again.key.publicKey] != nil)
        }
    }
}
