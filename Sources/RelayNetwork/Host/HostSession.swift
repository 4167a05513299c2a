import Logging
import NATS
import NIOConcurrencyHelpers
import Platform

/// The host's work on one running server: waiting for its answer, provisioning, announcing, answering services, and
/// watching over what users make and what the disk holds.
struct HostSession: Sendable {
    let server: HostedServer
    let process: ServerProcess
    let address: ServerAddress
    /// When the server was started, in seconds since 1970: older tokens it read itself.
    let start: Int64
    let answered: @Sendable () -> Void

    private var directory: NetworkDirectory { server.directory }
    private var identity: NetworkIdentity { server.identity }
    private var log: Logger { server.log }

    /// Works until the task is cancelled, which it is when the server ends, or until it cannot go on.
    func run() async throws(NetworkError) {
        defer { PrivateFile.remove(directory.networkFile) }
        // What the server was told of the disk outlives the connection over which it was.
        var isFresh = true
        while true {
            let end = ContinuousClock.now + server.options.startTimeout
            let keeping = try await persist(until: end, every: .milliseconds(20)) {
                try await HostRole.keeping.connect(to: address, identity.issuer, timeout: .seconds(2), logger: log)
            }
            do throws(NetworkError) {
                defer { keeping.closeNow() }
                try await serve(keeping, isFresh: isFresh)
            } catch {
                if Task.isCancelled { throw .cancelled }
                guard case .connection(let cause) = error, cause.isRetryable || !keeping.isOpen else { throw error }
                log.warning("the host's connection ended", metadata: ["error": "\(cause)"])
            }
            isFresh = false
            try await Pause.sleep(.milliseconds(100))
        }
    }

    private func serve(_ keeping: NATSConnection, isFresh: Bool) async throws(NetworkError) {
        let answering = try await HostRole.answering.connect(
            to: address, identity.issuer, timeout: .seconds(2), logger: log)
        defer { answering.closeNow() }
        let jetStream = JetStream(keeping)
        let settings = try directory.settings()
        let plan = NetworkPlan(names: identity.names, settings: settings)
        // Messages that were stored before there were bounds are removed only for the administrator's own bounds.
        let areBoundsSet = PrivateFile.exists(directory.settingsFile)
        let services = try await reached {
            for stream in plan.streams {
                let mayLose = areBoundsSet || stream.name != plan.topics.name
                let part = try await jetStream.provide(stream, losing: mayLose ? [.messages] : [])
                for change in part.changes where !part.withheld.contains(change) {
                    log.notice("a stream was changed", metadata: ["stream": "\(stream.name)", "change": "\(change)"])
                }
            }
            // Grants may have been narrowed while no server ran.
            if let narrowings = try? directory.narrowings(), !narrowings.isEmpty {
                for narrowing in narrowings { try await jetStream.endReaders(of: narrowing, identity.names) }
                directory.forgetNarrowings()
            }
            let services = try NetworkServices(
                answering: answering, jetStream: jetStream, plan: plan, users: directory, issuer: identity.issuer,
                id: NetworkServices.newID(), figures: .init(.init(start: NetworkAdministrator.now)), logger: log)
            if PrivateFile.exists(directory.unalignedMarker) {
                await services.postboxes.align((try? directory.userNames()) ?? [])
                PrivateFile.remove(directory.unalignedMarker)
            }
            try await answering.flush()
            try await keeping.flush()
            return services
        }
        try announce(keeping.info.version)
        try await untilOneEnds(
            { try await services.run() },
            {
                // Requests are answered meanwhile, however many tokens there are.
                try await installNewerTokens(keeping)
                await DiskWatch(
                    directory: directory, identity: identity, folder: directory.store, places: [address],
                    freeSpace: server.options.freeDiskSpace, log: log
                ).run(DiskGuard(reserved: settings.reservedDiskBytes, isFresh: isFresh))
            }, { await NetworkAdministrator(directory: directory, logger: log).finishActs() })
    }

    /// An administrator who acted while this server was starting could not hand it the tokens, so they are installed
    /// now. Acts wait meanwhile: otherwise an older token could replace a newer one.
    private func installNewerTokens(_ connection: NATSConnection) async throws(NetworkError) {
        var lock = try FileLock.attempt(directory.administrationLock, .exclusive)
        while lock == nil {
            guard connection.isOpen else { return }
            try await Pause.sleep(.milliseconds(20))
            lock = try FileLock.attempt(directory.administrationLock, .exclusive)
        }
        defer { withExtendedLifetime(lock) {} }
        let system = try await SystemInterface(at: address, identity: identity)
        defer { system.close() }
        for name in try directory.userNames() {
            guard let record = try directory.record(of: name), record.signed >= start else { continue }
            for account in record.accounts {
                guard let token = try PrivateFile.readText(directory.tokenPath(ofAccount: account)) else { continue }
                // An account that the server has not had to do with yet it reads itself. The imports of others are made
                // anew with every token: requests on their way are lost with the old, and a login may be unanswered.
                guard let known = try await system.token(ofAccount: account), known != token else { continue }
                try await system.install(token)
            }
        }
    }

    private func announce(_ version: String) throws(NetworkError) {
        let names = identity.names
        let description = NetworkDescription(
            servers: ["\(address)"], serverVersion: version, hostPid: getpid(),
            serverPid: directory.runningServer?.pid ?? process.id, namespace: names.namespace, hash: names.hash,
            certificateName: address.certificateName, authorityFile: address.authorityFile,
            listens: server.listener?.text)
        try PrivateFile.writeJSON(description, to: directory.networkFile)
        log.info("the network can be used", metadata: ["server": "\(address)", "version": "\(version)"])
        answered()
    }
}
