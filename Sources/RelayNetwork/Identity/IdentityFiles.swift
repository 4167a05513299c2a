import NATS

/// The files of a network's identity, in its folder of keys.
struct IdentityFiles {
    let folder: String

    /// Written last: where it is, everything is.
    var names: String { folder + "/names.json" }
    private var operatorSeed: String { folder + "/operator.nk" }
    private var systemSeed: String { folder + "/system.nk" }
    private var accountSeed: String { folder + "/account.nk" }
    private var signingSeed: String { folder + "/signing.nk" }
    private var operatorToken: String { folder + "/operator.jwt" }
    private var systemToken: String { folder + "/system.jwt" }
    private var accountToken: String { folder + "/account.jwt" }
    private var administrator: String { folder + "/administrator.creds" }

    /// Makes a new identity and writes it. Should this be interrupted, the next attempt begins anew.
    func make(_ newNames: NetworkIdentity.Names) throws(NetworkError) -> NetworkIdentity {
        let root = NKeyPair.generate(.operator)
        let system = NKeyPair.generate(.account)
        let account = NKeyPair.generate(.account)
        let signing = NKeyPair.generate(.account)
        for (pair, path) in [
            (root, operatorSeed), (system, systemSeed), (account, accountSeed), (signing, signingSeed),
        ] {
            try pair.withSeedText { seed throws(NetworkError) in try PrivateFile.write(seed.utf8, to: path) }
        }
        do {
            let operatorClaims = OperatorClaims(
                subject: root.publicKey, name: "parley", grant: OperatorGrant(systemAccount: system.publicKey))
            try write(operatorClaims.encode(signedBy: root), to: operatorToken)
            let systemClaims = AccountClaims(
                subject: system.publicKey, name: "system", grant: AccountGrant(limits: .withoutJetStream))
            try write(systemClaims.encode(signedBy: root), to: systemToken)
            let accountClaims = NetworkAccount.claims(
                account.publicKey, names: newNames, signingKey: signing.publicKey)
            try write(accountClaims.encode(signedBy: root), to: accountToken)
        } catch let error as CredentialsError {
            throw .credentials(error)
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: folder, reason: "\(error)")
        }
        let pair = NKeyPair.generate(.user)
        let asker: Credentials
        do throws(CredentialsError) {
            let claims = UserClaims(subject: pair.publicKey, name: "~administrator", grant: UserGrant())
            asker = try Credentials(jwt: claims.encode(signedBy: system), keyPair: pair)
        } catch {
            throw .credentials(error)
        }
        try PrivateFile.write(asker.fileText().utf8, to: administrator)
        try PrivateFile.writeJSON(newNames, to: names)
        return try read(newNames)
    }

    /// Reads an identity that was made.
    func read(_ names: NetworkIdentity.Names) throws(NetworkError) -> NetworkIdentity {
        let accountToken = try token(accountToken)
        let systemToken = try token(systemToken)
        do {
            return NetworkIdentity(
                names: names,
                systemAccount: try NKey(AccountClaims.verify(systemToken).subject),
                account: try NKey(AccountClaims.verify(accountToken).subject),
                signingKey: try NKeyPair(seed: token(signingSeed)),
                operatorToken: try token(operatorToken), systemToken: systemToken, accountToken: accountToken,
                administrator: try Credentials.load(path: administrator))
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: folder, reason: "\(error)")
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
