import NATS

/// The files of a network's identity, in its folder of keys.
struct IdentityFiles {
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
        let root = NKeyPair.generate(.operator)
        let system = NKeyPair.generate(.account)
        for (pair, path) in [(root, operatorSeed), (system, systemSeed)] {
            try pair.withSeedText { seed throws(NetworkError) in try PrivateFile.write(seed.utf8, to: path) }
        }
        let pair = NKeyPair.generate(.user)
        let tokens: (operator: String, system: String)
        let asker: Credentials
        do throws(CredentialsError) {
            let operatorClaims = OperatorClaims(
                subject: root.publicKey, name: "parley", grant: OperatorGrant(systemAccount: system.publicKey))
            let systemClaims = AccountClaims(
                subject: system.publicKey, name: "system", grant: AccountGrant(limits: .withoutJetStream))
            tokens = (try operatorClaims.encode(signedBy: root), try systemClaims.encode(signedBy: root))
            let claims = UserClaims(subject: pair.publicKey, name: "~administrator", grant: UserGrant())
            asker = try Credentials(jwt: claims.encode(signedBy: system), keyPair: pair)
        } catch {
            throw .credentials(error)
        }
        try write(tokens.operator, to: operatorToken)
        try write(tokens.system, to: systemToken)
        try keep(administrator: asker)
        return root
    }

    /// Makes the identity of a network on servers of another operator: its account and the key that signs for it.
    /// Should this be interrupted, the next attempt begins anew.
    /// - Parameter root: the operator's key, or a signing key of the operator's.
    func make(_ newNames: NetworkIdentity.Names, signedBy root: NKeyPair) throws(NetworkError) -> NetworkIdentity {
        let account = NKeyPair.generate(.account)
        let signing = NKeyPair.generate(.account)
        for (pair, path) in [(account, accountSeed), (signing, signingSeed)] {
            try pair.withSeedText { seed throws(NetworkError) in try PrivateFile.write(seed.utf8, to: path) }
        }
        let claims = NetworkAccount.claims(account.publicKey, names: newNames, signingKey: signing.publicKey)
        let token: String
        do throws(CredentialsError) { token = try claims.encode(signedBy: root) } catch { throw .credentials(error) }
        try write(token, to: accountToken)
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
        do {
            return NetworkIdentity(
                names: names, account: try NKey(AccountClaims.verify(accountToken).subject),
                signingKey: try NKeyPair(seed: token(signingSeed)), accountToken: accountToken,
                administrator: PrivateFile.exists(administrator) ? try Credentials.load(path: administrator) : nil)
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: folder, reason: "\(error)")
        }
    }

    /// The tokens that the configuration of a server of the network's own begins with: the operator's, and the system
    /// account's with its key.
    func serverTokens() throws(NetworkError) -> (operator: String, system: String, systemAccount: NKey) {
        let (root, system) = (try token(operatorToken), try token(systemToken))
        do throws(CredentialsError) {
            return (root, system, try NKey(AccountClaims.verify(system).subject))
        } catch {
            throw .damaged(path: systemToken, reason: "\(error)")
        }
    }

    /// The key pair of the operator, which signs the accounts' tokens.
    func operatorPair() throws(NetworkError) -> NKeyPair {
        do {
            return try NKeyPair(seed: token(operatorSeed))
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: operatorSeed, reason: "\(error)")
        }
    }

    /// Gives the network's account, whose key and data stay, another signing key and what it exports now.
    func renewAccount(_ names: NetworkIdentity.Names) throws(NetworkError) {
        let signing = NKeyPair.generate(.account)
        let root = try operatorPair()
        let token: String
        do {
            let account = try NKey(AccountClaims.verify(self.token(accountToken)).subject)
            let claims = NetworkAccount.claims(account, names: names, signingKey: signing.publicKey)
            token = try claims.encode(signedBy: root)
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: accountToken, reason: "\(error)")
        }
        try signing.withSeedText { seed throws(NetworkError) in try PrivateFile.write(seed.utf8, to: signingSeed) }
        try write(token, to: accountToken)
    }

    private func token(_ path: String) throws(NetworkError) -> String {
        guard let bytes = try PrivateFile.read(path) else { throw .damaged(path: path, reason: "it is missing") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(_ text: String, to path: String) throws(NetworkError) {
        try PrivateFile.write(text.utf8, to: path)
    }
}
