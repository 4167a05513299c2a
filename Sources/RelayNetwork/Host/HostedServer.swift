import Logging
import NATS
import Platform
import Relay

/// The server of a private network, and the host's work for each of its processes.
struct HostedServer: Sendable {
    let directory: NetworkDirectory
    let options: NetworkHost.Options
    let identity: NetworkIdentity
    let program: ServerProgram
    let log: Logger
    let listener: NetworkListener?

    /// The port of a network's newest server; the next one takes it, so that clients find it.
    private struct Record: Codable { var port: Int }

    private struct Run {
        let process: ServerProcess
        let address: ServerAddress
        /// When it was started, in seconds since 1970: it has read older tokens itself.
        let start: Int64
        let answered: @Sendable () -> Void
    }

    var keeper: ProcessKeeper {
        ProcessKeeper(
            name: "nats-server", output: directory.serverLog,
            environment: ChildEnvironment.reduced(options.environment), grace: .seconds(5), givesUp: true, log: log,
            prepare: { () throws(NetworkError) in try start() })
    }

    private func start() throws(NetworkError) -> ProcessKeeper.Start {
        let own = try IdentityFiles(folder: directory.keys).serverTokens()
        // The network's own is signed again, as another version may have exported something else.
        let network = try AccountSigner(directory, identity).networkToken(acceptsMessages: true)
        for (account, token) in [(own.systemAccount, own.system), (identity.account, network)] {
            try PrivateFile.write(token.utf8, to: directory.tokenPath(ofAccount: account.text))
        }
        try AccountSigner.bringUpToDate(directory, mappings: program.isRecent ? .wildcards : .tokens)
        let startTime = NetworkAdministrator.now
        let address: ServerAddress
        if let listener {
            address = try listener.localAddress()
        } else {
            let before = try? PrivateFile.readJSON(Record.self, from: directory.serverFile)
            address = ServerAddress(host: "127.0.0.1", port: try LoopbackPort.choose(preferred: before?.port))
        }
        let configuration = ServerConfiguration(
            port: address.port, operatorToken: own.operator, systemAccount: own.systemAccount.text,
            resolver: directory.resolver, store: directory.store, processFile: directory.serverProcessFile,
            syncInterval: program.isRecent ? try directory.settings().syncInterval : nil,
            host: listener?.host ?? "127.0.0.1", tls: listener?.tls)
        try PrivateFile.write(configuration.text.utf8, to: directory.serverConfiguration)
        try PrivateFile.writeJSON(Record(port: address.port), to: directory.serverFile)
        return .init(command: [program.path, "-c", directory.serverConfiguration]) {
            process, answered throws(NetworkError) in
            try await work(on: Run(process: process, address: address, start: startTime, answered: answered))
        }
    }

    /// Works until the task is cancelled, as at the end of the process, or it cannot continue.
    private func work(on run: Run) async throws(NetworkError) {
        defer { PrivateFile.remove(directory.networkFile) }
        // What the server was told about the disk outlives the connection.
        var isFresh = true
        while true {
            let end = ContinuousClock.now + options.startTimeout
            let keeping = try await persist(until: end, every: .milliseconds(20)) {
                try await HostRole.keeping.connect(
                    to: [run.address], identity.issuer, timeout: .seconds(2), logger: log)
            }
            do throws(NetworkError) {
                defer { keeping.closeNow() }
                try await serve(run, keeping, isFresh: isFresh)
            } catch {
                if Task.isCancelled { throw .cancelled }
                guard case .connection(let cause) = error, cause.isRetryable || !keeping.isOpen else { throw error }
                log.warning("the host's connection ended", metadata: ["error": "\(cause)"])
            }
            isFresh = false
            try await Pause.sleep(.milliseconds(100))
        }
    }

