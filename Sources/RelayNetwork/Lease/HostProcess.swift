import Platform

struct HostFailure: Codable, Hashable, Sendable {
    var reason: String
    /// Whether the server is missing, which clients report in their own words.
    var isServerMissing: Bool
}

extension NetworkDirectory {
    /// Waits until the network answers, starting its host whenever it is missing, at most three times.
    func ensureHosted(
        by command: [String], _ environment: [String: String], within timeout: Duration
    ) async throws(NetworkError) -> NetworkDescription {
        var starts = 0
        var startedAt = ContinuousClock.now
        var process: pid_t?
        var wasHosted = false
        return try await awaited("Starting the network", within: timeout) { () throws(NetworkError) in
            let isHosted = try FileLock.isHeld(hostLock, against: .shared)
            if isHosted, let description = try await running() { return description }
            // Stopping a network also stops those who wait for it.
            wasHosted = wasHosted || isHosted
            if !isHosted, wasHosted, PrivateFile.exists(stopMarker) {
                throw .hostFailed("It was stopped while it was being started.")
            }
            // A new host may take seconds to take its lock; while it runs, wait for it.
            let isGone = startedAt.duration(to: .now) > .seconds(1) && !(process.map(RunningProcess.exists) ?? false)
            guard !isHosted, starts == 0 || PrivateFile.exists(failureFile) || isGone else { return nil }
            if starts > 0, let failure = try? PrivateFile.readJSON(HostFailure.self, from: failureFile) {
                throw failure.isServerMissing ? .serverMissing : .hostFailed(failure.reason)
            }
            guard starts < 3 else { throw .hostNotStarted(reason: "its host ends at once; \(hostLog) may say why") }
            PrivateFile.remove(failureFile)
            PrivateFile.remove(stopMarker)
            // Its descriptor is closed with it.
            let log = try LogFile(hostLog)
            process = try withExtendedLifetime(log) {
                ProcessStart.start(
                    command, environment: ChildEnvironment.reduced(environment), output: log.descriptor,
                    place: .detached)
            }.get()
            starts += 1
            startedAt = .now
            return nil
        }
    }

    /// Ends the folder's hosts, one after another, until there is none and the last one's process is gone.
    /// - Parameter kills: whether to kill one that does not end in time.
    func endHost(
        within timeout: Duration, kills: Bool = false, _ host: () -> RunningProcess?
    ) async throws(NetworkError) {
        let deadline = ContinuousClock.now + timeout
        var asked: RunningProcess?
        func isLate(by grace: Duration = .zero) -> Bool { ContinuousClock.now >= deadline + grace }
        while try isHosted() {
            // Another host may follow the first, if a client was about to start one.
            if let host = host(), host.isRunning {
                let isForced = kills && isLate()
                if isForced || host != asked { kill(host.pid, isForced ? SIGKILL : SIGTERM) }
                asked = host
            }
            guard !isLate(by: kills ? .seconds(5) : .zero) else { throw .timedOut("Ending the network") }
            try await Pause.sleep(.milliseconds(20))
        }
        // A host releases its lock before its process is gone, but a stopped network should leave no process.
        while let asked, asked.pid != getpid(), asked.isRunning, kills || !isLate() {
            if isLate() { kill(asked.pid, SIGKILL) }
            try await Pause.sleep(.milliseconds(5))
        }
    }
}
