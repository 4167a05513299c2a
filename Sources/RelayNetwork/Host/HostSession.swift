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

    private var address: ServerAddress { ServerAddress(host: "127.0.0.1", port: port) }

    /// Works until the task is cancelled, which it is when the server ends.
    /// - Throws: `NetworkError` when the server does not answer in time or refuses what the network needs.
    func run() async throws(NetworkError) {
        while true {
            let connection = try await firstAnswer()
            do throws(NATSError) {
                try await NetworkProvision(jetStream: JetStream(connection), names: supervisor.identity.names).run()
                let services = try NetworkServices(connection: connection, identity: supervisor.identity)
                try await connection.flush()
                try announce(connection)
                try await services.run()
            } catch {
                connection.closeNow()
                if Task.isCancelled { throw .cancelled }
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
                guard ContinuousClock.now < deadline else { throw .connection(error) }
            }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    private func announce(_ connection: NATSConnection) throws(NATSError) {
        let names = supervisor.identity.names
        let description = NetworkDescription(
            url: "nats://127.0.0.1:\(port)", serverVersion: connection.info.version, hostPid: getpid(),
            serverPid: process.id, namespace: names.namespace, hash: names.hash)
        do {
            try PrivateFile.writeJSON(description, to: supervisor.directory.networkFile)
        } catch {
            throw .invalidArgument(error.description)
        }
    }
}
