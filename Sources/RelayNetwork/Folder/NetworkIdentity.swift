import NATS
import Relay

/// The keys and tokens that define a network: the user of the system account, the network's account, and the key that
/// signs for it and for all users' accounts. Made once per folder.
struct NetworkIdentity: Sendable {
    struct Names: Codable, Hashable, Sendable {
        var namespace: String
        var hash: String
    }

    let names: Names
    let account: NKey
    /// Signs the tokens of users, in the network's account and in every user's account.
    let signingKey: NKeyPair
    /// The user of the system account, which queries the servers; nil if none was given.
    var administrator: Credentials?

    var systemAccount: NKey? {
        guard let claims = try? administrator?.claims() else { return nil }
        return (claims.grant.issuerAccount ?? claims.issuer).flatMap { try? NKey($0) }
    }

    /// Reads the network's identity, or makes one if there is none. Two processes that do so at once agree.
    static func open(in directory: NetworkDirectory) throws(NetworkError) -> NetworkIdentity {
        try directory.prepare()
        let lock = try FileLock.wait(directory.identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        let files = IdentityFiles(folder: directory.keys)
        // An unreadable file must not count as a missing one, whose keys would be made again.
        if try PrivateFile.read(files.names) != nil { return try files.read() }
        // On someone else's servers, keys made here would belong to no network.
        guard try directory.cluster() == nil else {
            throw .invalidProvision("Provisioning this network was not completed: run parley network provision again.")
        }
        return try files.make(Names(namespace: "local", hash: randomHash()), signedBy: files.makeOperator())
    }

    static func randomHash() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    var issuer: UserTokenIssuer { UserTokenIssuer(account: account, signingKey: signingKey) }
}

/// Issues users' tokens, in the network's own account and in theirs: the only keys that its services need.
struct UserTokenIssuer: Sendable {
    let account: NKey
    let signingKey: NKeyPair

    /// Issues credentials for a key of an account, by default the network's own.
    func issue(
        to pair: NKeyPair = .generate(.user), name: String, account: NKey? = nil,
        permissions: Permissions = Permissions(), expires: Int64? = nil, isBearer: Bool = false
    ) throws(NetworkError) -> Credentials {
        let token = try token(
            for: pair.publicKey, name: name, account: account ?? self.account, permissions: permissions,
            expires: expires, isBearer: isBearer)
        return try translated { try Credentials(jwt: token, keyPair: pair) }
    }

    func token(
        for key: NKey, name: String, account: NKey, permissions: Permissions = Permissions(), expires: Int64?,
        isBearer: Bool = false
    ) throws(NetworkError) -> String {
        var grant = UserGrant(permissions: permissions, issuerAccount: account)
        if isBearer { grant.template.bearerToken = true }
        var claims = UserClaims(subject: key, name: name, expires: expires, grant: grant)
        // All keys of a user's account share one message key.
        if account != self.account { claims.messageKey = MessageKey(of: name, derivedFrom: signingKey).text }
        return try translated { try claims.encode(signedBy: signingKey) }
    }
}

/// The name of a user of the private network: 1 to 64 of the characters `A-Z a-z 0-9 + = _ -` (RongCloud's user ids),
/// beginning with a letter, a digit or `_`, so that no command takes it for a flag or a setting.
///
/// Such a name is one subject token, one file name and part of a stream's name.
public struct UserName: Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Checks a name.
    /// - Throws: `NetworkError.invalidUserName`.
    public init(_ text: String) throws(NetworkError) {
        guard (1...64).contains(text.utf8.count), text.isWord(besides: "_-+="),
            let first = text.utf8.first, !"+=-".utf8.contains(first)
        else { throw .invalidUserName(text) }
        self.text = text
    }

    /// The name as a key of a key-value bucket, where `+` is not allowed (ADR-8): `=` and `+` become `=3D` and `=2B`.
    public var key: String { SessionClaim.key(for: text) }

    /// The name of the stream that holds the user's postboxes.
    public var postboxStream: String { NetworkNames.postboxStream(of: text) }
    /// The name.
    public var description: String { text }
}

extension StringProtocol {
    /// Whether a text consists of ASCII letters, digits and these characters.
    func isWord(besides others: StaticString = "_-") -> Bool {
        let others = "\(others)".utf8
        return utf8.allSatisfy { byte in
            let scalar = Unicode.Scalar(byte)
            return "a"..."z" ~= scalar || "A"..."Z" ~= scalar || "0"..."9" ~= scalar || others.contains(byte)
        }
    }
}

