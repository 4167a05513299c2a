import Testing

@testable import NATS

@Suite("JSON web tokens")
struct JSONWebTokenTests {
    @Test("A user's token made elsewhere is read whole and verified")
    func userVector() throws {
        let claims = try UserClaims.verify(CredentialsVectors.userToken)
        #expect(claims.name == "alice")
        #expect(claims.subject == CredentialsVectors.user.publicKey)
        #expect(claims.issuer == CredentialsVectors.account.publicKey)
        #expect(claims.issuedAt == 1_700_000_000)
        #expect(claims.expires == 4_102_444_800)
        #expect(claims.grant.template.pub == SubjectRules(allow: ["chat.>"]))
        #expect(claims.grant.template.resp == ResponseRules(max: 1, ttl: 0))
        #expect(claims.grant.template.bearerToken == true)
        #expect(claims.grant.template.allowedConnectionTypes == ["STANDARD"])
        #expect(claims.inboxPrefix == "_INBOX_alice")
        try claims.checkTime(at: 1_700_000_001)
        #expect(throws: CredentialsError.expired(4_102_444_800)) { try claims.checkTime(at: 4_102_444_800) }
    }

    @Test("An account's token made elsewhere is read whole and verified")
    func accountVector() throws {
        let claims = try AccountClaims.verify(CredentialsVectors.accountToken)
        #expect(claims.grant.limits.memoryStorage == -1)
        #expect(claims.grant.limits.streams == nil)
        let keys = try #require(claims.grant.signingKeys)
        #expect(keys.map(\.key) == [CredentialsVectors.account.publicKey, CredentialsVectors.account.publicKey])
        guard case .scoped(_, let role, let template) = keys[1] else {
            Issue.record("the second key is scoped")
            return
        }
        #expect(role == "reader" && template.sub == SubjectRules(allow: ["x"]))
        let user = CredentialsVectors.user.publicKey
        #expect(claims.grant.isRevoked(user: user, issuedAt: 1_700_000_000))
        #expect(!claims.grant.isRevoked(user: user, issuedAt: 1_700_000_001))
        #expect(claims.grant.isRevoked(user: "UOTHER", issuedAt: 5))
        #expect(!claims.grant.isRevoked(user: "UOTHER", issuedAt: 6))
    }

    @Test("What is issued here verifies here, for each kind, and has a stable id")
    func roundTrips() throws {
        let root = NKeyPair.generate(.operator)
        let account = NKeyPair.generate(.account)
        let user = NKeyPair.generate(.user)
        let operatorClaims = OperatorClaims(
            subject: root.publicKey, name: "op", issuedAt: 5, grant: .init(systemAccount: account.publicKey))
        let operatorToken = try operatorClaims.encode(signedBy: root)
        #expect(try OperatorClaims.verify(operatorToken).grant.systemAccount == account.publicKey.text)
        #expect(
            try operatorClaims.encode(signedBy: root).split(separator: ".")[1] == operatorToken.split(separator: ".")[1]
        )

        var accountClaims = AccountClaims(subject: account.publicKey, name: "app", grant: .init())
        accountClaims.grant.signingKeys = [
            .key(root.publicKey.text), .scoped(key: user.publicKey.text, role: "r", template: .init()),
        ]
        accountClaims.grant.revocations = [user.publicKey.text: 9]
        let decodedAccount = try AccountClaims.verify(accountClaims.encode(signedBy: root))
        #expect(decodedAccount.grant == accountClaims.grant)
        #expect(decodedAccount.issuer == root.publicKey.text)

