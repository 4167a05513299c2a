import ArgumentParser
import Platform
import Relay
import RelayNetwork

/// The flags that say who to be and where to connect.
protocol ConnectionFlags {
    /// Profiles of the configuration file; only the chat takes more than one.
    var profiles: [String] { get }
    var server: [String] { get }
    var creds: String? { get }
    var user: String? { get }
    var config: String? { get }
    var proxy: String? { get }
    var log: String? { get }
}

/// The flags of one profile, or none. Setting up a parser for them would take a tenth of the start-up time.
struct NoConnectionFlags: ConnectionFlags {
    var profiles: [String] = []
    let server: [String] = []
    let creds: String? = nil
    let user: String? = nil
    var config: String?
    var proxy: String?
    var log: String?
}

/// Who to be, where to connect and where to log it, for every subcommand but the lab's.
struct ConnectionOptions: ParsableArguments, ConnectionFlags {
    @OptionGroup var target: ConnectionTarget

    @Option(help: ArgumentHelp("Append a log of the connection to this file, for a bug report.", valueName: "file"))
    var log: String?

    var profiles: [String] { target.profiles }
    var server: [String] { target.server }
    var creds: String? { target.creds }
    var user: String? { target.user }
    var config: String? { target.config }
    var proxy: String? { target.proxy }
}

/// Who to be and where to connect.
struct ConnectionTarget: ParsableArguments, ConnectionFlags {
    @Option(
        name: .customLong("profile"),
        help: ArgumentHelp(
            "A profile of the configuration file; repeat it to chat on several networks.", valueName: "name"))
    var profiles: [String] = []

    @Option(help: ArgumentHelp("A server, nats:// or tls://; may be given several times.", valueName: "url"))
    var server: [String] = []

    @Option(help: ArgumentHelp("A NATS credentials file.", valueName: "file"))
    var creds: String?

    @Option(name: .customLong("as"), help: ArgumentHelp("A user of the private network.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "A proxy to the servers, http:// or socks5:// with host and port; empty for none.", valueName: "url"))
    var proxy: String?

    /// The lab has logs of its own.
    var log: String? { nil }
}

/// How long the first connection may take, for the commands that stay connected.
struct ConnectTimeoutOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("Give up the first connection after this time, such as 10 or 1m.", valueName: "seconds"))
    var connectTimeout: String?

    func validate() throws {
        guard connectTimeout != nil, time == nil else { return }
        throw ValidationError("--connect-timeout takes a number of seconds above 0, or a duration such as 1m.")
    }

    /// The time; nil if none, or an invalid one, is given.
    var time: Duration? {
        guard let connectTimeout, let seconds = PastTime.seconds(connectTimeout), Profile.isConnectTimeout(seconds)
        else { return nil }
        return .seconds(seconds)
    }

    /// The plan with the flag's time, if given, instead of the profile's.
    func applied(to plan: ConnectionPlan) -> ConnectionPlan {
        var plan = plan
        plan.connectTimeout = time ?? plan.connectTimeout
        return plan
    }
}

extension ConnectionFlags {
    var profile: String? { profiles.first }

