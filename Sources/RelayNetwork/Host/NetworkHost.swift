import Logging
import NATS
import NIOConcurrencyHelpers
import Platform

/// The process behind a private network: keeps a `nats-server` running, makes what the network needs on it, answers its
/// services, and ends once the network has been unused for a while.
///
/// The application runs it from a hidden subcommand that ``NetworkLease`` starts; there is one host per folder.
public struct NetworkHost: Sendable {
    /// The options of a host.
    public struct Options: Sendable {
        /// How long the network stays up without clients.
        public var idleTimeout: Duration = .seconds(30)
        /// How long a server may take until its first answer.
        public var startTimeout: Duration = .seconds(15)
        /// Whether TERM, INT and HUP end the host in order. If false, signals are left to the caller's process.
        public var handlesSignals = true
        /// The environment that provides `PATH` and `PARLEY_NATS_SERVER`; the server inherits it.
        public var environment: [String: String]
        /// Receives the entries of the network's `host.log` and debugging ones; silent by default.
        public var logger = Logger.silent
        /// Returns how many bytes a folder's disk has left; nil if unknown.
        package var freeDiskSpace: @Sendable (String) -> Int64? = DiskGuard.freeSpace(of:)

        /// Makes the default options.
        public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
            self.environment = environment
        }
    }

    /// How a host's run ended.
    public enum Outcome: Hashable, Sendable {
        /// Another host is already running.
        case alreadyRunning
        /// The network was unused.
        case idle
        /// A signal or the task's cancellation ended it.
        case stopped
        /// It could not continue; clients are told why.
        case failed(NetworkError)
    }

    let directory: NetworkDirectory
    let options: Options

    /// Makes the host of a network; nothing happens before ``run()``.
    public init(directory: NetworkDirectory = .standard(), options: Options = Options()) {
        (self.directory, self.options) = (directory, options)
    }

    /// Runs the network until it is idle, is told to end or cannot continue. The server has ended when this returns.
    public func run() async -> Outcome {
        // Held once the network is idle, so that no client joins while it ends.
        let clients = NIOLockedValueBox<FileLock?>(nil)
        defer { withExtendedLifetime(clients) {} }
        return await directory.host(options) { log, server throws(NetworkError) in
            let identity = try NetworkIdentity.open(in: directory)
            try await RunningProcess.end([directory.runningServer].compactMap(\.self), log)
            let hosted = HostedServer(
                directory: directory, options: options, identity: identity, program: server, log: log,
                listener: try directory.listener())
            return try await untilOneEnds(
                {
                    try await hosted.keeper.run()
                    return .stopped
                },
                {
                    let lock = try await untilIdle()
                    clients.withLockedValue { $0 = lock }
                    return .idle
                },
                {
                    await EndingSignals.wait(isWanted: options.handlesSignals)
                    return .stopped
                })
        }
    }

    /// Waits until there was no client for the idle timeout and nothing keeps the network; returns their lock.
    private func untilIdle() async throws(NetworkError) -> FileLock {
        var idleSince: ContinuousClock.Instant?
        while true {
            // Released before the pause, or arriving clients would have to wait.
            do {
                let lock = try FileLock.attempt(directory.clientsLock, .exclusive)
                let isIdle = lock != nil && !PrivateFile.exists(directory.keepMarker)
                idleSince = isIdle ? idleSince ?? .now : nil
                if let lock, let idleSince, .now - idleSince >= options.idleTimeout { return lock }
            }
            try await Pause.sleep(min(.seconds(1), options.idleTimeout / 4))
        }
    }
}

extension NetworkDirectory {
    /// Does a host's work as the folder's only host, and tells clients why it failed.
    func host(
        _ options: NetworkHost.Options,
        _ work: (Logger, ServerProgram) async throws(NetworkError) -> NetworkHost.Outcome
    ) async -> NetworkHost.Outcome {
        do throws(NetworkError) {
            try prepare()
            guard let lock = try await takeHostLock() else { return .alreadyRunning }
            defer { withExtendedLifetime(lock) {} }
            PrivateFile.remove(failureFile)
            PrivateFile.remove(networkFile)
            let log = try LogFile(hostLog).logger(besides: options.logger)
            log.info("host started", metadata: ["folder": "\(path)"])
            defer { PrivateFile.remove(networkFile) }
            do throws(NetworkError) {
                let server = await ServerProgram.examine(try ServerExecutable.find(in: options.environment))
                if server.version == nil {
                    log.warning("the server does not report its version", metadata: ["path": "\(server.path)"])
                }
                let outcome = try await work(log, server)
                log.info("host ends", metadata: ["outcome": "\(outcome)"])
                return outcome
            } catch {
                guard error != .cancelled else {
                    log.info("host ends", metadata: ["outcome": "cancelled"])
                    return .stopped
                }
                log.error("host fails", metadata: ["error": "\(error)"])
                let failure = HostFailure(reason: error.description, isServerMissing: error == .serverMissing)
                try? PrivateFile.writeJSON(failure, to: failureFile)
                return .failed(error)
            }
        } catch {
            return error == .cancelled ? .stopped : .failed(error)
        }
    }
}