    private func serve(_ run: Run, _ keeping: NATSConnection, isFresh: Bool) async throws(NetworkError) {
        let answering = try await HostRole.answering.connect(
            to: [run.address], identity.issuer, timeout: .seconds(2), logger: log)
        defer { answering.closeNow() }
        let settings = try directory.settings()
        let plan = NetworkPlan(names: identity.names, settings: settings)
        let services = try await reached { try await provision(plan, JetStream(keeping), answering) }
        try announce(run, keeping.info.version)
        try await untilOneEnds(
            { try await services.run() },
            {
                // Requests are answered meanwhile, however many tokens there are.
                try await installNewerTokens(run, keeping)
                await DiskWatch(
                    directory: directory, identity: identity, folder: directory.store, places: [run.address],
                    freeSpace: options.freeDiskSpace, log: log
                ).run(DiskGuard(reserved: settings.reservedDiskBytes, isFresh: isFresh))
            }, { await NetworkAdministrator(directory: directory, logger: log).finishActs() })
    }

    private func provision(
        _ plan: NetworkPlan, _ jetStream: JetStream, _ answering: NATSConnection
    ) async throws -> NetworkServices {
        // Messages from before there were bounds are removed only if the administrator set the bounds.
        let areBoundsSet = PrivateFile.exists(directory.settingsFile)
        for stream in plan.streams {
            let mayLose = areBoundsSet || stream.name != plan.topics.name
            let part = try await jetStream.provide(stream, losing: mayLose ? [.messages] : [])
            part.log(to: log)
        }
        // Grants may have been narrowed while no server ran.
        for narrowing in (try? directory.narrowings()) ?? [] {
            try await jetStream.endReaders(of: narrowing, identity.names)
        }
        let services = try NetworkServices(
            answering: answering, jetStream: jetStream, plan: plan, users: directory, issuer: identity.issuer,
            id: NetworkServices.newID(), figures: .init(.init(start: NetworkAdministrator.now)), logger: log)
        if PrivateFile.exists(directory.unalignedMarker) {
            await services.postboxes.align((try? directory.userNames()) ?? [])
            PrivateFile.remove(directory.unalignedMarker)
        }
        try await answering.flush()
        try await jetStream.connection.flush()
        return services
    }

    /// Installs the tokens of changes made while this server was starting, and deletes the readers of grants they
    /// narrowed. Changes wait meanwhile: an older token could otherwise replace a newer one.
    private func installNewerTokens(_ run: Run, _ connection: NATSConnection) async throws(NetworkError) {
        var lock = try FileLock.attempt(directory.administrationLock, .exclusive)
        while lock == nil {
            guard connection.isOpen else { return }
            try await Pause.sleep(.milliseconds(20))
            lock = try FileLock.attempt(directory.administrationLock, .exclusive)
        }
        defer { withExtendedLifetime(lock) {} }
        let system = try await SystemInterface(at: run.address, identity: identity)
        defer { system.close() }
        for name in try directory.userNames() {
            guard let record = try directory.record(of: name), record.signed >= run.start else { continue }
            for account in record.accounts {
                guard let token = try PrivateFile.readText(directory.tokenPath(ofAccount: account)) else { continue }
                // The server itself reads any account that it has not used yet. The imports of others are replaced with
                // each token: requests in flight are lost with the old ones, and a login may go unanswered.
                guard let known = try await system.token(ofAccount: account), known != token else { continue }
                try await system.install(token)
            }
        }
        let jetStream = JetStream(connection)
        for narrowing in (try? directory.narrowings()) ?? [] {
            try await reached { try await jetStream.endReaders(of: narrowing, identity.names) }
            // If this fails, it is repeated, which does no harm.
            try? directory.forget(narrowing)
        }
    }

    private func announce(_ run: Run, _ version: String) throws(NetworkError) {
        let (names, address) = (identity.names, run.address)
        let description = NetworkDescription(
            servers: ["\(address)"], serverVersion: version, hostPid: getpid(),
            serverPid: directory.runningServer?.pid ?? run.process.id, namespace: names.namespace, hash: names.hash,
            certificateName: address.certificateName, authorityFile: address.authorityFile, listens: listener?.text)
        try PrivateFile.writeJSON(description, to: directory.networkFile)
        log.info("the network can be used", metadata: ["server": "\(address)", "version": "\(version)"])
        run.answered()
    }
}
