import Crypto

/// What a user's message identifiers are hashed with before a server sees them.
///
/// A stream remembers the identifiers (`Nats-Msg-Id`) of all users in one space: whoever guesses an identifier and uses
/// it first suppresses the other's message. So what is sent is a keyed hash of the subject and the identifier, with a
/// key that the network gives to this user alone, the same one with each of the user's credentials: a message that is
/// sent again from another device is still recognised. The key is part of the user's token.
///
/// A hash is also what recognises a user's own messages. It says that the user has sent a message to that subject under
/// that identifier, and not what it said: whoever has read the message can send its hash again, once the server has
/// forgotten it, with another text. So the first message under an identifier counts.
public struct MessageKey: Hashable, Sendable {
    private let secret: SymmetricKey

    /// The key of a user, as the network's signing key determines it.
    public init(of user: String, derivedFrom pair: NKeyPair) {
        secret = pair.withSeedText { seed in
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("parley message identifiers \(user)".utf8), using: SymmetricKey(data: Array(seed.utf8)))
            return SymmetricKey(data: Array(code))
        }
    }

    /// Reads a key's text; nil for one that is none.
    public init?(text: String) {
        guard let bytes = Base64URL.decode(text.utf8), bytes.count == SHA256.byteCount else { return nil }
        secret = SymmetricKey(data: bytes)
    }

    /// The key as a token holds it: a secret.
    public var text: String { secret.withUnsafeBytes { Base64URL.encode($0) } }

    /// What is sent in place of a message's identifier: 128 bits in 22 characters.
    public func hash(of id: String, on subject: String) -> String {
        // No subject has a zero.
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(subject)\0\(id)".utf8), using: secret)
        return Base64URL.encode(code.prefix(16))
    }

    /// Hashes nothing of the secret that could be seen.
    public func hash(into hasher: inout Hasher) { hasher.combine(secret.bitCount) }
}

extension MessageKey: CustomStringConvertible, CustomReflectable {
    /// Nothing of the secret.
    public var description: String { "MessageKey(secret hidden)" }
    /// Nothing of the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
