import NATS

/// The files of a network's identity, in its folder of keys.
struct IdentityFiles {
    /// What the configuration of a server of the network's own begins with: the operator's token, and the system
    /// account's with its key.
    struct ServerTokens {
        let `operator`: String
        let system: String
        let systemAccount: NKey
    }

    let folder: String

    /// Written last: where it is, everything is.
    var names: String { folder + "/names.json" }
    var operatorSeed: String { folder + "/operator.nk" }
    private var systemSeed: String { folder + "/system.nk" }
    private var accountSeed: String { folder + "/account.nk" }
    private var signingSeed: String { folder + "/signing.nk" }
    private var operatorToken: String { folder + "/operator.jwt" }
    private var systemToken: String { folder + "/system.jwt" }
    private var accountToken: String { folder + "/account.jwt" }
    var administrator: String { folder + "/administrator.creds" }

    /// Makes a new identity and writes it. Should this be interrupted, the next attempt begins anew.
    func make(_ newNames: NetworkIdentity.Names) throws(NetworkError) -> NetworkIdentity {
        try make(newNames, signedBy: makeOperator())
    }

    /// Makes an operator, the system account and a user of that, whose credentials are written last.
    /// - Returns: the operator's key.
    func makeOperator() throws(NetworkError) -> NKeyPair {
        let root = try newPair(.operator, keptIn: operatorSeed)
        let system = try newPair(.account, keptIn: systemSeed)
        let asker = NKeyPair.generate(.user)
        let (operatorClaims, systemClaims, claims) = (
            OperatorClaims(
                subject: root.publicKey, name: "parley", grant: OperatorGrant(systemAccount: system.publicKey)),
            AccountClaims(subject: system.publicKey, name: "system", grant: AccountGrant(limits: .withoutJetStream)),
            UserClaims(subject: asker.publicKey, name: "~administrator", grant: UserGrant())
        )
        try translated {
            try write(operatorClaims.encode(signedBy: root), to: operatorToken)
            try write(systemClaims.encode(signedBy: root), to: systemToken)
            try keep(administrator: Credentials(jwt: claims.encode(signedBy: system), keyPair: asker))
        }
        return root
    }

    /// Makes the identity of a network on servers of another operator: its account and the key that signs for it.
    /// Should this be interrupted, the next attempt begins anew.
    /// - Parameter root: the operator's key, or a signing key of the operator's.
    func make(_ newNames: NetworkIdentity.Names, signedBy root: NKeyPair) throws(NetworkError) -> NetworkIdentity {
        let account = try newPair(.account, keptIn: accountSeed)
        let signing = try newPair(.account, keptIn: signingSeed)
        let claims = NetworkAccount.claims(account.publicKey, names: newNames, signingKey: signing.publicKey)
        try translated { try write(claims.encode(signedBy: root), to: accountToken) }
        try PrivateFile.writeJSON(newNames, to: names)
        return try read(newNames)
    }

    /// Keeps the credentials of a user of the system account.
    func keep(administrator credentials: Credentials) throws(NetworkError) {
        try write(credentials.fileText(), to: administrator)
    }

    /// Reads an identity that was made.
    /// - Throws: `NetworkError.damaged` where there is none.
    func read() throws(NetworkError) -> NetworkIdentity {
        guard let names = try PrivateFile.readJSON(NetworkIdentity.Names.self, from: names) else {
            throw .damaged(path: names, reason: "it is missing")
        }
        return try read(names)
    }

    /// Reads an identity that was made.
    func read(_ names: NetworkIdentity.Names) throws(NetworkError) -> NetworkIdentity {
        let accountToken = try token(accountToken)
        return try parsed(folder) {
            NetworkIdentity(
                names: names, account: try NKey(AccountClaims.verify(accountToken).subject),
                signingKey: try NKeyPair(seed: token(signingSeed)), accountToken: accountToken,
                administrator: PrivateFile.exists(administrator) ? try Credentials.load(path: administrator) : nil)
        }
    }

    /// The tokens that a server of the network's own is configured with.
    func serverTokens() throws(NetworkError) -> ServerTokens {
        let (root, system) = (try token(operatorToken), try token(systemToken))
        return try parsed(systemToken) {
            ServerTokens(
                operator: root, system: system, systemAccount: try NKey(AccountClaims.verify(system).subject))
        }
    }

    /// The key pair of the operator, which signs the accounts' tokens.
    func operatorPair() throws(NetworkError) -> NKeyPair {
        try parsed(operatorSeed) { try NKeyPair(seed: token(operatorSeed)) }
    }

    /// Reads what is in a file, which is damaged where that cannot be.
    private func parsed<R>(_ path: String, _ body: () throws -> R) throws(NetworkError) -> R {
        do { return try body() } catch let error as NetworkError { throw error } catch {
            throw .damaged(path: path, reason: "\(error)")
        }
    }

    private func newPair(_ kind: NKey.Kind, keptIn path: String) throws(NetworkError) -> NKeyPair {
        let pair = NKeyPair.generate(kind)
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
