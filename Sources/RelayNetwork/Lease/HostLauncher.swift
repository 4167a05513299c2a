import Platform

/// What a host writes into `network.json` while its network can be used.
protocol HostAnnouncement: Codable, Sendable {
    /// What is said not to have ended in time where its network does not start.
    static var starting: String { get }
    /// The process that looks after the network.
    var hostPid: Int32 { get }
    /// Whether the network's servers are there.
    func answers() async throws(NetworkError) -> Bool
}

extension NetworkDescription: HostAnnouncement {
    static var starting: String { "Starting the private network" }

    func answers() async throws(NetworkError) -> Bool { await ServerProbe.answers(at: try address()) }
}

/// Of a network whose one server runs on this machine.
typealias HostLauncher = DetachedHost<NetworkDescription>

/// Starts a network's host when there is none, and waits until the network answers.
struct DetachedHost<Announcement: HostAnnouncement>: Sendable {
    let directory: NetworkDirectory
    let command: [String]
    let environment: [String: String]

    /// Waits for a network that answers, starting the host as often as it is missing, at most three times.
    func ensureRunning(within timeout: Duration) async throws(NetworkError) -> Announcement {
        let deadline = ContinuousClock.now + timeout
        var starts = 0
        var startedAt = ContinuousClock.now
        var process: pid_t?
        var wasHosted = false
        while true {
            let isHosted = try FileLock.isHeld(directory.hostLock, against: .shared)
            if isHosted, let description = try await answering() { return description }
            // Whoever stops a network means also those who wait for it.
            wasHosted = wasHosted || isHosted
            if !isHosted, wasHosted, PrivateFile.exists(directory.stopMarker) {
                throw .hostFailed("It was stopped while it was being started.")
            }
            // A host that was just started takes its lock a moment later, on a busy machine some seconds.
            // While it runs it is waited for.
            let isLate = startedAt.duration(to: .now) > .seconds(1)
            if !isHosted, starts == 0 || hasFailed || isLate && !Self.isRunning(process) {
                if starts > 0, let failure = try? PrivateFile.readJSON(HostFailure.self, from: directory.failureFile) {
                    throw failure.isServerMissing ? .serverMissing : .hostFailed(failure.reason)
                }
                guard starts < 3 else {
                    throw .hostNotStarted(reason: "its host ends at once; \(directory.hostLog) may say why")
                }
                PrivateFile.remove(directory.failureFile)
                PrivateFile.remove(directory.stopMarker)
                process = try launch()
                starts += 1
                startedAt = .now
            }
            guard ContinuousClock.now < deadline else { throw .timedOut(Announcement.starting) }
            try await Pause.sleep(.milliseconds(20))
        }
    }

    /// The running network, when there is one that answers.
    func answering() async throws(NetworkError) -> Announcement? {
        guard let description = try? PrivateFile.readJSON(Announcement.self, from: directory.networkFile)
        else { return nil }
        return try await description.answers() ? description : nil
    }

    private var hasFailed: Bool { PrivateFile.exists(directory.failureFile) }

    private static func isRunning(_ process: pid_t?) -> Bool {
        process.map(RunningProcess.exists) ?? false
    }

    private func launch() throws(NetworkError) -> pid_t {
        let log = try LogFile(directory.hostLog)
        return try ProcessStart.start(
            command, environment: ChildEnvironment.reduced(environment), output: log.descriptor, place: .detached
        ).get()
    }
}
