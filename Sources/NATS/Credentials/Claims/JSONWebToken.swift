import Platform

/// The three parts of a NATS JSON web token (version 2), parsed but not verified.
///
/// The text is limited to ``maximumLength`` before anything is decoded, and the JSON decoder limits its depth, so text
/// from any source may be passed.
public struct JSONWebToken: Hashable, Sendable {
    /// The longest text accepted, in bytes: 256 KiB.
    public static let maximumLength = 256 * 1024
    /// The only algorithm of version 2 tokens: Ed25519 over `header.payload`.
    static let algorithm = "ed25519-nkey"

    private struct Header: Codable {
        var typ: String
        var alg: String
    }

    /// The entire text.
    public let text: String
    /// The JSON of the claims.
    public let payload: [UInt8]
    private let signature: [UInt8]

    /// Parses the text, ignoring white space around it.
    /// - Throws: `CredentialsError.malformedToken` with the invalid part.
    public init(parsing text: some StringProtocol) throws(CredentialsError) {
        guard text.utf8.count <= Self.maximumLength else { throw .malformedToken("it is too long") }
        let bytes = Array(text.utf8)
        let trimmed = bytes[...].trimmingBlanks()
        guard !trimmed.isEmpty else { throw .malformedToken("it is empty") }
        let parts = trimmed.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformedToken("it has not three parts") }
        guard let header = Base64URL.decode(parts[0]),
            let decoded = try? JSONDecoder().decode(Header.self, from: Data(header)),
            decoded.typ.uppercased() == "JWT", decoded.alg == Self.algorithm
        else { throw .malformedToken("its header is not a NATS token's") }
        guard let payload = Base64URL.decode(parts[1]) else { throw .malformedToken("its claims are not base64url") }
        guard let signature = Base64URL.decode(parts[2]), signature.count == 64 else {
            throw .malformedToken("its signature is not 64 bytes long")
        }
        self.text = String(decoding: trimmed, as: UTF8.self)
        self.payload = payload
        self.signature = signature
    }

    /// Whether the key made the signature.
    public func isSigned(by key: NKey) -> Bool {
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return key.isValidSignature(signature, for: text.utf8[..<end])
    }

    /// Decodes the claims without verifying their signature or time.
    /// - Throws: `CredentialsError.malformedToken` if the JSON does not contain such claims.
    public func claims<Grant: ClaimsGrant>(as type: Claims<Grant>.Type) throws(CredentialsError) -> Claims<Grant> {
        let claims: Claims<Grant>
        do {
            claims = try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw .malformedToken("its claims are not those of \(Grant.type) token")
        }
        guard claims.grant.type == Grant.type else { throw .malformedToken("it is not \(Grant.type) token") }
        return claims
    }
}

extension JSONWebToken: CustomStringConvertible, CustomReflectable {
    /// Hides the token, which may be a login by itself.
    public var description: String { "JSONWebToken(hidden)" }
    /// Hides the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
