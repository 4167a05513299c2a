import NATS

/// The keys and tokens that make a private network what it is: operator, system account, the network's account, and the
/// key that signs for it and for the accounts of all users. Made once for each folder.
struct NetworkIdentity: Sendable {
    /// The names that the network's subjects, stream and bucket are made of.
    struct Names: Codable, Hashable, Sendable {
        /// Names the stream `<namespace>_stream` and the bucket.
        var namespace: String
        /// The first token of every topic's subject.
        var hash: String
        /// 2 since every user is an account; nil before.
        var version: Int? = Self.currentVersion

        static let currentVersion = 2
    }

    let names: Names
    let systemAccount: NKey
    /// The network's account.
    let account: NKey
    /// Issues the users of the network's account and of every user's account.
    let signingKey: NKeyPair
    let operatorToken: String
    let systemToken: String
    let accountToken: String
    /// The user of the system account, which asks the server about itself.
    let administrator: Credentials

    /// Reads the network's identity, or makes it when there is none. Two processes that do so at once agree. A network
    /// of the version before is carried over first.
    /// - Parameter isHost: whether the caller holds the host's lock; others carry nothing over while a host runs.
    static func open(in directory: NetworkDirectory, isHost: Bool = false) throws(NetworkError) -> NetworkIdentity {
        try directory.prepare()
        return try withExtendedLifetime(FileLock.wait(directory.identityLock, .exclusive)) { () throws(NetworkError) in
            let files = IdentityFiles(folder: directory.keys)
            guard let names = try PrivateFile.readJSON(Names.self, from: files.names) else {
                return try files.make(Names(namespace: "local", hash: randomHash()))
            }
            if names.version == Names.currentVersion { return try files.read(names) }
            if !isHost, try directory.isHosted() { throw .olderNetworkRuns }
            return try SharedAccountNetwork(directory: directory, names: names).carryOver()
        }
    }

    /// Sixteen hexadecimal digits.
    private static func randomHash() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Issues credentials for a key of an account; the network's own unless said otherwise.
    func issue(
        to pair: NKeyPair = .generate(.user), name: String, account: NKey? = nil,
        permissions: Permissions = Permissions(), issuedAt: Int64? = nil, expires: Int64? = nil
    ) throws(NetworkError) -> Credentials {
        do {
            let claims = UserClaims(
                subject: pair.publicKey, name: name, issuedAt: issuedAt, expires: expires,
                grant: UserGrant(permissions: permissions, issuerAccount: account ?? self.account))
            return try Credentials(jwt: claims.encode(signedBy: signingKey), keyPair: pair)
        } catch {
            throw .credentials(error)
        }
    }
}