    /// These flags for each of several profiles. Refuses a profile named twice, and flags or variables that say who to
    /// be.
    func each(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> [NoConnectionFlags] {
        let flags = [("--server", !server.isEmpty), ("--creds", creds != nil), ("--as", user != nil)]
        let variables = ["PARLEY_API_KEY", "PARLEY_SECRET", "PARLEY_TOKEN"].map { ($0, environment[$0] != nil) }
        if let (name, _) = (flags + variables).first(where: \.1) {
            throw CommandFailure(
                .usage,
                "\(name) belongs to no profile, so it does not go with several; leave it out, or name one profile.")
        }
        if let twice = profiles.first(where: { name in profiles.count { $0 == name } > 1 }) {
            throw CommandFailure(
                .usage, "--profile \(Output.safe(twice)) is there twice; once is enough.")
        }
        return profiles.map { NoConnectionFlags(profiles: [$0], config: config, proxy: proxy, log: log) }
    }

    /// The connection that flags, environment and configuration file describe, in this order of precedence.
    func plan(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, file: ConfigurationFile? = nil
    ) throws -> ConnectionPlan {
        let profile = try effectiveProfile(environment, file: file)
        let source = credentialsSource(profile, environment)
        var plan = ConnectionPlan(target: try target(profile, source, environment))
        if case .command(let command) = source { plan.tokenCommand = command }
        // The private network is on this machine, but the configuration is still checked.
        if case .servers(let servers, _, _) = plan.target {
            plan.proxy = try ProxySetting.choose(flag: proxy, profile: profile.proxy, servers: servers, environment)
            // A URL may carry a name and a password.
            if case .none = source { plan.isAnonymous = servers.allSatisfy { $0.authentication == nil } }
        } else {
            _ = try ProxySetting.choose(flag: proxy, profile: profile.proxy ?? "", servers: [], [:])
        }
        if let session = profile.session, let policy = KickPolicy(rawValue: session) {
            plan.sessions = .exclusive(policy)
        }
        plan.log = (log ?? environment["PARLEY_LOG"]).flatMap {
            $0.isEmpty ? nil : UserFolders.expanded($0, environment)
        }
        plan.device = profile.device.flatMap { $0.isEmpty ? nil : $0 }
        plan.store = plan.storePlace(environment)
        plan.retention = profile.shared.retention ?? .parley
        plan.suspendAfter = profile.suspendAfter
        plan.connectTimeout = profile.connectTimeout.map { .seconds($0) }
        plan.handlesLifecycle = profile.handleAppLifecycle
        plan.appearance = Appearance(
            profile.shared.theme ?? .auto, symbols: profile.shared.symbols ?? .auto, environment: environment)
        if let name = profile.reconnect, let policy = ReconnectPolicy.named(name) {
            (plan.reconnect, plan.reconnectName) = (policy, name)
        }
        if let namespace = profile.namespace, let hash = profile.hash {
            if let api = profile.api {
                plan.rememberedNamespace = .init(name: namespace, hash: hash, apiPrefix: api)
            } else {
                plan.namespace = .init(name: namespace, hash: hash)
            }
        }
        plan.tls = profile.tls(environment)
        do { try plan.tls?.check() } catch { throw ConfigurationFile.failure("\(error)") }
        return plan
    }

    /// The profile, overridden by the flags.
    func effectiveProfile(_ environment: [String: String], file: ConfigurationFile? = nil) throws -> Profile {
        guard profiles.count < 2 else {
            throw CommandFailure(.usage, "Several profiles need the chat's screen; name one here.")
        }
        let file = try file ?? ConfigurationSource(flag: config, environment).file
        var profile = try file.profile(profile)
        profile.shared = profile.shared.filled(from: file.shared)
        if !server.isEmpty {
            profile.servers = server
            profile.user = nil
            // Its tokens are for the profile's own servers; another one could use them in the user's name.
            profile.tokenCommand = nil
        }
        if let user {
            guard server.isEmpty else {
                throw CommandFailure(
                    .usage, "--as names a user of the private network; it does not go with --server.")
            }
            profile.user = user
            profile.servers = []
            profile.tokenCommand = nil
        }
        guard profile.tokenCommand == nil || !profile.servers.isEmpty else {
            throw ConfigurationFile.failure("The profile's token_command: \(Profile.needsServers).")
        }
        return profile
    }

    /// The plan and the interactive client's configuration; the file is read once for both.
    func chat(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> (plan: ConnectionPlan, configuration: ChatConfiguration) {
        let source = try ConfigurationSource(flag: config, environment)
        let plan = try plan(environment, file: source.file)
        return (plan, try ChatConfiguration(flag: config, profile: profile, environment, source))
    }

    /// Where the credentials come from: the flag, then the environment, then the profile.
    func credentialsSource(_ profile: Profile, _ environment: [String: String]) -> CredentialsSource {
        if let creds { return .file(UserFolders.expanded(creds, environment)) }
        let (key, secret) = (environment["PARLEY_API_KEY"], environment["PARLEY_SECRET"])
        if key != nil || secret != nil { return .apiKey(key ?? "", secret: secret ?? "") }
        if let token = environment["PARLEY_TOKEN"] { return .token(token) }
        if let line = profile.tokenCommand, !profile.servers.isEmpty {
            return .command(TokenCommand(line, environment: environment))
        }
        return profile.creds.map { .file(UserFolders.expanded($0, environment)) } ?? .none
    }

    private func target(
        _ profile: Profile, _ source: CredentialsSource, _ environment: [String: String]
    ) throws -> ConnectionPlan.Target {
        guard !profile.servers.isEmpty else {
            if creds != nil {
                throw CommandFailure(.usage, "--creds needs a server: add --server URL.")
            }
            // With --as the profile's credentials do not count.
            if case .file = source, user == nil {
                throw ConfigurationFile.failure("The profile's creds: \(Profile.needsServers).")
            }
            guard source.isFromEnvironment else {
                return .privateNetwork(user: profile.user ?? Self.loginName(environment))
            }
            let credentials = try source.credentials()
            guard let owner = credentials.user else {
                throw CommandFailure(
                    .usage,
                    "\(source): it names no user of the private network, so it needs a server: add --server URL."
                )
            }
            if let user, user != owner {
                throw CommandFailure(
                    .usage,
                    "--as names \(user), but \(source) belongs to \(owner). Leave out --as, or unset the variable.")
            }
            return .privateNetwork(user: owner, credentials)
        }
        let addresses: [ServerAddress]
        do throws(RelayError) { addresses = try RelayConfiguration.addresses(profile.servers) } catch {
            let code: CommandStatus = server.isEmpty ? .badConfiguration : .usage
            throw CommandFailure(code, error.words)
        }
        return .servers(addresses, try source.credentials(), user: profile.user)
    }

    /// The login name from the environment or else the account, reduced to a valid user name. Services and containers
    /// often have only the account.
    static func loginName(
        _ environment: [String: String], account: () -> String? = { UserAccount.current()?.name }
    ) -> String {
        func usable(_ name: String?) -> String? {
            let kept = (name ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber || "+=_-".contains($0)) }
                .drop { "+=-".contains($0) }
            return kept.isEmpty ? nil : String(kept.prefix(64))
        }
        return usable(environment["USER"]) ?? usable(environment["LOGNAME"]) ?? usable(account()) ?? "me"
    }
}

extension Profile {
    func tls(_ environment: [String: String]) -> TLSOptions? {
        guard tlsAuthority != nil || tlsCertificate != nil || tlsKey != nil || tlsFirst != nil else { return nil }
        func path(_ text: String?) -> String? { text.map { UserFolders.expanded($0, environment) } }
        return TLSOptions(
            authorityFile: path(tlsAuthority), certificateFile: path(tlsCertificate), privateKeyFile: path(tlsKey),
            handshakesFirst: tlsFirst ?? false)
    }
}

/// Where and how to connect, as the command line, the environment and the configuration file say.
struct ConnectionPlan: Sendable {
    enum Target: Sendable {
        /// With the user's credentials from the environment; nil for those that this machine keeps.
        case privateNetwork(user: String, RelayCredentials? = nil)
        case servers([ServerAddress], RelayCredentials, user: String?)
    }

