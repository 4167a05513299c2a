import NATS

/// Makes the tokens of users' accounts from their records and lays them where the server looks for accounts.
struct AccountSigner {
    /// What the tokens depend on in addition to the records; when it changes, all are signed anew.
    struct Form: Codable, Hashable {
        var mappings: UserPermissions.MappingStyle
        var limits: NetworkSettings.UserLimits
        /// What the streams of postboxes were made with; when it changes, all are brought in line.
        var postboxes: NetworkSettings.StreamBounds
        var maximumLetters: Int64
        /// Which imports there are: counted up with each change of them. Earlier versions did not say it.
        var imports: Int?

        init(_ settings: NetworkSettings, mappings: UserPermissions.MappingStyle) {
            self.mappings = mappings
            limits = settings.users
            postboxes = settings.postboxes
            maximumLetters = settings.maximumLetters
            imports = UserPermissions.importsVersion
        }
    }

    let directory: NetworkDirectory
    let identity: NetworkIdentity
    let form: Form
    private let root: NKeyPair
    private let block: UserStanding.Decision?

    /// Prepares for signing with the settings of this moment.
    /// - Parameters:
    ///   - root: the operator's key; nil for the one that the folder names.
    ///   - mappings: the form of the imports; nil for the one that was used last.
    init(
        _ directory: NetworkDirectory, _ identity: NetworkIdentity, root: NKeyPair? = nil,
        mappings: UserPermissions.MappingStyle? = nil
    ) throws(NetworkError) {
        let mappings = mappings ?? Self.form(in: directory)?.mappings ?? .wildcards
        try self.init(directory, identity, Form(try directory.settings(), mappings: mappings), root)
    }

    /// What the tokens were made with; nil where that is not known, so that all are made anew.
    private static func form(in directory: NetworkDirectory) -> Form? {
        (try? PrivateFile.readJSON(Form.self, from: directory.accountsFile)) ?? nil
    }

    private init(
        _ directory: NetworkDirectory, _ identity: NetworkIdentity, _ form: Form, _ root: NKeyPair? = nil
    ) throws(NetworkError) {
        self.directory = directory
        self.identity = identity
        self.form = form
        self.root = if let root { root } else { try directory.operatorPair() }
        block = directory.block()
    }

    /// Signs a user's account as the record has it, and keeps token and record.
    /// - Returns: the token.
    @discardableResult
    func install(_ record: inout UserRecord, of name: UserName) throws(NetworkError) -> String {
        let permissions = try permissions(record, name)
        let token = try encoded(claims(record, permissions))
        record.topics = permissions.topics.map(\.text)
        record.signed = max(record.signed, NetworkAdministrator.now)
        try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: record.account))
        try PrivateFile.writeJSON(record, to: directory.recordPath(of: name))
        try directory.markUnpublished(name)
        return token
    }

    /// The token of a user's account, which is kept nowhere.
    /// - Parameter connections: how many connections it allows; nil for as many as it should.
    func token(_ record: UserRecord, of name: UserName, connections: Int64? = nil) throws(NetworkError) -> String {
        var claims = try claims(record, permissions(record, name))
        if let connections { claims.grant.limits.conn = connections }
        return try encoded(claims)
    }

    private func permissions(_ record: UserRecord, _ name: UserName) throws(NetworkError) -> UserPermissions {
        try UserPermissions(
            user: name, topics: record.topics, namespace: identity.names.namespace, hash: identity.names.hash)
    }

    private func claims(
        _ record: UserRecord, _ permissions: UserPermissions
    ) throws(NetworkError) -> AccountClaims {
        try record.claims(
            of: permissions, identity, limits: form.limits, mappings: form.mappings, block: block,
            at: NetworkAdministrator.now)
    }

    /// Signs an account's claims.
    func encoded(_ claims: AccountClaims) throws(NetworkError) -> String {
        do throws(CredentialsError) { return try claims.encode(signedBy: root) } catch { throw .credentials(error) }
    }

    /// Signs all users' accounts anew where they were made for another kind of server or with other limits. The caller
    /// holds the identity's lock.
    static func bringUpToDate(
        _ directory: NetworkDirectory, _ identity: NetworkIdentity, mappings: UserPermissions.MappingStyle
    ) throws(NetworkError) {
        let form = Form(try directory.settings(), mappings: mappings)
        let known = Self.form(in: directory)
        guard known != form else { return }
        if known?.postboxes != form.postboxes || known?.maximumLetters != form.maximumLetters {
            try PrivateFile.write([], to: directory.unalignedMarker)
        }
        let signer = try AccountSigner(directory, identity, form)
        // First: who makes a user from here on makes it in this form.
        try PrivateFile.writeJSON(form, to: directory.accountsFile)
        try signer.installAll()
    }

    /// Signs all users' accounts anew.
    func installAll() throws(NetworkError) {
        for name in try directory.userNames(suffix: ".json") {
            guard var record = try directory.record(of: name) else { continue }
            try install(&record, of: name)
        }
    }

    /// The claims of a user's account, as the record has them.
    func claims(_ record: UserRecord, of name: UserName) throws(NetworkError) -> AccountClaims {
        try claims(record, permissions(record, name))
    }

    /// The claims of the network's own account.
    /// - Parameter acceptsMessages: whether anything more is stored.
    func networkClaims(acceptsMessages: Bool) -> AccountClaims {
        var claims = NetworkAccount.claims(
            identity.account, names: identity.names, signingKey: identity.signingKey.publicKey,
            acceptsMessages: acceptsMessages)
        claims.issuedAt = NetworkAdministrator.now
        return claims
    }

    /// Signs the network's own account.
    /// - Parameter acceptsMessages: whether anything more is stored.
    func networkToken(acceptsMessages: Bool) throws(NetworkError) -> String {
        let claims = networkClaims(acceptsMessages: acceptsMessages)
        do throws(CredentialsError) { return try claims.encode(signedBy: root) } catch { throw .credentials(error) }
    }
}
