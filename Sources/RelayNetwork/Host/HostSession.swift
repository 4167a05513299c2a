import NATS
import Platform

/// The host's work on one running server: waiting for its answer, provisioning, announcing, answering services, and
/// watching over what users make and what the disk holds.
struct HostSession: Sendable {
    let supervisor: ServerSupervisor
    let process: ServerProcess
    /// Where the server is reached.
    let address: ServerAddress
    /// When the server was started, in seconds since 1970: older tokens it read itself.
    let start: Int64

    /// Works until the task is cancelled, which it is when the server ends.
    /// - Throws: `NetworkError` when the server does not answer in time or refuses what the network needs.
    func run() async throws(NetworkError) {
        // What the server was told of the disk outlives the connection over which it was.
        var isFresh = true
        while true {
            let keeping = try await firstAnswer()
            do throws(NetworkError) {
                try await serve(keeping, isFresh: isFresh)
            } catch {
                keeping.closeNow()
                if Task.isCancelled { throw .cancelled }
                guard case .connection(let cause) = error, cause.isRetryable || !keeping.isOpen else { throw error }
                supervisor.log.note("the host's connection ended: \(cause)")
            }
            isFresh = false
            keeping.closeNow()
            try await Pause.sleep(.milliseconds(100))
        }
    }

    /// Provisions, announces and serves until the connection ends.
    /// - Parameter isFresh: whether it is the first time since the server started.
    private func serve(_ keeping: NATSConnection, isFresh: Bool) async throws(NetworkError) {
        let (directory, identity) = (supervisor.directory, supervisor.identity)
        let answering = try await HostRole.answering.connect(to: address, identity.issuer)
        defer { answering.closeNow() }
        let jetStream = JetStream(keeping)
        let settings = try directory.settings()
        do throws(NATSError) {
            let plan = NetworkPlan(names: identity.names, settings: settings)
            let areBoundsSet = PrivateFile.exists(directory.settingsFile)
            for change in try await jetStream.provide(plan, areBoundsSet: areBoundsSet) {
                supervisor.log.note("changed \(change)")
            }
            let postboxes = try PostboxService(jetStream: jetStream, plan: plan, users: directory)
            if PrivateFile.exists(directory.unalignedMarker) {
                await postboxes.align((try? directory.userNames()) ?? [])
                PrivateFile.remove(directory.unalignedMarker)
            }
            try await endReaders(jetStream)
            let services = try ServiceSession(
                answering: answering, jetStream: jetStream, plan: plan, users: directory, issuer: identity.issuer,
                postboxes: postboxes, note: { [log = supervisor.log] in log.note($0) })
            let diskGuard = DiskGuard(reserved: settings.reservedDiskBytes, isFresh: isFresh)
            try await answering.flush()
            try await keeping.flush()
            try announce(keeping.info.version)
            if let failure = await untilOneEnds(services, keeping, diskGuard) { throw failure }
        } catch {
            throw .connection(error)
        }
    }

    /// Ends the readers of grants that were narrowed while no server ran.
    private func endReaders(_ jetStream: JetStream) async throws(NATSError) {
        let (directory, names) = (supervisor.directory, supervisor.identity.names)
        guard let narrowings = try? directory.narrowings(), !narrowings.isEmpty else { return }
        for narrowing in narrowings {
            try await jetStream.endReaders(of: narrowing.lost, besides: narrowing.kept, names)
        }
        directory.forgetNarrowings()
    }

    /// Does the host's work as long as the connection is open.
    private func untilOneEnds(
        _ services: ServiceSession, _ keeping: NATSConnection, _ diskGuard: DiskGuard
    ) async -> NATSError? {
        await withTaskGroup(of: NATSError?.self) { group in
            group.addTask {
                do throws(NATSError) { try await services.run() } catch { return error }
                return nil
            }
            group.addTask {
                // Requests are answered meanwhile, however many tokens there are.
                do throws(NATSError) { try await installNewerTokens(keeping) } catch { return error }
                let (directory, identity) = (supervisor.directory, supervisor.identity)
                await DiskWatch(
                    directory: directory, identity: identity, folder: directory.store, places: [address],
                    freeSpace: supervisor.options.freeDiskSpace, log: supervisor.log
                ).run(diskGuard)
                return nil
            }
            group.addTask {
                await NetworkAdministrator(directory: supervisor.directory).finishActs(supervisor.log)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }

    /// Connects as soon as the server lets it.
    private func firstAnswer() async throws(NetworkError) -> NATSConnection {
        let deadline = ContinuousClock.now + supervisor.options.startTimeout
        while true {
            do throws(NetworkError) {
                return try await HostRole.keeping.connect(to: address, supervisor.identity.issuer)
            } catch {
                if Task.isCancelled { throw .cancelled }
                guard ContinuousClock.now < deadline else { throw error }
            }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    /// An administrator who acted while this server was starting could not hand it the tokens, so they are installed
    /// now. Acts wait meanwhile: otherwise an older token could replace a newer one.
    private func installNewerTokens(_ connection: NATSConnection) async throws(NATSError) {
        let directory = supervisor.directory
        do throws(NetworkError) {
            guard let lock = try await administrationLock(while: connection) else { return }
            defer { withExtendedLifetime(lock) {} }
            let system = try await SystemInterface(at: address, identity: supervisor.identity)
            defer { system.close() }
            for name in try directory.userNames() {
                guard let record = try directory.record(of: name), record.signed >= start else { continue }
                for account in record.accounts {
                    guard let token = try PrivateFile.read(directory.tokenPath(ofAccount: account)) else { continue }
                    let text = String(decoding: token, as: UTF8.self)
                    // An account's imports are made anew with every token, and requests on their way are lost with the
                    // old.
                    guard try await system.token(ofAccount: account) != text else { continue }
                    try await system.install(text)
                }
            }
        } catch {
            if case .connection(let cause) = error { throw cause }
            throw .invalidArgument(error.description)
        }
    }

    /// The administrators' lock; nil when the connection ends before it is free.
    private func administrationLock(while connection: NATSConnection) async throws(NetworkError) -> FileLock? {
        while connection.isOpen {
            if let lock = try FileLock.attempt(supervisor.directory.administrationLock, .exclusive) { return lock }
            try await Pause.sleep(.milliseconds(20))
        }
        return nil
    }

    private func announce(_ version: String) throws(NATSError) {
        let names = supervisor.identity.names
        let description = NetworkDescription(
            url: "\(address)", serverVersion: version, hostPid: getpid(),
            serverPid: supervisor.directory.runningServer ?? process.id, namespace: names.namespace, hash: names.hash,
            certificateName: address.certificateName, authorityFile: address.authorityFile,
            listens: supervisor.listener?.text)
        do {
            try PrivateFile.writeJSON(description, to: supervisor.directory.networkFile)
        } catch {
            throw .invalidArgument(error.description)
        }
    }
}
