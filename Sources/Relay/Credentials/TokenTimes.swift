import NATS

/// What a token says of its own time, in seconds since 1970; not verified, which is the server's to do.
public struct TokenTimes: Hashable, Sendable {
    /// When it was issued.
    public var issued: Int64?
    /// Its end; nil is without end.
    public var expires: Int64?
    /// Its begin.
    public var notBefore: Int64?

    /// Makes times; without arguments, they say nothing.
    public init(issued: Int64? = nil, expires: Int64? = nil, notBefore: Int64? = nil) {
        self.issued = issued
        self.expires = expires
        self.notBefore = notBefore
    }
}

extension RelayCredentials {
    /// What the token says of its own time; nil without one.
    public var times: TokenTimes? {
        claims.map { TokenTimes(issued: $0.issuedAt, expires: $0.expires, notBefore: $0.notBefore) }
    }

    /// The account that vouches for this user, if the credentials name it.
    public var account: String? { claims.flatMap { $0.grant.issuerAccount ?? $0.issuer } }

    /// The user's name as the token has it, whether or not it can be one; nil without a token.
    var statedName: String? { claims?.name }

    private var claims: UserClaims? { token.flatMap { try? UserClaims.decode($0) } }
}
