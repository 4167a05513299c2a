/// A user's token and its key pair: the contents of a NATS `.creds` file, and RelayX's API key and secret.
public struct Credentials: Sendable, Hashable {
    static let maximumLength = JSONWebToken.maximumLength + 4096

    /// The user's token.
    public let jwt: String
    /// The user's key pair.
    public let keyPair: NKeyPair

    /// Combines a token and a seed that were issued separately; throws if one is invalid or they do not match.
    public init(jwt: String, seed: String) throws(CredentialsError) {
        try self.init(jwt: jwt, keyPair: NKeyPair(seed: seed))
    }

    /// Combines a token and a key pair; throws if the token is invalid or they do not match.
    public init(jwt: String, keyPair: NKeyPair) throws(CredentialsError) {
        let token = try JSONWebToken(parsing: jwt)
        let claims = try token.claims(as: UserClaims.self)
        guard keyPair.publicKey.kind == .user else { throw .malformedSeed(.wrongKind) }
        guard claims.subject == keyPair.publicKey.text else { throw .mismatchedSeed }
        self.jwt = token.text
        self.keyPair = keyPair
    }

    /// Parses the text of a credentials file; throws a `CredentialsError` with what is missing or invalid.
    public init(parsing text: String) throws(CredentialsError) {
        var bytes = Array(text.utf8)
        defer { Wiping.wipe(&bytes) }
        try self.init(fileText: bytes)
    }

    /// Parses the bytes of a credentials file, which the caller wipes.
    init(fileText bytes: [UInt8]) throws(CredentialsError) {
        guard bytes.count <= Self.maximumLength else { throw .malformedToken("it is too long") }
        guard TextEncoding(of: bytes) != .utf16 else { throw .otherEncoding("UTF-16") }
        guard let token = Self.block("NATS USER JWT", in: bytes) else { throw .missingToken }
        guard let seed = Self.block("USER NKEY SEED", in: bytes) else { throw .missingSeed }
        let keyPair = try NKeyPair(seedText: seed)
        try self.init(jwt: String(decoding: token, as: UTF8.self), keyPair: keyPair)
    }

    /// The claims of the token, unverified: that would need the issuer's key, which only the server has.
    public func claims() throws(CredentialsError) -> UserClaims { try UserClaims.decode(jwt) }

    /// The text of a credentials file. It contains the seed: write it only to a file with mode 0600.
    public func fileText() -> String {
        keyPair.withSeedText { seed in
            """
            -----BEGIN NATS USER JWT-----
            \(jwt)
            ------END NATS USER JWT------

            ************************* IMPORTANT *************************
            Anyone who has this seed is this user: keep it to yourself.

            -----BEGIN USER NKEY SEED-----
            \(seed)
            ------END USER NKEY SEED------

            """
        }
    }

    /// The only line with text between a block's BEGIN line and the next line of dashes.
    private static func block(_ name: String, in bytes: [UInt8]) -> ArraySlice<UInt8>? {
        let begin = Array("BEGIN \(name)".utf8)
        let dashes = Array("---".utf8)
        var isInside = false
        var content: ArraySlice<UInt8>?
        for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let trimmed = line.trimmingBlanks()
            if trimmed.starts(with: dashes) {
                if isInside { return content }
                let label = trimmed.drop(while: { $0 == UInt8(ascii: "-") })
                isInside = label.starts(with: begin)
            } else if isInside, !trimmed.isEmpty {
                guard content == nil else { return nil }
                content = trimmed
            }
        }
        return nil
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    /// The user's public key, without token and seed.
    public var description: String { "Credentials(\(keyPair.publicKey), hidden)" }
    /// The user's public key alone, so that `dump` shows neither token nor seed.
    public var customMirror: Mirror { Mirror(self, children: ["publicKey": keyPair.publicKey]) }
}
