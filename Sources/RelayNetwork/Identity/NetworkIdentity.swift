import NATS

/// The keys and tokens that make a network what it is: the user of the system account, the network's account, and the
/// key that signs for it and for the accounts of all users. Made once for each folder.
struct NetworkIdentity: Sendable {
    /// The names that the network's subjects, stream and bucket are made of.
    struct Names: Codable, Hashable, Sendable {
        /// Names the stream `<namespace>_stream` and the bucket.
        var namespace: String
        /// The first token of every topic's subject.
        var hash: String
    }

    let names: Names
    /// The network's account.
    let account: NKey
    /// Issues the users of the network's account and of every user's account.
    let signingKey: NKeyPair
    let accountToken: String
    /// The user of the system account, which asks the servers about themselves; nil where somebody else administers
    /// them and has given none.
    var administrator: Credentials?

    /// The system account, as far as it is known.
    var systemAccount: NKey? {
        guard let claims = try? administrator?.claims() else { return nil }
        return (claims.grant.issuerAccount ?? claims.issuer).flatMap { try? NKey($0) }
    }

    /// Reads the network's identity, or makes it when there is none. Two processes that do so at once agree.
    static func open(in directory: NetworkDirectory) throws(NetworkError) -> NetworkIdentity {
        try directory.prepare()
        let lock = try FileLock.wait(directory.identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        let files = IdentityFiles(folder: directory.keys)
        if let names = try PrivateFile.readJSON(Names.self, from: files.names) { return try files.read(names) }
        // Keys of its own would be no network's on servers that others run.
        guard try directory.cluster() == nil else {
            throw .invalidProvision("This network was not provisioned to its end: run parley network provision again.")
        }
        return try files.make(Names(namespace: "local", hash: randomHash()))
    }

    /// Sixteen hexadecimal digits.
    static func randomHash() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// What issues the tokens of users.
    var issuer: UserTokenIssuer { UserTokenIssuer(account: account, signingKey: signingKey) }
}

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
