import NATS
import Relay

/// Signs the tokens of users' accounts from their records and writes them where the server looks them up.
struct AccountSigner {
    /// What the tokens depend on besides the records; when it changes, all of them are signed again.
    struct Form: Codable, Hashable {
        var mappings: UserPermissions.MappingStyle
        var limits: NetworkSettings.UserLimits
        /// The bounds that the postbox streams were made with; when they change, the streams are updated.
        var postboxes: NetworkSettings.StreamBounds
        var maximumLetters: Int64
        var imports: Int

        init(_ settings: NetworkSettings, mappings: UserPermissions.MappingStyle) {
            (self.mappings, imports) = (mappings, UserPermissions.importsVersion)
            (limits, postboxes, maximumLetters) = (settings.users, settings.postboxes, settings.maximumLetters)
        }
    }

    let directory: NetworkDirectory
    let identity: NetworkIdentity
    let form: Form
    private let root: NKeyPair
    private let block: UserStanding.Decision?

    init(
        _ directory: NetworkDirectory, _ identity: NetworkIdentity, root: NKeyPair? = nil,
        mappings: UserPermissions.MappingStyle? = nil
    ) throws(NetworkError) {
        (self.directory, self.identity) = (directory, identity)
        form = Form(try directory.settings(), mappings: mappings ?? Self.form(in: directory)?.mappings ?? .wildcards)
        self.root = if let root { root } else { try directory.operatorPair() }
        block = directory.block()
    }

    /// Nil where it is unknown, so that all tokens are signed again.
    private static func form(in directory: NetworkDirectory) -> Form? {
        try? PrivateFile.readJSON(Form.self, from: directory.accountsFile)
    }

    func install(_ record: inout UserRecord, of name: UserName) throws(NetworkError) {
        record.rights = try permissions(record.rights, name).rights
        // First, so that nothing is forgotten if this process dies or a server starts meanwhile.
        if let known = try directory.record(of: name), let lost = Narrowing(from: known.rights, to: record.rights) {
            try directory.remember(lost)
        }
        // Accounts whose last key has been forgotten.
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

    /// The tokens of a user's accounts, the user's own first; `connections` overrides the limit in each of them.
    func tokens(_ record: UserRecord, of name: UserName, connections: Int64? = nil) throws(NetworkError) -> [String] {
        try claims(record, of: name).map { claims throws(NetworkError) in
            var claims = claims
            if let connections { claims.grant.limits.conn = connections }
            return try encoded(claims)
        }
    }

    func permissions(_ rights: AccessRights, _ name: UserName) throws(NetworkError) -> UserPermissions {
        try UserPermissions(user: name, rights: rights, namespace: identity.names.namespace, hash: identity.names.hash)
    }

    func encoded(_ claims: AccountClaims) throws(NetworkError) -> String {
        try translated { try claims.encode(signedBy: root) }
    }

    /// Signs all users' accounts again if they were signed for another kind of server or with other limits.
    static func bringUpToDate(
        _ directory: NetworkDirectory, mappings: UserPermissions.MappingStyle
    ) throws(NetworkError) {
        try directory.identified { identity throws(NetworkError) in
            let signer = try AccountSigner(directory, identity, mappings: mappings)
            let (form, known) = (signer.form, Self.form(in: directory))
            guard known != form else { return }
            if known?.postboxes != form.postboxes || known?.maximumLetters != form.maximumLetters {
                try PrivateFile.write([], to: directory.unalignedMarker)
            }
            try signer.installAll()
            // Last, so that an interrupted run is repeated; no one can make a user meanwhile.
            try PrivateFile.writeJSON(form, to: directory.accountsFile)
        }
    }

    static func signAll(in directory: NetworkDirectory) throws(NetworkError) {
        try directory.identified { identity throws(NetworkError) in
            try AccountSigner(directory, identity).installAll()
        }
    }

    private func installAll() throws(NetworkError) {
        for name in try directory.userNames() {
            guard var record = try directory.record(of: name) else { continue }
            try install(&record, of: name)
        }
    }

    /// The claims of a user's accounts, the user's own first. A closed account never expires: logins may still ask why.
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
                    revocations: record.revocations(isClosed: isClosed), defaultPermissions: Self.closedPermissions,
                    imports: [.service(NetworkNames.namespace, of: identity.account)], mappings: [:]))
            guard !isClosed else { return claims }
            let permissions = try permissions(record.rights(ofAccount: account), name)
            claims.grant.defaultPermissions = permissions.defaults(network: identity.account)
            claims.grant.imports = permissions.imports(from: identity.account)
            claims.grant.mappings = UserPermissions.mappings(form.mappings)
            return claims
        }
    }

    /// Enough to ask why, for two clients at once: each leaves when it has its answer.
    private static var closedLimits: AccountLimits {
        var limits = AccountLimits.withoutJetStream
        (limits.conn, limits.leaf, limits.subs, limits.payload) = (2, 0, 8, 8_192)
        return limits
    }

    private static let closedPermissions = Permissions(
        pub: SubjectRules(allow: [NetworkNames.namespace]), sub: SubjectRules(allow: ["_INBOX.>"]))

    func networkClaims(acceptsMessages: Bool) -> AccountClaims {
        NetworkAccount.claims(
            identity.account, names: identity.names, signingKey: identity.signingKey.publicKey,
            acceptsMessages: acceptsMessages)
    }

    func networkToken(acceptsMessages: Bool) throws(NetworkError) -> String {
        try encoded(networkClaims(acceptsMessages: acceptsMessages))
    }
}

