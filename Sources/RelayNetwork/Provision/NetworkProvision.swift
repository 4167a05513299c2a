import Logging
import NATS
import Platform
import Relay

/// Puts a network onto servers that someone else runs, in operator mode with a full resolver: its accounts, exports,
/// streams and buckets.
///
/// Missing parts are made. Existing ones are changed only with ``Options/applies``, and if that would lose copies or
/// messages, only if that loss is allowed too. Nothing is ever deleted.
public struct NetworkProvision: Sendable {
    /// The options of a run. Nil and empty values stand for those of the run before.
    public struct Options: Sendable {
        /// The servers to connect to.
        public var servers: [String] = []
        /// A PEM file of the authorities to trust for them.
        public var authorityFile: String?
        /// The number of copies of each stream; nil for 1 in the first run.
        public var replicas: Int?
        /// The tags that these servers must have.
        public var tags: [String]?
        /// The cluster's name, in a super cluster.
        public var cluster: String?
        /// The 0600 file of the operator's key or a signing key, which the environment may have instead.
        public var operatorKeyFile: String?
        /// The 0600 credentials of a system account's user. Without any, tokens are not installed.
        public var systemCredentialsFile: String?
        /// Whether to change what differs on the servers.
        public var applies = false
        /// Whether to change nothing at all, here or there.
        public var isRehearsal = false
        /// Whether copies of streams may be given up.
        public var losesCopies = false
        /// Whether messages that exceed new limits may be deleted.
        public var losesMessages = false
        /// Receives what is found and changed; silent by default.
        public var logger = Logger.silent

        /// Makes the options of the run before.
        public init() {}

        var losses: Set<StreamDifference.Loss> {
            Set((losesCopies ? [.copies] : []) + (losesMessages ? [.messages] : []))
        }
    }

    /// The network's folder on the administrator's machine.
    public let directory: NetworkDirectory
    /// The network's name, and that of its account, stream and bucket.
    public let name: String
    private(set) var options: Options

    /// Names a network; nothing is read or made yet.
    public init(_ name: String, directory: NetworkDirectory, options: Options = Options()) throws(NetworkError) {
        try NetworkDirectory.check(name: name)
        (self.name, self.directory, self.options) = (name, directory, options)
    }

    /// Compares the servers with the plan, and makes and changes what it may.
    /// - Throws: `NetworkError.invalidProvision`, `.connection` or `.refused`. What was made stays for the next run.
    public func run() async throws(NetworkError) -> ProvisionReport {
        var cluster = try wanted()
        let addresses = try cluster.addresses()
        if let fault = cluster.placement.fault { throw .invalidProvision("The placement is invalid: \(fault).") }
        let root = try OperatorKey.read(file: cluster.operatorKeyFile)
        let administrator = try translated { try options.systemCredentialsFile.map { try Credentials.load(path: $0) } }
        guard !options.isRehearsal else {
            return isNew ? rehearsal(cluster) : try await look(cluster, addresses, root, administrator)
        }
        // Other administrators would find half a network.
        try directory.prepare()
        let lock = try await directory.lockAdministration()
        defer { withExtendedLifetime(lock) {} }
        // Another run may have been quicker; its keys count.
        cluster = try wanted()
        let isNew = isNew
        try directory.keep(cluster)
        let files = IdentityFiles(folder: directory.keys)
        if let administrator { try files.keep(administrator: administrator) }
        if isNew { _ = try files.make(.init(namespace: name, hash: NetworkIdentity.randomHash()), signedBy: root) }
        let report = try await look(cluster, addresses, root, administrator)
        try writeAccess(cluster, files.read())
        return report
    }

    private var isNew: Bool { !PrivateFile.exists(IdentityFiles(folder: directory.keys).names) }

    private func wanted() throws(NetworkError) -> ClusterNetwork {
        let known = try directory.cluster()
        if known == nil, !isNew {
            throw .invalidProvision(
                "\(directory.path) holds a network whose server runs on this machine: name another one.")
        }
        var placement = known?.placement ?? NetworkPlacement()
        if let replicas = options.replicas { placement.replicas = replicas }
        if let tags = options.tags { placement.tags = tags }
        if let cluster = options.cluster { placement.cluster = cluster.isEmpty ? nil : cluster }
        return ClusterNetwork(
            servers: options.servers.isEmpty ? known?.servers ?? [] : options.servers,
            authorityFile: options.authorityFile ?? known?.authorityFile, placement: placement,
            operatorKeyFile: options.operatorKeyFile ?? known?.operatorKeyFile)
    }

