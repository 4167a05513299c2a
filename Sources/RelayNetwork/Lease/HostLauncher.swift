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
        var started: Int32?
        while true {
            let isHosted = try FileLock.isHeld(directory.hostLock, against: .shared)
            if isHosted, let description = try await answering() { return description }
            // A host that was just started takes its lock a moment later, and on a busy machine later than that.
            let isAwaited = startedAt.duration(to: .now) <= .seconds(1) || started.map(Self.isLiving) == true
            if !isHosted, starts == 0 || !isAwaited || hasFailed {
                if starts > 0, let failure = try? PrivateFile.readJSON(HostFailure.self, from: directory.failureFile) {
                    throw failure.isServerMissing ? .serverMissing : .hostFailed(failure.reason)
                }
                guard starts < 3 else {
                    throw .hostNotStarted(reason: "its host ends at once; \(directory.hostLog) may say why")
                }
                PrivateFile.remove(directory.failureFile)
                started = try launch()
                starts += 1
                startedAt = .now
            }
            guard ContinuousClock.now < deadline else { throw .timedOut("Starting the private network") }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    /// The running network, when there is one that answers.
    func answering() async throws(NetworkError) -> NetworkDescription? {
        guard let description = try? PrivateFile.readJSON(NetworkDescription.self, from: directory.networkFile)
        else { return nil }
        return await ServerProbe.answers(at: description.url) ? description : nil
    }

    private var hasFailed: Bool { PrivateFile.exists(directory.failureFile) }

    /// One that has ended and waits for its parent's attention has no arguments any more.
    private static func isLiving(_ process: Int32) -> Bool { ProcessArguments.read(of: process) != nil }

    private func launch() throws(NetworkError) -> Int32 {
        let log = try LogFile(directory.hostLog)
        return try ProcessStart.start(
            command, environment: ChildEnvironment.reduced(environment), output: log.descriptor, place: .detached
        ).get()
    }
}
