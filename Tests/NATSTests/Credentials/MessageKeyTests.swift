import Testing

@testable import NATS

@Suite("Message keys")
struct MessageKeyTests {
    private let network = NKeyPair.generate(.account)

    @Test("B64: what is sent as an identifier is the same for a user, subject and identifier, and for nothing else")
    func hashes() throws {
        let key = MessageKey(of: "bob", derivedFrom: network)
        let hash = key.hash(of: "deploy-x", on: "H.chat.ops")
        #expect(hash.utf8.count == 22 && NATSHeaders.isWritable(value: hash))
        let other = try #require(MessageKey(text: key.text))
        #expect(other == key && other.hash(of: "deploy-x", on: "H.chat.ops") == hash)
        let others = [
            key.hash(of: "deploy-y", on: "H.chat.ops"), key.hash(of: "deploy-x", on: "H.chat.op"),
            MessageKey(of: "carol", derivedFrom: network).hash(of: "deploy-x", on: "H.chat.ops"),
            MessageKey(of: "bob", derivedFrom: .generate(.account)).hash(of: "deploy-x", on: "H.chat.ops"),
        ]
        #expect(Set(others + [hash]).count == 5)
    }

    @Test("B2: claims and a token show nothing of the message key in them, nor of the token")
    func carriers() throws {
        let key = MessageKey(of: "bob", derivedFrom: network)
        var claims = UserClaims(subject: NKeyPair.generate(.user).publicKey, name: "bob", grant: UserGrant())
        claims.messageKey = key.text
        let text = try claims.encode(signedBy: network)
        let token = try JSONWebToken(parsing: text)
        #expect(try token.claims(as: UserClaims.self).messageKey == key.text)
        var dumped = ""
        dump(claims, to: &dumped)
        dump(token, to: &dumped)
        let shown = "\(claims) \(token) \(String(reflecting: claims)) \(String(reflecting: token)) \(dumped)"
        #expect(!shown.contains(key.text) && !shown.contains(text.prefix(20)) && !shown.contains(text.suffix(20)))
        #expect(shown.contains(claims.subject))
    }

    @Test("B2: a message key shows nothing of itself, and no other text is one")
    func secret() {
        let key = MessageKey(of: "bob", derivedFrom: network)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(dumped)".contains(key.text))
        for text in ["", "x", String(key.text.dropLast(4)), "%%%"] { #expect(MessageKey(text: text) == nil) }
    }
}
