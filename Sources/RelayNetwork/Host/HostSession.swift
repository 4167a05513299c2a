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
    let process: ChildProcess
    let port: Int
    /// The application account's token that the server began with.
    let installedToken: String

    private var address: ServerAddress { ServerAddress(host: "127.0.0.1", port: port) }

    /// Works until the task is cancelled, which it is when the server ends.
    /// - Throws: `NetworkError` when the server does not answer in time or refuses what the network needs, and when it
    ///   has to start anew because the network's users were blocked and are not any more.
    func run() async throws(NetworkError) {
        while true {
            let connection = try await firstAnswer()
            do throws(NATSError) {
                try await NetworkProvision(jetStream: JetStream(connection), names: supervisor.identity.names).run()
                let services = try NetworkServices(connection: connection, identity: supervisor.identity)
                try await connection.flush()
                try announce(connection.info.version)
                try await installNewerToken()
                try await services.run()
            } catch {
                connection.closeNow()
                if Task.isCancelled { throw .cancelled }
                if case .authorization = error { try await waitWhileBlocked() }
                guard error.isRetryable || !connection.isOpen else { throw .connection(error) }
                supervisor.log.note("the service's connection ended: \(error)")
            }
            connection.closeNow()
            try await Pause.sleep(.milliseconds(100))
        }
    }

    /// Connects as the service, as soon as the server lets it.
    private func firstAnswer() async throws(NetworkError) -> NATSConnection {
        let deadline = ContinuousClock.now + supervisor.options.startTimeout
        while true {
            do throws(NATSError) {
                let options = ConnectOptions(
                    name: "parley network host", authentication: .init(supervisor.identity.service),
                    connectTimeout: .seconds(2))
                return try await NATSConnection.connect(to: address, options: options)
            } catch {
                if Task.isCancelled { throw .cancelled }
                if case .authorization = error, supervisor.directory.isBlocked { try await waitWhileBlocked() }
                guard ContinuousClock.now < deadline else { throw .connection(error) }
            }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    /// An administrator who acted while this server was starting saw no network to tell; it is told now.
    private func installNewerToken() async throws(NATSError) {
        let directory = supervisor.directory
        do throws(NetworkError) {
            let identity = try NetworkIdentity.open(in: directory)
            guard identity.accountToken != installedToken, !directory.isBlocked else { return }
            let system = try await SystemInterface(url: "\(address)", identity: identity)
            defer { system.close() }
            try await system.install(identity.accountToken)
        } catch {
            if case .connection(let cause) = error { throw cause }
            throw .invalidArgument(error.description)
        }
    }

    /// The account was withdrawn under this session. Clients learn it from the server, which stays up; when the block
    /// is lifted, the server has to start anew.
    private func waitWhileBlocked() async throws(NetworkError) {
        supervisor.log.note("the network is blocked for its users")
        if !PrivateFile.exists(supervisor.directory.networkFile) {
            let system = try await SystemInterface(url: "\(address)", identity: supervisor.identity)
            defer { system.close() }
            do throws(NATSError) { try announce(system.version) } catch { throw .connection(error) }
        }
        while supervisor.directory.isBlocked { try await Pause.sleep(.milliseconds(100)) }
        throw .serverFailed("the network is not blocked any more; the server starts anew.")
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
