/// Why a key, a token or a credentials file was refused. No case ever carries secret material.
public enum CredentialsError: Error, Hashable, Sendable {
    /// What is wrong with the text of an nkey or a seed.
    public enum KeyFault: String, Hashable, Sendable {
        /// The text is empty.
        case empty
        /// The text holds a character outside the base32 alphabet.
        case badCharacter
        /// The text is too short or too long for its kind.
        case badLength
        /// The checksum does not fit the key: a character was lost or changed.
        case badChecksum
        /// The first bytes name no known kind of key.
        case badPrefix
        /// A sound key of the wrong kind.
        case wrongKind
    }

    /// A public key's text was refused.
    case malformedKey(KeyFault)
    /// A seed's text was refused.
    case malformedSeed(KeyFault)
    /// A JSON web token's text was refused; the value says which part.
    case malformedToken(String)
    /// A token's signature does not fit its text and issuer.
    case badSignature
    /// A token was issued by a kind of key that may not issue it.
    case wrongIssuer
    /// A token's time is over; the value is its end in seconds since 1970.
    case expired(Int64)
    /// A token's time has not begun; the value is its begin in seconds since 1970.
    case notYetValid(Int64)
    /// The credentials are a text in this encoding, which is not UTF-8.
    case otherEncoding(String)
    /// The credentials text has no JSON web token block.
    case missingToken
    /// The credentials text has no seed block.
    case missingSeed
    /// The token was issued for another key than the seed's.
    case mismatchedSeed
    /// The signature could not be made.
    case signingFailed
    /// No file is at the path.
    case fileNotFound(path: String)
    /// The file cannot be read; the reason is the system's.
    case fileUnreadable(path: String, reason: String)
    /// Others than the owner may read the file.
    case fileTooOpen(path: String)
    /// The file is larger than any credentials file.
    case fileTooLarge(path: String)
}

extension CredentialsError: CustomStringConvertible {
    /// What is wrong, and what to do next, in one sentence.
    public var description: String {
        switch self {
        case .malformedKey(let fault): "The public key is not valid: \(fault.words)."
        case .malformedSeed(let fault):
            "The secret is not a valid nkey seed: \(fault.words). Copy it again, whole."
        case .malformedToken(let part):
            "The key is not a valid NATS token: \(part). Copy it again, whole."
        case .badSignature: "The token's signature does not fit: it was changed after it was issued."
        case .wrongIssuer: "The token was issued by a key that may not issue it."
        case .expired: "The credentials have expired: ask for new ones."
        case .notYetValid: "The credentials are not valid yet: check the clock of this machine."
        case .otherEncoding(let name): "The credentials are \(name): save them as UTF-8."
        case .missingToken:
            "The credentials hold no NATS USER JWT block: use the whole file as it was issued."
        case .missingSeed:
            "The credentials hold no USER NKEY SEED block: use the whole file as it was issued."
        case .mismatchedSeed: "The key and the secret do not belong together: use a pair issued together."
        case .signingFailed: "The signature could not be made."
        case .fileNotFound(let path): "There is no credentials file at \(path)."
        case .fileUnreadable(let path, let reason): "The credentials file \(path) cannot be read: \(reason)."
        case .fileTooOpen(let path):
            "Others can read the credentials file \(path): run `chmod 600 \(path)` and try again."
        case .fileTooLarge(let path): "The file \(path) is too large to be a credentials file."
        }
    }
}

extension CredentialsError.KeyFault {
    /// The fault in words that fit after a colon.
    var words: String {
        switch self {
        case .empty: "it is empty"
        case .badCharacter: "it holds a character that no key has"
        case .badLength: "its length is wrong"
        case .badChecksum: "its checksum is wrong"
        case .badPrefix: "it does not begin like a key"
        case .wrongKind: "it is a key of another kind"
        }
    }
}
