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

    /// What the tokens were made with; nil where that is not known, so that all are made anew.
    private static func form(in directory: NetworkDirectory) -> Form? {
        (try? PrivateFile.readJSON(Form.self, from: directory.accountsFile)) ?? nil
    }

    func install(_ record: inout UserRecord, of name: UserName) throws(NetworkError) {
        record.rights = try permissions(record.rights, name).rights
        // Before anything else, so that whatever ends this process, or starts a server meanwhile, forgets none.
        if let known = try directory.record(of: name), let lost = Narrowing(from: known.rights, to: record.rights) {
            try directory.remember(lost)
        }
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

    /// The tokens of a user's accounts, the user's own first, for this many connections each where that is said.
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

    /// Signs all users' accounts anew where they were made for another kind of server or with other limits.
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
            // Last, so that what was cut short is done anew; nobody makes a user meanwhile.
            try PrivateFile.writeJSON(form, to: directory.accountsFile)
        }
    }

    /// Signs all users' accounts anew, as after a decision about all of them.
    static func signAll(in directory: NetworkDirectory) throws(NetworkError) {
        try directory.identified { identity throws(NetworkError) in try AccountSigner(directory, identity).installAll()
        }
    }

    private func installAll() throws(NetworkError) {
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

    /// Room for the question alone, for two clients at once: each leaves when it has the answer.
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

/// The account of the network itself: it alone has JetStream, the streams, the buckets and the services, and exports
/// what users' accounts may import. Who imports what is decided by the users' tokens, which only the host signs.
enum NetworkAccount {
    /// How long the server remembers a pull that it gives nothing to, in nanoseconds. Heartbeats renew it; pulls of
    /// other clients come without and wait for up to 30 s.
    static let pullThreshold: Int64 = 120 * 1_000_000_000
    static let batchThreshold: Int64 = 10 * 1_000_000_000
    /// Any other request without an answer: longer than any client waits, and a quarter of the server's own time.
    static let answerThreshold: Int64 = 30 * 1_000_000_000

    /// An answer to a single-answer service ends the server's memory of the request; a pull and a batch of stored
    /// messages have many answers and are remembered until their reader stops listening. A subject's newest message is
    /// one answer, so reading keys leaves nothing behind.
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

    /// The storage limit of an account that stores nothing more: any limit that is passed already does it.
    static let closedStorage: Int64 = 1

    /// Whether a token has its account store nothing more, as while the disk is full.
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