    private func rehearsal(_ cluster: ClusterNetwork) -> ProvisionReport {
        let plan = NetworkPlan(
            names: .init(namespace: name, hash: ""), settings: NetworkSettings(), placement: cluster.placement)
        return ProvisionReport(
            parts: [.init(name: "account \(name)", state: .missing)]
                + plan.streams.map { .init(name: "stream \($0.name)", state: .missing) })
    }

    /// - Parameter administrator: the newly named credentials, which a rehearsal does not store.
    private func look(
        _ cluster: ClusterNetwork, _ addresses: [ServerAddress], _ root: NKeyPair, _ administrator: Credentials?
    ) async throws(NetworkError) -> ProvisionReport {
        var identity = try IdentityFiles(folder: directory.keys).read()
        if let administrator { identity.administrator = administrator }
        let settings = try directory.settings()
        let plan = NetworkPlan(names: identity.names, settings: settings, placement: cluster.placement)
        var report = ProvisionReport()
        var provision = self
        if identity.administrator == nil {
            try renewAccounts(.wildcards)
            if !options.isRehearsal {
                // For those who administer the servers.
                let token = try AccountSigner(directory, identity).networkToken(acceptsMessages: true)
                try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: identity.account.text))
            }
        } else {
            let system = try await addresses.firstToTake { try await SystemInterface(at: $0, identity: identity) }
            defer { system.close() }
            let (servers, count) = try await system.roll()
            // The oldest server may need another form of the accounts.
            let isOld = servers.contains { !ServerProgram(path: "", version: $0.version).isRecent }
            let mappings: UserPermissions.MappingStyle = isOld ? .tokens : .wildcards
            try renewAccounts(mappings)
            let signer = try AccountSigner(directory, identity, root: root, mappings: mappings)
            let found = try await accounts(system, servers, outOf: count, signer)
            // If a server that does not answer may have a token that was changed by hand, change nothing.
            if !options.applies, found.contains(where: { $0.part.state == .unknown }) {
                provision.options.isRehearsal = true
            }
            for account in found {
                report.add(try await provision.made(account, signedBy: signer, system), options.logger)
            }
        }
        try await provision.streams(plan, identity, addresses, &report)
        return report
    }

    private func renewAccounts(_ mappings: UserPermissions.MappingStyle) throws(NetworkError) {
        guard !options.isRehearsal else { return }
        try AccountSigner.bringUpToDate(directory, mappings: mappings)
        PrivateFile.remove(directory.unalignedMarker)
    }

    private typealias FoundAccount = (claims: AccountClaims, part: ProvisionReport.Part)

    private func accounts(
        _ system: SystemInterface, _ servers: [SystemInterface.Server], outOf count: Int, _ signer: AccountSigner
    ) async throws(NetworkError) -> [FoundAccount] {
        let told = try await system.keptAccounts(of: servers)
        let kept = Set(told.values.joined())
        var found: [FoundAccount] = []
        for user in try [UserName?.none] + directory.userNames().map(Optional.some) {
            let name = user.map { "account of \($0)" } ?? "account \(signer.identity.names.namespace)"
            var planned = [signer.networkClaims(acceptsMessages: true)]
            if let user {
                guard let record = try directory.record(of: user) else { continue }
                planned = try signer.claims(record, of: user)
            }
            for var claims in planned {
                var part = ProvisionReport.Part(name: name, state: .same)
                let isKept = kept.contains(claims.subject)
                if isKept, let present = try await system.keptToken(ofAccount: claims.subject) {
                    // Only the disk watch lets the network store again when there is room.
                    if user == nil, NetworkAccount.isClosedToMessages(present) {
                        claims = signer.networkClaims(acceptsMessages: false)
                    }
                    part.changes = claims.differences(from: present)
                    if !part.changes.isEmpty { part.state = .different }
                } else if !isKept, told.count >= count {
                    part.state = .missing
                } else {
                    part.state = .unknown
                    if told.count < count {
                        part.changes = ["\(told.count) of \(count) servers say which accounts they have"]
                    }
                }
                found.append((claims, part))
            }
        }
        return found
    }

    /// Installs an account that the servers lack, or, if changes are applied, one that differs.
    private func made(
        _ account: FoundAccount, signedBy signer: AccountSigner, _ system: SystemInterface
    ) async throws(NetworkError) -> ProvisionReport.Part {
        var part = account.part
        guard !options.isRehearsal else { return part }
        switch part.state {
        case .missing: part.state = .made
        case .different, .unknown:
            guard options.applies else { return part }
            part.state = .changed
        default: return part
        }
        let token = try signer.encoded(account.claims)
        try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: account.claims.subject))
        try await system.install(token)
        return part
    }

    /// The folder with the tokens of all accounts, a file for each.
    public var tokensFolder: String { directory.resolver }

    private func streams(
        _ plan: NetworkPlan, _ identity: NetworkIdentity, _ addresses: [ServerAddress], _ report: inout ProvisionReport
    ) async throws(NetworkError) {
        let account = report.parts.first?.state
        func streams(are state: ProvisionReport.State) {
            report.parts += plan.streams.map { .init(name: "stream \($0.name)", state: state) }
        }
        // An account unknown to the servers has none.
        if options.isRehearsal, account == .missing { return streams(are: .missing) }
        let connection: NATSConnection
        do throws(NetworkError) {
            // Servers may take a moment to admit the network's account after they have been told of it.
            let mayHaveLearned = identity.administrator != nil && !options.isRehearsal
            connection = try await persist(
                until: .now + .seconds(mayHaveLearned ? 10 : 0), every: .milliseconds(100),
                where: { if case .connection = $0 { true } else { false } }
            ) { try await HostRole.keeping.connect(to: addresses, identity.issuer) }
        } catch {
            guard case .connection(.authorization) = error else { throw error }
            if identity.administrator == nil {
                // Servers without the account admit no one from it.
                let state: ProvisionReport.State = options.isRehearsal ? .missing : .handOver
                report.add(.init(name: "account \(name)", state: state), options.logger)
                return streams(are: .missing)
            }
            if options.isRehearsal, account != .same { return streams(are: .unknown) }
            // They have a token with an untrusted signature, and admit no one by it.
            throw .invalidProvision(
                "The servers do not trust the network's account: sign it by their operator's key, or a signing key that their operator's token names."
            )
        }
        defer { connection.closeNow() }
        let jetStream = JetStream(connection, timeout: .seconds(10))
        func provide(_ stream: StreamConfiguration, makes: Bool) async throws(NetworkError) -> ProvisionReport.Part {
            try await patiently {
                try await jetStream.provide(
                    stream, losing: options.losses, makes: makes && !options.isRehearsal,
                    mends: options.applies && !options.isRehearsal)
            }
        }
        for stream in plan.streams { report.add(try await provide(stream, makes: true), options.logger) }
        let register = try translated { try BucketUserRegister(jetStream) }
        for user in try directory.userNames() {
            // The services make a user's stream on first use, with the subjects of its postboxes.
            var letters = plan.letters(of: user, in: PostboxRegister(sudoId: "", at: 0))
            letters.subjects = nil
            let part = try await provide(letters, makes: false)
            if part.state != .missing { report.add(part, options.logger) }
            guard !options.isRehearsal, let record = try directory.record(of: user) else { continue }
            try await register.renew(record, of: user)
            directory.markPublished(user)
        }
        if !options.isRehearsal { try await register.publish(directory.block()) }
    }

    /// Retries while servers that have just started, or just received the account, are not ready to answer.
    private func patiently<R>(_ body: () async throws -> R) async throws(NetworkError) -> R {
        let begin = ContinuousClock.now
        func mayPass(_ error: NetworkError) -> Bool {
            switch error {
            case .connection(.timeout), .connection(.noResponders): true
            case .connection(.jetStream(let failure)):
                switch failure.errorCode {
                // JetStream is not available, not yet enabled for the account, or too few servers are known.
                case 10_008, 10_039, 10_005, 10_009: true
                // A clustered server could not make the stream's store, which usually passes at once.
                case 10_049: ContinuousClock.now < begin + .seconds(10)
                default: false
                }
            default: false
            }
        }
        return try await persist(until: begin + .seconds(30), every: .milliseconds(250), where: mayPass, body)
    }

    private func writeAccess(_ cluster: ClusterNetwork, _ identity: NetworkIdentity) throws(NetworkError) {
        let access = ServiceAccess(cluster, authority: try cluster.authority(), identity, try directory.settings())
        try PrivateFile.write(access.text().utf8, to: directory.servicesFile)
        if !PrivateFile.exists(directory.observerFile) {
            let observer = try HostRole.observing.credentials(identity.issuer)
            try PrivateFile.write(observer.fileText().utf8, to: directory.observerFile)
        }
    }
}
