import NATS
import Relay

/// Makes the tokens of users' accounts from their records and lays them where the server looks for accounts.
struct AccountSigner {
    /// What the tokens depend on in addition to the records; when it changes, all are signed anew.
    struct Form: Codable, Hashable {
        var mappings: UserPermissions.MappingStyle
        var limits: NetworkSettings.UserLimits
        /// What the streams of postboxes were made with; when it changes, all are brought in line.
        var postboxes: NetworkSettings.StreamBounds
        var maximumLetters: Int64
        /// Which imports there are: counted up with each change of them.
        var imports: Int

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
        self.directory = directory
        self.identity = identity
        form = Form(
            try directory.settings(), mappings: mappings ?? Self.form(in: directory)?.mappings ?? .wildcards)
        self.root = if let root { root } else { try directory.operatorPair() }
        block = directory.block()
    }

    /// What the tokens were made with; nil where that is not known, so that all are made anew.
    private static func form(in directory: NetworkDirectory) -> Form? {
        (try? PrivateFile.readJSON(Form.self, from: directory.accountsFile)) ?? nil
    }

    /// Signs a user's accounts as the record has them, and keeps tokens and record.
    func install(_ record: inout UserRecord, of name: UserName) throws(NetworkError) {
        record.rights = try permissions(record.rights, name).rights
        // Those whose last key ended so long ago that it is forgotten.
        let unused = record.narrowAccounts.filter { narrow in !record.keys.contains { $0.account == narrow.account } }
        record.narrowAccounts.removeAll(where: unused.contains)
        let tokens = try tokens(record, of: name)
        record.signed = max(record.signed, NetworkAdministrator.now)
        for (account, token) in zip(record.accounts, tokens) {
            try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: account))
        }
        for account in unused { PrivateFile.remove(directory.tokenPath(ofAccount: account.account)) }
        try PrivateFile.writeJSON(record, to: directory.recordPath(of: name))
        try directory.markUnpublished(name)
    }

    /// The tokens of a user's accounts, the user's own first. They are kept nowhere.
    /// - Parameter connections: how many connections each allows; nil for as many as it should.
    func tokens(_ record: UserRecord, of name: UserName, connections: Int64? = nil) throws(NetworkError) -> [String] {
        try claims(record, of: name).map { claims throws(NetworkError) in
            var claims = claims
            if let connections { claims.grant.limits.conn = connections }
            return try encoded(claims)
        }
    }

    /// The permissions of a user with these rights.
    func permissions(_ rights: AccessRights, _ name: UserName) throws(NetworkError) -> UserPermissions {
        try UserPermissions(
            user: name, rights: rights, namespace: identity.names.namespace, hash: identity.names.hash)
    }

    /// Signs an account's claims.
    func encoded(_ claims: AccountClaims) throws(NetworkError) -> String {
        try translated { try claims.encode(signedBy: root) }
    }

    /// Signs all users' accounts anew where they were made for another kind of server or with other limits. The caller
    /// holds the identity's lock.
    static func bringUpToDate(
        _ directory: NetworkDirectory, _ identity: NetworkIdentity, mappings: UserPermissions.MappingStyle
    ) throws(NetworkError) {
        let signer = try AccountSigner(directory, identity, mappings: mappings)
        let (form, known) = (signer.form, Self.form(in: directory))
        guard known != form else { return }
        if known?.postboxes != form.postboxes || known?.maximumLetters != form.maximumLetters {
            try PrivateFile.write([], to: directory.unalignedMarker)
        }
        // First: who makes a user from here on makes it in this form.
        try PrivateFile.writeJSON(form, to: directory.accountsFile)
        try signer.installAll()
    }

    /// Signs all users' accounts anew.
    func installAll() throws(NetworkError) {
        for name in try directory.userNames() {
            guard var record = try directory.record(of: name) else { continue }
            try install(&record, of: name)
        }
    }

    /// The claims of a user's accounts, as the record has them, the user's own first. Closed ones keep a door and no
    /// end of their own: whoever logs in may ask why, and nothing else.
    func claims(_ record: UserRecord, of name: UserName) throws(NetworkError) -> [AccountClaims] {
        let now = NetworkAdministrator.now
        let isClosed = record.closure(block: block, at: now) != nil
        return try record.accounts.map { account throws(NetworkError) in
            var claims = AccountClaims(
                subject: try record.accountKey(account), name: name.text, issuedAt: max(now, record.signed),
                expires: isClosed ? nil : record.expires,
                grant: AccountGrant(
                    limits: isClosed ? Self.closedLimits : form.limits.account,
                    signingKeys: [.key(identity.signingKey.publicKey.text)],
                    revocations: record.revocations(isClosed: isClosed),
                    defaultPermissions: Self.closedPermissions,
                    imports: [.service(NetworkNames.namespace, of: identity.account)], mappings: [:]))
            guard !isClosed else { return claims }
            let permissions = try permissions(record.rights(ofAccount: account), name)
            claims.grant.defaultPermissions = permissions.defaults(network: identity.account)
            claims.grant.imports = permissions.imports(from: identity.account)
            claims.grant.mappings = UserPermissions.mappings(form.mappings)
            return claims
        }
    }

    /// Room for the question alone, for two clients at once: each leaves when it has the answer.
    private static var closedLimits: AccountLimits {
        var limits = AccountLimits.withoutJetStream
        (limits.conn, limits.leaf, limits.subs, limits.payload) = (2, 0, 8, 8_192)
        return limits
    }

    private static let closedPermissions = Permissions(
        pub: SubjectRules(allow: [NetworkNames.namespace]), sub: SubjectRules(allow: ["_INBOX.>"]))

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
        try encoded(networkClaims(acceptsMessages: acceptsMessages))
    }
}
