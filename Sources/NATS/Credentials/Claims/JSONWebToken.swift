import Platform

/// The three parts of a NATS JSON web token (version 2), taken apart but not yet believed.
///
/// The text is bounded at ``maximumLength`` before anything is decoded, and the JSON decoder bounds its depth, so text
/// from anywhere may be given.
public struct JSONWebToken: Hashable, Sendable {
    /// The longest text that is looked at, in bytes: 256 KiB.
    public static let maximumLength = 256 * 1024
    /// The only algorithm of version 2 tokens: Ed25519 over `header.payload`.
    static let algorithm = "ed25519-nkey"

    private struct Header: Codable {
        var typ: String
        var alg: String
    }

    /// The whole text.
    public let text: String
    /// The JSON of the claims.
    public let payload: [UInt8]
    private let signature: [UInt8]

    /// Takes the text apart. White space around it is allowed.
    /// - Throws: `CredentialsError.malformedToken` with the part that is wrong.
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
        else { throw .malformedToken("its header is not that of a NATS token") }
        guard let payload = Base64URL.decode(parts[1]) else { throw .malformedToken("its claims are not base64url") }
        guard let signature = Base64URL.decode(parts[2]), signature.count == 64 else {
            throw .malformedToken("its signature has not 64 bytes")
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

    /// Decodes the claims without believing them: neither signature nor time is checked.
    /// - Throws: `CredentialsError.malformedToken` when the JSON is not that of such claims.
    public func claims<Grant: ClaimsGrant>(as type: Claims<Grant>.Type) throws(CredentialsError) -> Claims<Grant> {
        let claims: Claims<Grant>
        do {
            claims = try JSONDecoder().decode(type, from: Data(payload))
        } catch {
            throw .malformedToken("its claims are not those of \(Grant.type) token")
        }
        guard claims.grant.type == Grant.type else {
            throw .malformedToken("it is not \(Grant.type) token")
        }
        return claims
    }
}

extension JSONWebToken: CustomStringConvertible, CustomReflectable {
    /// Nothing of the token, which alone may be a login.
    public var description: String { "JSONWebToken(hidden)" }
    /// Nothing of the token.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
