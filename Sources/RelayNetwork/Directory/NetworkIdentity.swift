import NATS

/// The keys and tokens that make a private network what it is: operator, system account, application account with its
/// signing key, and the users that serve it. Made once for each folder.
struct NetworkIdentity: Sendable {
    /// The names that the network's subjects, stream and bucket are made of.
    struct Names: Codable, Hashable, Sendable {
        /// Names the stream `<namespace>_stream` and the bucket.
        var namespace: String
        /// The first token of every topic's subject.
        var hash: String
    }

    /// What the service of the network is called; not a possible user's name.
    static let serviceName = "~service"

    let names: Names
    let systemAccount: NKey
    let account: NKey
    let signingKey: NKeyPair
    let operatorToken: String
    let systemToken: String
    let accountToken: String
    /// The user that provisions the network and answers its services.
    let service: Credentials
    /// The user of the system account, which asks the server about itself.
    let administrator: Credentials

    /// Reads the network's identity, or makes it when there is none. Two processes that do so at once agree.
    static func open(in directory: NetworkDirectory) throws(NetworkError) -> NetworkIdentity {
        try directory.prepare()
        return try withExtendedLifetime(FileLock.wait(directory.identityLock, .exclusive)) { () throws(NetworkError) in
            let files = IdentityFiles(folder: directory.keys)
            if let names = try PrivateFile.readJSON(Names.self, from: files.names) {
                return try files.read(names)
            }
            return try files.make(Names(namespace: "local", hash: randomHash()))
        }
    }

    /// Sixteen hexadecimal digits.
    private static func randomHash() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Issues credentials for a key of the application account.
    func issue(
        to pair: NKeyPair, name: String, permissions: Permissions, expires: Int64?
    ) throws(NetworkError) -> Credentials {
        try Self.issue(
            to: pair, name: name, account: account, signer: signingKey, permissions: permissions, expires: expires)
    }

    static func issue(
        to pair: NKeyPair, name: String, account: NKey, signer: NKeyPair, permissions: Permissions,
        expires: Int64? = nil
    ) throws(NetworkError) -> Credentials {
        do {
            let issuerAccount = signer.publicKey == account ? nil : account
            let claims = UserClaims(
                subject: pair.publicKey, name: name, expires: expires,
                grant: UserGrant(permissions: permissions, issuerAccount: issuerAccount))
            return try Credentials(jwt: claims.encode(signedBy: signer), keyPair: pair)
        } catch {
            throw .credentials(error)
        }
    }

    /// Whether a token is a valid one of a user of the application account now. Whether it was revoked is not looked
    /// at: the server lets nobody in whose token was.
    /// - Returns: the claims; nil for any other text.
    func verifiedUser(_ token: String, at now: Int64) -> UserClaims? {
        guard let claims = try? UserClaims.verify(token), (try? claims.checkTime(at: now)) != nil else { return nil }
        let isOwn =
            claims.issuer == account.text
            || claims.grant.issuerAccount == account.text && claims.issuer == signingKey.publicKey.text
        return isOwn ? claims : nil
    }
}