        let userClaims = UserClaims(
            subject: user.publicKey, name: "alice", expires: 99,
            grant: .init(
                permissions: Permissions(
                    pub: .init(allow: ["a.>"], deny: ["a.b"]), sub: .init(allow: ["a.>"]), resp: .init()),
                issuerAccount: account.publicKey))
        let decodedUser = try UserClaims.verify(userClaims.encode(signedBy: account))
        #expect(decodedUser.grant == userClaims.grant)
        #expect(decodedUser.expires == 99)
        #expect(decodedUser.id?.utf8.count == 52)
    }

    @Test("Only the right kind of key issues a token")
    func issuers() throws {
        let user = NKeyPair.generate(.user)
        let claims = UserClaims(subject: user.publicKey, grant: .init())
        #expect(throws: CredentialsError.wrongIssuer) { try claims.encode(signedBy: user) }
        #expect(throws: CredentialsError.wrongIssuer) { try claims.encode(signedBy: .generate(.operator)) }
        #expect(throws: CredentialsError.self) { try AccountClaims.verify(CredentialsVectors.userToken) }
        #expect(throws: CredentialsError.self) { try UserClaims.decode(CredentialsVectors.accountToken) }
    }

    @Test("A token changed anywhere does not verify")
    func tampering() throws {
        let token = Array(CredentialsVectors.userToken.utf8)
        for index in stride(from: 0, to: token.count, by: 7) where token[index] != UInt8(ascii: ".") {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: CredentialsError.self) { try UserClaims.verify(String(decoding: changed, as: UTF8.self)) }
        }
    }

    @Test("B2: hostile text is refused, whatever it is")
    func hostile() {
        let header = Base64URL.encode(Array(#"{"typ":"JWT","alg":"ed25519-nkey"}"#.utf8))
        let none = Base64URL.encode(Array(#"{"typ":"JWT","alg":"none"}"#.utf8))
        let signature = Base64URL.encode([UInt8](repeating: 0, count: 64))
        func token(_ payload: String) -> String {
            "\(header).\(Base64URL.encode(Array(payload.utf8))).\(signature)"
        }
        let deep = String(repeating: "[", count: 100_000)
        let texts = [
            "", ".", "..", "...", "a.b.c", "\(header)..\(signature)", "\(header).e30.", "\(header).e30=.\(signature)",
            "\(none).e30.\(signature)", "\u{0}.\u{0}.\u{0}", token("{}"), token("null"), token(deep),
            token(#"{"sub":1,"nats":{}}"#), token(#"{"sub":"U","exp":1e400,"nats":{"type":"user"}}"#),
            token(#"{"sub":"U","nats":\#(String(repeating: #"{"a":"#, count: 10_000))"#),
            String(repeating: "a", count: JSONWebToken.maximumLength + 1),
        ]
        for text in texts {
            #expect(throws: CredentialsError.self, "\(text.prefix(60))") { try UserClaims.decode(text) }
        }
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            let bytes = (0..<Int.random(in: 0..<300, using: &generator)).map { _ in UInt8.random(in: 0...127) }
            #expect(throws: CredentialsError.self) { try UserClaims.decode(String(decoding: bytes, as: UTF8.self)) }
        }
    }

    @Test(
        "The inbox prefix is what the permissions allow",
        arguments: [
            (nil, "_INBOX"), (SubjectRules(allow: [">"]), "_INBOX"), (.init(allow: ["a", "_INBOX.>"]), "_INBOX"),
            (.init(allow: ["a.>", "_INBOX_bob.>"]), "_INBOX_bob"), (.init(deny: ["secret.>"]), "_INBOX"),
            (.init(deny: ["_INBOX.>"]), "_INBOX"), (.init(allow: ["a"]), "_INBOX"),
            (.init(allow: ["_INBOX_*.>"]), "_INBOX"), (.init(allow: ["_INBOX_.>"]), "_INBOX"),
            (.init(allow: [">", "_INBOX_eve.>"], deny: ["_INBOX.>"]), "_INBOX_eve"),
            (.init(allow: ["_INBOX_a b.>", "_INBOX_b.c.>", "_INBOX_ok.>"]), "_INBOX_ok"),
            (.init(allow: ["_INBOX.> workers"]), "_INBOX"),
        ] as [(SubjectRules?, String)])
    func inboxPrefix(rules: SubjectRules?, expected: String) {
        let claims = UserClaims(
            subject: NKeyPair.generate(.user).publicKey, grant: .init(permissions: .init(sub: rules)))
        #expect(claims.inboxPrefix == expected)
    }

    @Test("A pattern covers exactly what it matches")
    func covering() {
        let cases: [(String, String, Bool)] = [
            (">", "a.b", true), (">", ">", true), ("a.>", "a", false), ("a.>", "a.>", true), ("a.*", "a.>", false),
            ("a.*", "a.*", true), ("a.*", "a.b", true), ("a.b", "a.*", false), ("*", "a.b", false), ("a", "a", true),
        ]
        for (outer, inner, expected) in cases {
            #expect(SubjectPattern.covers(outer, inner) == expected, "\(outer) \(inner)")
        }
    }
}
