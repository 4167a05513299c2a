import NATS
import Platform

/// The process behind a private network: it keeps a `nats-server` running, makes what the network needs on it, answers
/// its services, and ends when the network has been unused for a while.
///
/// The application runs it from a hidden subcommand that ``NetworkLease`` starts; one host runs for each folder.
public struct NetworkHost: Sendable {
    /// How a host behaves.
    public struct Options: Sendable {
        /// How long the network stays up without clients.
        public var idleTimeout: Duration = .seconds(30)
        /// How long a server may take to answer for the first time.
        public var startTimeout: Duration = .seconds(15)
        /// Whether TERM, INT and HUP end the host in good order. False leaves signals to the caller's process.
        public var handlesSignals = true
        /// Where `PATH` and `PARLEY_NATS_SERVER` are looked up; the server inherits it.
        public var environment: [String: String]
        /// How many bytes the disk of a folder has left; nil where that is not known.
        package var freeDiskSpace: @Sendable (String) -> Int64? = DiskGuard.freeSpace(of:)

        /// The options of the application's own host.
        public init(environment: [String: String] = ProcessInfo.processInfo.environment) {
            self.environment = environment
        }
    }

    /// How a host's run ended.
    public enum Outcome: Hashable, Sendable {
        /// Another host runs already; there was nothing to do.
        case alreadyRunning
        /// The network was no longer used.
        case idle
        /// A signal or the cancellation of the task ended it.
        case stopped
        /// It could not go on; clients learn why.
        case failed(NetworkError)
    }

    let directory: NetworkDirectory
    let options: Options

    /// Makes the host of a network; nothing happens before ``run()``.
    public init(directory: NetworkDirectory = .standard(), options: Options = Options()) {
        self.directory = directory
        self.options = options
    }

    /// Runs the network until it is idle, a signal comes, the task is cancelled, or it cannot go on. The server has
    /// ended when this returns.
    public func run() async -> Outcome {
        do throws(NetworkError) {
            try directory.prepare()
            guard let lock = try await directory.takeHostLock() else { return .alreadyRunning }
            defer { withExtendedLifetime(lock) {} }
            return await runAlone()
        } catch {
            return .failed(error)
        }
    }

    private func runAlone() async -> Outcome {
        PrivateFile.remove(directory.failureFile)
        PrivateFile.remove(directory.networkFile)
        let ending: Ending
        do throws(NetworkError) {
            let log = try LogFile(directory.hostLog)
            log.note("host started")
            let identity = try NetworkIdentity.open(in: directory, isHost: true)
            let server = await ServerProgram.examine(try ServerExecutable.find(in: options.environment))
            if server.version == nil { log.note("\(server.path) does not say its version") }
            try await StaleServer.end(in: directory, log: log)
            ending = await supervise(
                ServerSupervisor(
                    directory: directory, options: options, identity: identity, server: server, log: log,
                    listener: try directory.listener()))
            log.note("host ends: \(ending.outcome)")
        } catch {
            ending = error == .cancelled ? .stopped : .failed(error)
        }
        PrivateFile.remove(directory.networkFile)
        if case .failed(let error) = ending {
            let failure = HostFailure(reason: error.description, isServerMissing: error == .serverMissing)
            try? PrivateFile.writeJSON(failure, to: directory.failureFile)
        }
        return ending.outcome
    }

    /// Why the supervision ends.
    private enum Ending: Sendable {
        case stopped
        /// No client is left; the lock keeps new ones waiting until the server is gone and a new host can start.
        case idle(FileLock)
        case failed(NetworkError)

        var outcome: Outcome {
            switch self {
            case .stopped: .stopped
            case .idle: .idle
            case .failed(let error): .failed(error)
            }
        }
    }

    private func supervise(_ supervisor: ServerSupervisor) async -> Ending {
        await withTaskGroup(of: Ending.self) { group in
            group.addTask {
                do throws(NetworkError) {
                    try await supervisor.run()
                    return .stopped
                } catch {
                    return error == .cancelled ? .stopped : .failed(error)
                }
            }
            group.addTask {
                do throws(NetworkError) {
                    return .idle(try await untilIdle())
                } catch {
                    return error == .cancelled ? .stopped : .failed(error)
                }
            }
            if options.handlesSignals {
                group.addTask {
                    await EndingSignals.wait()
                    return .stopped
                }
            }
            let first = await group.next() ?? .stopped
            PrivateFile.remove(directory.networkFile)
            group.cancelAll()
            await group.waitForAll()
            return first
        }
    }

    /// Waits until no client has been there for the idle time-out and nothing keeps the network.
    /// - Returns: the clients' lock, held so that no client comes while the network ends.
    private func untilIdle() async throws(NetworkError) -> FileLock {
        var clock = IdleClock(timeout: options.idleTimeout)
        let step = min(Duration.seconds(1), options.idleTimeout / 4)
        while true {
            if let lock = try idleLock(&clock) { return lock }
            try await Pause.sleep(step)
        }
    }

    /// Looks once; the clients' lock when it is time to end. Otherwise the lock is free again on return, or clients
    /// that come during the pause would have to wait.
    private func idleLock(_ clock: inout IdleClock) throws(NetworkError) -> FileLock? {
        let lock = try FileLock.attempt(directory.clientsLock, .exclusive)
        let isUsed = lock == nil || PrivateFile.exists(directory.keepMarker)
        return clock.observe(isUsed: isUsed, at: .now) ? lock : nil
    }
}