/// The network's own account. It alone has JetStream, the streams, the buckets and the services, and exports what
/// users' accounts may import; the users' tokens, which only the host signs, decide who imports what.
enum NetworkAccount {
    /// How long the server remembers an unanswered pull, in nanoseconds. Heartbeats renew it; the pulls of other
    /// clients have none and wait for up to 30 s.
    static let pullThreshold: Int64 = 120 * 1_000_000_000
    static let batchThreshold: Int64 = 10 * 1_000_000_000
    /// For all other unanswered requests: longer than any client waits, and a quarter of the server's default.
    static let answerThreshold: Int64 = 30 * 1_000_000_000

    /// The server forgets a request to a single-answer service once it is answered, so reading a key leaves nothing
    /// behind. Pulls and batches have many answers and are remembered until their reader stops listening.
    static func exports(hash: String) -> [AccountExport] {
        let calls = [
            "INFO", "STREAM.INFO.*", "STREAM.MSG.GET.*", "STREAM.MSG.DELETE.*", "DIRECT.GET.*.>", "CONSUMER.CREATE.>",
            "CONSUMER.INFO.*.*", "CONSUMER.DELETE.*.*",
        ].map { "$JS.API.\($0)" }
        let services = [
            "$JS.ACK.>", "\(hash).>", NetworkNames.letters(to: "*", "*", from: "*"),
            NetworkNames.postboxes(of: "*", "*"), NetworkNames.recipient("*", "*"), NetworkNames.namespace,
            NetworkNames.enrolment(of: "*"), NetworkNames.streams(of: "*"), "$KV.>",
        ]
        return (calls + services).map { AccountExport.service($0, threshold: answerThreshold) } + [
            .service("$JS.API.CONSUMER.MSG.NEXT.>", responses: .stream, threshold: pullThreshold),
            .service("$JS.API.DIRECT.GET.*", responses: .stream, threshold: batchThreshold),
            .stream(NetworkNames.control(of: "*")), .stream("_INBOX.>"),
        ]
    }

    /// The storage limit of an account that is to store nothing more: any limit below what it holds has that effect.
    static let closedStorage: Int64 = 1

    static func isClosedToMessages(_ token: String) -> Bool {
        (try? AccountClaims.decode(token))?.grant.limits.diskStorage == closedStorage
    }

    static func claims(
        _ account: NKey, names: NetworkIdentity.Names, signingKey: NKey, acceptsMessages: Bool = true
    ) -> AccountClaims {
        var limits = AccountLimits.unlimited
        if !acceptsMessages { limits.diskStorage = closedStorage }
        return AccountClaims(
            subject: account, name: names.namespace,
            grant: AccountGrant(
                limits: limits, signingKeys: [.key(signingKey.text)], exports: exports(hash: names.hash)))
    }
}
