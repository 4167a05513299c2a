import NATS

/// Issues the tokens of users: those of the network's own account, and those of every user's account. It is all of a
/// network's keys that its services need.
struct UserTokenIssuer: Sendable {
    /// The network's account.
    let account: NKey
    /// Signs for it and for the accounts of all users.
    let signingKey: NKeyPair

    /// Issues credentials for a key of an account; the network's own unless said otherwise.
    func issue(
        to pair: NKeyPair = .generate(.user), name: String, account: NKey? = nil,
        permissions: Permissions = Permissions(), issuedAt: Int64? = nil, expires: Int64? = nil, isBearer: Bool = false
    ) throws(NetworkError) -> Credentials {
        let token = try token(
            for: pair.publicKey, name: name, account: account ?? self.account, permissions: permissions,
            issuedAt: issuedAt, expires: expires, isBearer: isBearer)
        return try translated { try Credentials(jwt: token, keyPair: pair) }
    }

    /// Issues the token of a user whose private key is elsewhere.
    /// - Parameter isBearer: whether the token is enough, without a signature by the key.
    func token(
        for key: NKey, name: String, account: NKey, permissions: Permissions = Permissions(), issuedAt: Int64? = nil,
        expires: Int64? = nil, isBearer: Bool = false
    ) throws(NetworkError) -> String {
        var grant = UserGrant(permissions: permissions, issuerAccount: account)
        if isBearer { grant.template.bearerToken = true }
        var claims = UserClaims(subject: key, name: name, issuedAt: issuedAt, expires: expires, grant: grant)
        // Of a user's account, all keys have the same one.
        if account != self.account { claims.messageKey = MessageKey(of: name, derivedFrom: signingKey).text }
        let signed = claims
        return try translated { try signed.encode(signedBy: signingKey) }
    }
}
