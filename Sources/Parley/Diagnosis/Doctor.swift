import Platform
import Relay
import RelayNetwork
import Terminal

/// Runs the checks one at a time. It starts no network, and waits at most 15 seconds for anything.
struct Doctor {
    let options: ConnectionOptions
    var environment = ProcessInfo.processInfo.environment
    let report: (Finding) -> Void

    func run() async {
        let isInstalled = setlocale(LC_CTYPE, "") != nil
        let focus = await focusWord()
        TerminalFindings.all(.look(), environment, isLocaleInstalled: isInstalled, focus: focus).forEach(report)
        let (environment, config) = (environment, options.config)
        let file = await limited("configuration") { FileFindings.configuration(flag: config, environment) }
        await limited("data folder") { FileFindings.dataFolder(environment) }

        let now = WallClock.now
        if case .failure = file.outcome { return report(CredentialsFindings.clock(now: now, issued: nil)) }
        let profile = try? options.effectiveProfile(environment)
        let source = profile.map { options.credentialsSource($0, environment) } ?? CredentialsSource.none
        let attempt = Result { try options.plan(environment) }
        let times = (try? attempt.get())?.credentials?.times
        report(CredentialsFindings.clock(now: now, issued: times?.issued))
        let plan: ConnectionPlan
        do { plan = try attempt.get() } catch {
            tell(error, source)
            // The servers can be checked without a login.
            guard case RelayError.invalidCredentials = error, let profile else { return }
            return await touchServers(profile)
        }
        await limited("local store") { [store = plan.store] in FileFindings.localStore(store) }
        found("log", .ok, plan.log ?? "none; --log FILE writes a log of the connection, for a bug report")
        switch plan.target {
        case .privateNetwork(let user, let credentials):
            if credentials != nil {
                report(CredentialsFindings.read(times, place: "\(source)", user: user, now: now))
            }
            await checkPrivateNetwork(user, plan, now: now)
        case .servers(let addresses, let credentials, let user):
            found("nats-server", .ok, "not needed with --server")
            var configuration = RelayConfiguration(servers: .fixed(addresses), credentials: credentials, user: user)
            configuration.tls = plan.tls
            configuration.namespace = plan.namespace
            configuration.proxy = plan.proxy
            if let command = plan.tokenCommand {
                guard let token = await ask(command, user: user, now: now) else { return }
                configuration.credentials = token
                configuration.user = token.user ?? user
            } else {
                let user = credentials.user ?? user
                report(CredentialsFindings.read(times, place: "\(source)", user: user, now: now))
            }
            await check(addresses, configuration)
        }
    }

    private func found(_ check: String, _ outcome: Finding.Outcome, _ detail: String, fix: String? = nil) {
        report(Finding(check, outcome, detail, fix: fix))
    }

    /// Asks the terminal whether it reports its focus, or tmux, if there is one, whether it passes that on.
    private func focusWord() async -> TerminalFindings.FocusWord {
        guard environment["TMUX"]?.isEmpty ?? true else {
            let command = ShellCommand(
                "exec tmux show -gv focus-events", environment: environment, limit: CheckLimit.step)
            let words = try? await command.run().text.split(whereSeparator: \.isWhitespace).first
            return .tmux(passesOn: words.flatMap { $0 == "on" ? true : $0 == "off" ? false : nil })
        }
        let answer = await blocking { TerminalProbe.askFocus() }
        return .of(answer, isInScreen: environment["STY"].map { !$0.isEmpty } ?? false)
    }

    private func ask(_ command: TokenCommand, user: String?, now: Timestamp) async -> RelayCredentials? {
        do {
            let token = try await command.token(isQuiet: true)
            let credentials = try RelayCredentials.accessToken(token)
            let user = credentials.user ?? user
            report(CredentialsFindings.read(credentials.times, place: "token_command", user: user, now: now))
            return credentials
        } catch {
            found("credentials", .misconfigured, "\(error)", fix: "correct token_command in the profile")
            return nil
        }
    }

    private func tell(_ error: any Error, _ source: CredentialsSource) {
        switch error {
        case RelayError.invalidCredentials(let words): report(CredentialsFindings.refused(words, source))
        case let error as RelayError: fail("settings", CommandFailure(error), fix: "correct the address of the server")
        case let failure as CommandFailure: fail("settings", failure, fix: "correct the flags or the profile")
        default: found("settings", .misconfigured, "\(error)")
        }
    }

    private func fail(_ check: String, _ failure: CommandFailure, fix: String? = nil) {
        found(check, .failure(failure.code), failure.text, fix: fix)
    }

    @discardableResult
    private func limited(_ name: String, _ look: @escaping @Sendable () -> Finding) async -> Finding {
        let finding =
            await within(CheckLimit.step) { await blocking(look) }
            ?? Finding(
                name, .cannotCreate, "the file system does not answer", fix: "check the disk or the network drive")
        report(finding)
        return finding
    }

