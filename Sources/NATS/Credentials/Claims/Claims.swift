import Crypto
import Platform

/// The claims of a NATS token: its subject, grant, lifetime and issuer. Times are seconds since 1970.
///
/// `OperatorClaims`, `AccountClaims` and `UserClaims` are this type with the grant of their kind.
public struct Claims<Grant: ClaimsGrant>: Hashable, Sendable {
    /// The token's id (`jti`): a hash of the claims, set when the token is issued.
    public var id: String?
    /// When the token was issued (`iat`).
    public var issuedAt: Int64?
    /// The public key that issued the token (`iss`), set when it is issued.
    public var issuer: String?
    /// A name for people.
    public var name: String?
    /// The public key that the claims are about (`sub`).
    public var subject: String
    /// The audience of the token (`aud`).
    public var audience: String?
    /// When the token expires (`exp`); nil means never.
    public var expires: Int64?
    /// When the token becomes valid (`nbf`).
    public var notBefore: Int64?
    /// The user's ``MessageKey`` (`parley_message_key`) in tokens that Parley's networks issue; servers ignore it. A
    /// secret, like a bearer token.
    public var messageKey: String?
    /// The grant (`nats`).
    public var grant: Grant

    /// Creates claims about a key; by default issued now and without expiry.
    public init(subject: NKey, name: String? = nil, issuedAt: Int64? = nil, expires: Int64? = nil, grant: Grant) {
        self.subject = subject.text
        self.name = name
        self.issuedAt = issuedAt ?? Int64(Date().timeIntervalSince1970)
        self.expires = expires
        self.grant = grant
    }

    /// Decodes a token's claims without verifying their signature or time.
    /// - Throws: `CredentialsError.malformedToken` with the invalid part.
    public static func decode(_ text: some StringProtocol) throws(CredentialsError) -> Self {
        try JSONWebToken(parsing: text).claims(as: Self.self)
    }

    /// Decodes a token's claims and verifies that the issuer they name signed them, and that this kind of key may issue
    /// them about this kind of subject. Whether to trust the issuer is up to the caller.
    /// - Throws: `CredentialsError.malformedToken`, `.malformedKey`, `.wrongIssuer` or `.badSignature`.
    public static func verify(_ text: some StringProtocol) throws(CredentialsError) -> Self {
        let token = try JSONWebToken(parsing: text)
        let claims = try token.claims(as: Self.self)
        let issuer = try NKey(claims.issuer ?? "")
        let subject = try NKey(claims.subject)
        guard Grant.issuers.contains(issuer.kind), Grant.subject == subject.kind else { throw .wrongIssuer }
        guard token.isSigned(by: issuer) else { throw .badSignature }
        return claims
    }

    /// Checks the token's time at `now`, in seconds since 1970; throws `.expired` or `.notYetValid`.
    public func checkTime(at now: Int64) throws(CredentialsError) {
        if let expires, expires > 0, expires <= now { throw .expired(expires) }
        if let notBefore, notBefore > now { throw .notYetValid(notBefore) }
    }

    /// Issues these claims as a token, with the signer as issuer and their hash as id.
    /// - Throws: `CredentialsError.wrongIssuer` if this kind of key may not issue them, `.signingFailed` if encoding or
    ///   signing fails.
    public func encode(signedBy signer: NKeyPair) throws(CredentialsError) -> String {
        guard Grant.issuers.contains(signer.publicKey.kind) else { throw .wrongIssuer }
        var claims = self
        claims.issuer = signer.publicKey.text
        claims.id = nil
        claims.id = try String(decoding: Base32.encode(SHA256.hash(data: claims.json())), as: UTF8.self)
        let header = Base64URL.encode(#"{"typ":"JWT","alg":"\#(JSONWebToken.algorithm)"}"#.utf8)
        let content = try "\(header).\(Base64URL.encode(claims.json()))"
        let signature = signer.sign(content.utf8)
        guard signature.count == 64 else { throw .signingFailed }
        return "\(content).\(Base64URL.encode(signature))"
    }

    /// The claims as JSON; equal claims give equal bytes.
    private func json() throws(CredentialsError) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return try encoder.encode(self) } catch { throw .signingFailed }
    }
}

extension Claims: Codable {
    private enum CodingKeys: String, CodingKey {
        case id = "jti"
        case issuedAt = "iat"
        case issuer = "iss"
        case name
        case subject = "sub"
        case audience = "aud"
        case expires = "exp"
        case notBefore = "nbf"
        case messageKey = "parley_message_key"
        case grant = "nats"
    }

    /// Decodes a token's claims. Times are clamped to some 146 million years, so that their differences, in
    /// milliseconds too, cannot overflow.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        func time(_ key: CodingKeys) throws -> Int64? {
            let limit = Int64.max / 2_000
            return try values.decodeIfPresent(Int64.self, forKey: key).map { min(max($0, -limit), limit) }
        }
        id = try values.decodeIfPresent(String.self, forKey: .id)
        issuedAt = try time(.issuedAt)
        issuer = try values.decodeIfPresent(String.self, forKey: .issuer)
        name = try values.decodeIfPresent(String.self, forKey: .name)
        subject = try values.decode(String.self, forKey: .subject)
        audience = try values.decodeIfPresent(String.self, forKey: .audience)
        expires = try time(.expires)
        notBefore = try time(.notBefore)
        messageKey = try values.decodeIfPresent(String.self, forKey: .messageKey)
        grant = try values.decode(Grant.self, forKey: .grant)
    }
}

extension Claims: CustomStringConvertible, CustomReflectable {
    /// The key that the claims are about, without the message key.
    public var description: String { "Claims(\(subject))" }
    /// A mirror without the message key.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "subject": subject, "name": name as Any, "issuer": issuer as Any, "issuedAt": issuedAt as Any,
                "expires": expires as Any, "grant": grant,
            ])
    }
}

/// The grant of one kind of NATS token: the `nats` part of its claims.
public protocol ClaimsGrant: Codable, Hashable, Sendable {
    /// The name of the kind on the wire.
    static var type: String { get }
    /// The kind of key that such claims are about.
    static var subject: NKey.Kind { get }
    /// The kinds of key that may issue such claims.
    static var issuers: Set<NKey.Kind> { get }
    /// The name of the kind in this grant.
    var type: String { get }
}