    var target: Target
    var reconnect = ReconnectPolicy.parley
    var reconnectName = "parley"
    var namespace: RelayConfiguration.Namespace?
    /// The names to use while the network's own service does not answer.
    var rememberedNamespace: RelayConfiguration.Namespace?
    var tls: TLSOptions?
    var proxy: ProxyAddress?
    /// Whether a user may have several sessions at once.
    var sessions = SessionPolicy.shared
    /// Nil for the machine's name.
    var device: String?
    var tokenCommand: TokenCommand?
    /// Whether there are no credentials for servers other than the private network's.
    var isAnonymous = false
    /// The file that the library's log is appended to; nil for none.
    var log: String?
    /// The file of the interactive client's local store; nil keeps nothing.
    var store: String?
    var retention = RetentionPolicy.parley
    /// How long the first connection of chat, watch and tail may take; nil if unset.
    var connectTimeout: Duration?
    var suspendAfter: Double?
    /// Whether an interactive client watches for background and foreground; nil if the profile does not say.
    var handlesLifecycle: Bool?
    var watchesLifecycle: Bool { handlesLifecycle ?? true }
    var appearance = Appearance()

    /// Who to be; nil for a user of the private network whose credentials this machine keeps.
    var credentials: RelayCredentials? {
        switch target {
        case .privateNetwork(_, let credentials): credentials
        case .servers(_, let credentials, _): credentials
        }
    }

    /// The user's name, if known without a connection.
    var userName: String? {
        switch target {
        case .privateNetwork(let user, _): user
        case .servers(_, let credentials, let user): credentials.user ?? user
        }
    }

    /// The user and network, as far as they are known before any file is read or made.
    var identity: Identity {
        let network =
            switch target {
            case .privateNetwork: "local"
            case .servers(let addresses, _, _): addresses.first?.host ?? "server"
            }
        return Identity(user: userName ?? "anonymous", network: network, isNamed: userName != nil)
    }

    fileprivate func storePlace(_ environment: [String: String]) -> String? {
        var network = "local"
        if case .servers(let addresses, _, _) = target {
            // A token names its user; until one arrives the user is not known, and users must not share a store.
            guard let server = addresses.first, userName != nil || tokenCommand == nil else { return nil }
            network = "\(server.host)-\(server.port)"
        }
        return StorePlace.path(network: network, user: identity.user, account: credentials?.account, environment)
    }
}
