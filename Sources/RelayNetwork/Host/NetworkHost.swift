import NATS
import NIOConcurrencyHelpers
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
        await directory.host { log throws(NetworkError) in
            let identity = try NetworkIdentity.open(in: directory)
            let program = await ServerProgram.examine(try ServerExecutable.find(in: options.environment))
            if program.version == nil { log.note("\(program.path) does not say its version") }
            try await RunningProcess.end([directory.runningServer].compactMap(\.self), log)
            let server = HostedServer(
                directory: directory, options: options, identity: identity, program: program, log: log,
                listener: try directory.listener())
            return try await supervise(server)
        }
    }

    private func supervise(_ server: HostedServer) async throws(NetworkError) -> Outcome {
        // Held so that no client comes while the network ends.
        let clients = NIOLockedValueBox<FileLock?>(nil)
        defer { withExtendedLifetime(clients) {} }
        let outcome: Outcome? = try await untilOneEnds(
            {
                try await server.keeper.run()
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
        return outcome ?? .stopped
    }

    /// Waits until no client has been there for the idle time-out and nothing keeps the network.
    /// - Returns: the clients' lock.
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

extension NetworkDirectory {
    /// Does a host's work, as the folder's only host, and tells clients why it could not go on.
    func host(_ work: (LogFile) async throws(NetworkError) -> NetworkHost.Outcome) async -> NetworkHost.Outcome {
        do throws(NetworkError) {
            try prepare()
            guard let lock = try await takeHostLock() else { return .alreadyRunning }
            defer { withExtendedLifetime(lock) {} }
            PrivateFile.remove(failureFile)
            PrivateFile.remove(networkFile)
            let log = try LogFile(hostLog)
            log.note("host started")
            do throws(NetworkError) {
                let outcome = try await work(log)
                log.note("host ends: \(outcome)")
                PrivateFile.remove(networkFile)
                return outcome
            } catch {
                log.note("host ends: \(error)")
                PrivateFile.remove(networkFile)
                if error == .cancelled { return .stopped }
                let failure = HostFailure(reason: error.description, isServerMissing: error == .serverMissing)
                try? PrivateFile.writeJSON(failure, to: failureFile)
                return .failed(error)
            }
        } catch {
            return error == .cancelled ? .stopped : .failed(error)
        }
    }
}

/// Whether a network has been without clients for long enough to end.
struct IdleClock: Hashable, Sendable {
    let timeout: Duration
    private var idleSince: ContinuousClock.Instant?

    init(timeout: Duration) {
        self.timeout = timeout
    }

    /// The network was looked at.
    /// - Returns: whether to end it.
    mutating func observe(isUsed: Bool, at now: ContinuousClock.Instant) -> Bool {
        guard !isUsed else {
            idleSince = nil
            return false
        }
        let since = idleSince ?? now
        idleSince = since
        return now - since >= timeout
    }
}
