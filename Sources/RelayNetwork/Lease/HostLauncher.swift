import Platform

/// Starts a network's host when there is none, and waits until the network answers.
struct HostLauncher: Sendable {
    let directory: NetworkDirectory
    let command: [String]
    let environment: [String: String]

    /// Waits for a network that answers, starting the host as often as it is missing, at most three times.
    func ensureRunning(within timeout: Duration) async throws(NetworkError) -> NetworkDescription {
        let deadline = ContinuousClock.now + timeout
        var starts = 0
        var startedAt = ContinuousClock.now
        var process: pid_t?
        var wasHosted = false
        while true {
            let isHosted = try FileLock.isHeld(directory.hostLock, against: .shared)
            if isHosted, let description = try await directory.running() { return description }
            // Whoever stops a network means also those who wait for it.
            wasHosted = wasHosted || isHosted
            if !isHosted, wasHosted, PrivateFile.exists(directory.stopMarker) {
                throw .hostFailed("It was stopped while it was being started.")
            }
            // A host that was just started takes its lock a moment later, on a busy machine some seconds.
            // While it runs it is waited for.
            let hasFailed = PrivateFile.exists(directory.failureFile)
            let isGone = startedAt.duration(to: .now) > .seconds(1) && !(process.map(RunningProcess.exists) ?? false)
            if !isHosted, starts == 0 || hasFailed || isGone {
                if starts > 0, let failure = try? PrivateFile.readJSON(HostFailure.self, from: directory.failureFile) {
                    throw failure.isServerMissing ? .serverMissing : .hostFailed(failure.reason)
                }
                guard starts < 3 else {
                    throw .hostNotStarted(reason: "its host ends at once; \(directory.hostLog) may say why")
                }
                PrivateFile.remove(directory.failureFile)
                PrivateFile.remove(directory.stopMarker)
                // Its descriptor is closed with it.
                let log = try LogFile(directory.hostLog)
                process = try withExtendedLifetime(log) {
                    ProcessStart.start(
                        command, environment: ChildEnvironment.reduced(environment), output: log.descriptor,
                        place: .detached)
                }.get()
                starts += 1
                startedAt = .now
            }
            guard ContinuousClock.now < deadline else { throw .timedOut("Starting the network") }
            try await Pause.sleep(.milliseconds(20))
        }
    }
}

/// Why a host gave up, for the client that started it.
struct HostFailure: Codable, Hashable, Sendable {
    /// A whole sentence.
    var reason: String
    /// Whether a server is missing, which clients say in their own words.
    var isServerMissing: Bool
}

extension NetworkDirectory {
    /// Has the hosts of the folder end, one after the other, until there is none and the last one's process is gone.
    /// - Parameters:
    ///   - kills: whether one that does not end in time is ended by force.
    ///   - host: the process of the present one, as far as that is known.
    func endHost(
        within timeout: Duration, kills: Bool = false, _ host: () -> RunningProcess?
    ) async throws(NetworkError) {
        let deadline = ContinuousClock.now + timeout
        var asked: RunningProcess?
        func isLate(by grace: Duration = .zero) -> Bool { ContinuousClock.now >= deadline + grace }
        while try isHosted() {
            // Another host may follow the first, when a client was about to start one.
            if let host = host(), host.isRunning {
                let isForced = kills && isLate()
                if isForced || host != asked { kill(host.pid, isForced ? SIGKILL : SIGTERM) }
                asked = host
            }
            guard !isLate(by: kills ? .seconds(5) : .zero) else { throw .timedOut("Ending the network") }
            try await Pause.sleep(.milliseconds(20))
        }
        // A host gives its lock back before its process is gone, and whoever stops a network expects to find nothing
        // of it.
        while let asked, asked.pid != getpid(), asked.isRunning, kills || !isLate() {
            if isLate() { kill(asked.pid, SIGKILL) }
            try await Pause.sleep(.milliseconds(5))
        }
    }
}
