import NATS

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The host's work on one running server: waiting for its answer, provisioning, announcing, and answering services.
struct HostSession: Sendable {
    let supervisor: ServerSupervisor
    let process: Subprocess
    let port: Int
    /// What the server began with.
    let installed: InstalledToken

    private var address: ServerAddress { ServerAddress(host: "127.0.0.1", port: port) }

    /// Works until the task is cancelled, which it is when the server ends, or until the server has to start anew, since
    /// the network's users were blocked and are not any more.
    /// - Throws: `NetworkError` when the server does not answer in time or refuses what the network needs.
    func run() async throws(NetworkError) {
        // Whoever was let in once and is refused later was shut out by a block.
        var wasShutOut = installed.wasBlocked
        while let connection = try await firstAnswer(wasShutOut) {
            wasShutOut = true
            do throws(NATSError) {
                try await NetworkProvision(jetStream: JetStream(connection), names: supervisor.identity.names).run()
                let services = try NetworkServices(connection: connection, identity: supervisor.identity)
                try await connection.flush()
                try announce(connection.info.version)
                try await installNewerToken(connection)
                try await services.run()
            } catch {
                connection.closeNow()
                if Task.isCancelled { throw .cancelled }
                if case .authorization = error { return try await waitWhileBlocked() }
                guard error.isRetryable || !connection.isOpen else { throw .connection(error) }
                supervisor.log.note("the service's connection ended: \(error)")
            }
            connection.closeNow()
            try await Pause.sleep(.milliseconds(100))
        }
    }

    /// Connects as the service, as soon as the server lets it; nil when the server has to start anew.
    private func firstAnswer(_ wasShutOut: Bool) async throws(NetworkError) -> NATSConnection? {
        let deadline = ContinuousClock.now + supervisor.options.startTimeout
        while true {
            do throws(NATSError) {
                let options = ConnectOptions(
                    name: "parley network host", authentication: .init(supervisor.identity.service),
                    connectTimeout: .seconds(2))
                return try await NATSConnection.connect(to: address, options: options)
            } catch {
                if Task.isCancelled { throw .cancelled }
                if case .authorization = error, wasShutOut || supervisor.directory.isBlocked {
                    try await waitWhileBlocked()
                    return nil
                }
                guard ContinuousClock.now < deadline else { throw .connection(error) }
            }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    /// An administrator who acted while this server was starting saw no network to tell; it is told now. None acts
    /// meanwhile, or an older token could take the place of a newer one.
    private func installNewerToken(_ connection: NATSConnection) async throws(NATSError) {
        let directory = supervisor.directory
        do throws(NetworkError) {
            guard let lock = try await administrationLock(while: connection) else { return }
            defer { withExtendedLifetime(lock) {} }
            let identity = try NetworkIdentity.open(in: directory)
            let isBlocked = directory.isBlocked
            guard isBlocked || installed.wasBlocked || identity.accountToken != installed.token else { return }
            let system = try await SystemInterface(url: "\(address)", identity: identity)
            defer { system.close() }
            if isBlocked {
                try await system.withdrawAccount(of: identity, in: directory)
            } else {
                try await system.install(identity.accountToken)
            }
        } catch {
            if case .connection(let cause) = error { throw cause }
            throw .invalidArgument(error.description)
        }
    }

    /// The administrators' lock; nil when the connection ends before it is free. Whoever lifts a block holds it until
    /// the server has started anew, which it cannot while this waits.
    private func administrationLock(while connection: NATSConnection) async throws(NetworkError) -> FileLock? {
        while connection.isOpen {
            if let lock = try FileLock.attempt(supervisor.directory.administrationLock, .exclusive) { return lock }
            try await Pause.sleep(.milliseconds(20))
        }
        return nil
    }

    /// The account was withdrawn under this session. Clients learn it from the server, which stays up; when the block
    /// is lifted, the server has to start anew.
    private func waitWhileBlocked() async throws(NetworkError) {
        guard supervisor.directory.isBlocked else { return }
        supervisor.log.note("the network is blocked for its users")
        if !PrivateFile.exists(supervisor.directory.networkFile) {
            let system = try await SystemInterface(url: "\(address)", identity: supervisor.identity)
            defer { system.close() }
            do throws(NATSError) { try announce(system.version) } catch { throw .connection(error) }
        }
        while supervisor.directory.isBlocked { try await Pause.sleep(.milliseconds(100)) }
    }

    private func announce(_ version: String) throws(NATSError) {
        let names = supervisor.identity.names
        let description = NetworkDescription(
            url: "nats://127.0.0.1:\(port)", serverVersion: version, hostPid: getpid(),
            serverPid: process.id, namespace: names.namespace, hash: names.hash)
        do {
            try PrivateFile.writeJSON(description, to: supervisor.directory.networkFile)
        } catch {
            throw .invalidArgument(error.description)
        }
    }
}