    // MARK: The private network

    private func checkPrivateNetwork(_ user: String, _ plan: ConnectionPlan, now: Timestamp) async {
        await checkServerProgram()
        do throws(NetworkError) { _ = try UserName(user) } catch {
            return fail("credentials", CommandFailure(error), fix: "name a user with --as")
        }
        let directory = NetworkDirectory.standard(environment: environment)
        let running = await within(CheckLimit.connection) { () -> Result<(NetworkDescription, Int?)?, NetworkError> in
            do throws(NetworkError) {
                guard let network = try await directory.running() else { return .success(nil) }
                return .success((network, try? await directory.clientCount(of: network)))
            } catch {
                return .failure(error)
            }
        }
        let name = "private network"
        switch running {
        case .success((let network, let clients)?)?:
            let connected = clients.map { ", \($0) connected" } ?? ""
            found(name, .ok, "running at \(network.url)\(connected)")
            await checkRunningNetwork(directory, user, plan, network, now: now)
        case .success(nil)?:
            found(name, .ok, "not running; parley starts it when it is needed, parley network start keeps it")
            if plan.credentials == nil { tellCredentialsToCome(user) }
        case .failure(let error)?: fail(name, CommandFailure(error), fix: "read \(directory.hostLog)")
        case nil:
            found(
                name, .noConnection, "its server does not answer within \(Wording.length(CheckLimit.connection))",
                fix: "run parley network stop --force, then parley network start")
        }
    }

    private func tellCredentialsToCome(_ user: String) {
        found("credentials", .ok, "user \(user) of the private network, made on first use")
    }

    private func checkServerProgram() async {
        let name = "nats-server"
        let path: String
        do throws(NetworkError) {
            path = try ServerExecutable.find(in: environment)
        } catch .serverNotExecutable(let path) {
            return found(
                name, .misconfigured, "PARLEY_NATS_SERVER names \(path), which cannot be run",
                fix: "correct it, or unset it and run ./setup")
        } catch {
            return found(
                name, .misconfigured, "not installed",
                fix: "run ./setup, name it in PARLEY_NATS_SERVER, or use --server")
        }
        if let version = try? await ServerProgram.version(of: path, within: CheckLimit.step) {
            found(name, .ok, "\(version) (\(path))")
        } else {
            found(
                name, .misconfigured, "\(path) does not print its version",
                fix: "name a nats-server in PARLEY_NATS_SERVER, or run ./setup")
        }
    }

    private func checkRunningNetwork(
        _ directory: NetworkDirectory, _ user: String, _ plan: ConnectionPlan, _ network: NetworkDescription,
        now: Timestamp
    ) async {
        do {
            let path = directory.credentialsPath(for: try UserName(user))
            let addresses = try RelayConfiguration.addresses([network.url])
            let credentials: RelayCredentials
            if let given = plan.credentials {
                credentials = given
            } else {
                guard access(path, F_OK) == 0 else {
                    // The first connection creates them; a check must not create a user.
                    tellCredentialsToCome(user)
                    return await check(addresses, .init(servers: .fixed(addresses)), logsIn: false)
                }
                credentials = RelayCredentials(try directory.credentials(for: user))
                report(CredentialsFindings.read(credentials.times, place: path, user: user, now: now))
            }
            var configuration = RelayConfiguration(servers: .fixed(addresses), credentials: credentials, user: user)
            configuration.namespace = plan.namespace
            await check(addresses, configuration)
        } catch let error as NetworkError {
            fail("credentials", CommandFailure(error))
        } catch {
            tell(error, .none)
        }
    }

    // MARK: Servers

    /// Checks the servers of a profile whose credentials cannot be used.
    private func touchServers(_ profile: Profile) async {
        guard let addresses = try? RelayConfiguration.addresses(profile.servers) else { return }
        var configuration = RelayConfiguration(servers: .fixed(addresses))
        do throws(CommandFailure) {
            configuration.proxy = try ProxySetting.choose(
                flag: options.proxy, profile: profile.proxy, servers: addresses, environment)
        } catch {
            return tell(error, .none)
        }
        await check(addresses, configuration, logsIn: false)
    }

    private func check(
        _ addresses: [ServerAddress], _ configuration: RelayConfiguration, logsIn: Bool = true
    ) async {
        let findings = ServerFindings(configuration: configuration)
        if let proxy = configuration.proxy {
            let finding = await findings.touch(proxy)
            report(finding)
            guard finding.outcome == .ok else { return }
        }
        var reached: ServerAddress?
        for address in addresses {
            let finding = logsIn ? await findings.reach(address) : await findings.touch(address)
            report(finding)
            if logsIn, finding.outcome == .ok, reached == nil { reached = address }
        }
        if let reached { await findings.network(reached).forEach(report) }
    }
}