struct IdentityFiles {
    let folder: String

    /// Written last: if it exists, so does everything else.
    var names: String { folder + "/names.json" }
    var operatorSeed: String { folder + "/operator.nk" }
    private var systemSeed: String { folder + "/system.nk" }
    private var accountSeed: String { folder + "/account.nk" }
    private var signingSeed: String { folder + "/signing.nk" }
    private var operatorToken: String { folder + "/operator.jwt" }
    private var systemToken: String { folder + "/system.jwt" }
    private var accountToken: String { folder + "/account.jwt" }
    var administrator: String { folder + "/administrator.creds" }

    /// Makes an operator, the system account and one user of it, whose credentials are written last.
    func makeOperator() throws(NetworkError) -> NKeyPair {
        let root = try kept(.generate(.operator), in: operatorSeed)
        let system = try kept(.generate(.account), in: systemSeed)
        let asker = NKeyPair.generate(.user)
        try translated {
            let owner = OperatorClaims(
                subject: root.publicKey, name: "parley", grant: .init(systemAccount: system.publicKey))
            try write(owner.encode(signedBy: root), to: operatorToken)
            let account = AccountClaims(
                subject: system.publicKey, name: "system", grant: .init(limits: .withoutJetStream))
            try write(account.encode(signedBy: root), to: systemToken)
            let user = UserClaims(subject: asker.publicKey, name: "~administrator", grant: UserGrant())
            try keep(administrator: Credentials(jwt: user.encode(signedBy: system), keyPair: asker))
        }
        return root
    }

    /// Makes a network's identity, signed by its operator's key or a signing key. An interrupted attempt starts over.
    func make(_ newNames: NetworkIdentity.Names, signedBy root: NKeyPair) throws(NetworkError) -> NetworkIdentity {
        let account = try kept(.generate(.account), in: accountSeed)
        let signing = try kept(.generate(.account), in: signingSeed)
        let claims = NetworkAccount.claims(account.publicKey, names: newNames, signingKey: signing.publicKey)
        try translated { try write(claims.encode(signedBy: root), to: accountToken) }
        try PrivateFile.writeJSON(newNames, to: names)
        return try read()
    }

    func keep(administrator credentials: Credentials) throws(NetworkError) {
        try write(credentials.fileText(), to: administrator)
    }

    func read() throws(NetworkError) -> NetworkIdentity {
        guard let names = try PrivateFile.readJSON(NetworkIdentity.Names.self, from: names) else {
            throw .damaged(path: names, reason: "it is missing")
        }
        return try parsed(folder) {
            NetworkIdentity(
                names: names, account: try NKey(AccountClaims.verify(token(accountToken)).subject),
                signingKey: try NKeyPair(seed: token(signingSeed)),
                administrator: PrivateFile.exists(administrator) ? try Credentials.load(path: administrator) : nil)
        }
    }

    /// The operator's token, and the system account's with its key, for the configuration of a server that is run here.
    func serverTokens() throws(NetworkError) -> (operator: String, system: String, systemAccount: NKey) {
        let system = try token(systemToken)
        let account = try parsed(systemToken) { try NKey(AccountClaims.verify(system).subject) }
        return (try token(operatorToken), system, account)
    }

    func operatorPair() throws(NetworkError) -> NKeyPair {
        try parsed(operatorSeed) { try NKeyPair(seed: token(operatorSeed)) }
    }

    private func parsed<R>(_ path: String, _ body: () throws -> R) throws(NetworkError) -> R {
        do { return try body() } catch let error as NetworkError { throw error } catch {
            throw .damaged(path: path, reason: "\(error)")
        }
    }

    private func kept(_ pair: NKeyPair, in path: String) throws(NetworkError) -> NKeyPair {
        try pair.withSeedText { seed throws(NetworkError) in try write(seed, to: path) }
        return pair
    }

    private func token(_ path: String) throws(NetworkError) -> String {
        guard let text = try PrivateFile.readText(path) else { throw .damaged(path: path, reason: "it is missing") }
        return text
    }

    private func write(_ text: String, to path: String) throws(NetworkError) {
        try PrivateFile.write(text.utf8, to: path)
    }
}
