/// Why a key, a token or a credentials file was rejected. No case carries secret material.
public enum CredentialsError: Error, Hashable, Sendable {
    /// The fault in the text of an nkey or a seed.
    public enum KeyFault: String, Hashable, Sendable {
        /// The text is empty.
        case empty
        /// The text contains a character outside the base32 alphabet.
        case badCharacter
        /// The text is too short or too long for its kind.
        case badLength
        /// The checksum does not match the key: a character was lost or changed.
        case badChecksum
        /// The first bytes are not those of a known kind of key.
        case badPrefix
        /// A valid key of the wrong kind.
        case wrongKind
    }

    /// The text of a public key is invalid.
    case malformedKey(KeyFault)
    /// The text of a seed is invalid.
    case malformedSeed(KeyFault)
    /// The text of a JSON web token is invalid, in the part named.
    case malformedToken(String)
    /// A token's signature does not match its text and issuer.
    case badSignature
    /// A token was issued by a kind of key that may not issue it.
    case wrongIssuer
    /// A token has expired, at this time in seconds since 1970.
    case expired(Int64)
    /// A token becomes valid only at this time in seconds since 1970.
    case notYetValid(Int64)
    /// The credentials are in this encoding instead of UTF-8.
    case otherEncoding(String)
    /// The credentials contain no JSON web token block.
    case missingToken
    /// The credentials contain no seed block.
    case missingSeed
    /// The token was issued for a key other than the seed's.
    case mismatchedSeed
    /// Signing failed.
    case signingFailed
    /// There is no file at the path.
    case fileNotFound(path: String)
    /// The file cannot be read, for the system's reason.
    case fileUnreadable(path: String, reason: String)
    /// Others besides the owner may read the file.
    case fileTooOpen(path: String)
    /// The file is larger than any credentials file.
    case fileTooLarge(path: String)
}

extension CredentialsError: CustomStringConvertible {
    /// What is wrong and what to do next, in one sentence.
    public var description: String {
        switch self {
        case .malformedKey(let fault): "The public key is not valid: \(fault.words)."
        case .malformedSeed(let fault):
            "The secret is not a valid nkey seed: \(fault.words). Copy it again, whole."
        case .malformedToken(let part):
            "The key is not a valid NATS token: \(part). Copy it again, whole."
        case .badSignature: "The token's signature is wrong: the token was changed after it was issued."
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
    /// The fault as a clause for use after a colon.
    var words: String {
        switch self {
        case .empty: "it is empty"
        case .badCharacter: "it contains an invalid character"
        case .badLength: "its length is wrong"
        case .badChecksum: "its checksum is wrong"
        case .badPrefix: "it does not start like a key"
        case .wrongKind: "it is a key of another kind"
        }
    }
}
