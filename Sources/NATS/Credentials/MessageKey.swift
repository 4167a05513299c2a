import Crypto

/// The key with which a user's message identifiers are hashed before a server sees them.
///
/// A stream keeps the identifiers (`Nats-Msg-Id`) of all users in one space: anyone who guesses an identifier and uses
/// it first suppresses the other user's message. So the client sends a keyed hash of the subject and the identifier.
/// The network gives each user a key, the same one with all credentials of that user, so that a message sent again from
/// another device is still recognised. The key is part of the user's token.
///
/// The hash also identifies a user's own messages. It proves that the user sent a message with that identifier to that
/// subject, but not its contents: once the server has forgotten the hash, anyone who has read the message can send it
/// again with another text. So the first message with an identifier counts.
public struct MessageKey: Hashable, Sendable {
    private let secret: SymmetricKey

    /// The key of a user, derived from the network's signing key.
    public init(of user: String, derivedFrom pair: NKeyPair) {
        secret = pair.withSeedText { seed in
            let code = HMAC<SHA256>.authenticationCode(
                for: Array("parley message identifiers \(user)".utf8), using: SymmetricKey(data: Array(seed.utf8)))
            return SymmetricKey(data: Array(code))
        }
    }

    /// Parses a key's text; nil if it is invalid.
    public init?(text: String) {
        guard let bytes = Base64URL.decode(text.utf8), bytes.count == SHA256.byteCount else { return nil }
        secret = SymmetricKey(data: bytes)
    }

    /// The key as a token holds it: a secret.
    public var text: String { secret.withUnsafeBytes { Base64URL.encode($0) } }

    /// The hash that replaces a message's identifier: 128 bits in 22 characters.
    public func hash(of id: String, on subject: String) -> String {
        // No subject contains a zero byte.
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(subject)\0\(id)".utf8), using: secret)
        return Base64URL.encode(code.prefix(16))
    }

    /// Hashes no part of the secret.
    public func hash(into hasher: inout Hasher) { hasher.combine(secret.bitCount) }
}

extension MessageKey: CustomStringConvertible, CustomReflectable {
    /// Hides the secret.
    public var description: String { "MessageKey(secret hidden)" }
    /// Hides the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
