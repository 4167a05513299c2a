import Platform

/// The private network as a background service: `parley network start` and `stop`.
public enum NetworkControl {
    /// What `stop` did.
    public enum StopOutcome: Hashable, Sendable {
        /// The network did not run.
        case notRunning
        /// The network has ended.
        case stopped
        /// Clients still use it; it ends soon after the last has left.
        case inUse
    }

    /// Starts the network and keeps it running without clients, until ``stop(directory:evenIfUsed:)``.
    /// - Parameters:
    ///   - listener: where it listens, until it is stopped; nil for what was asked for last.
    ///   - hostCommand: as for ``NetworkLease/acquire(directory:hostCommand:environment:timeout:)``.
    /// - Throws: as that, and `NetworkError.invalidListener` when it runs already and listens elsewhere.
    public static func start(
        directory: NetworkDirectory = .standard(), listener: NetworkListener? = nil, hostCommand: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment, timeout: Duration = .seconds(30)
    ) async throws(NetworkError) -> NetworkDescription {
        let before = try keep(directory, listener)
        let lease: NetworkLease
        do throws(NetworkError) {
            lease = try await NetworkLease.acquire(
                directory: directory, hostCommand: hostCommand, environment: environment, timeout: timeout)
        } catch {
            if !before.isKept { PrivateFile.remove(directory.keepMarker) }
            try? directory.keep(before.listener)
            throw error
        }
        defer { lease.release() }
        return lease.description
    }

    /// Runs the network in this process, as a service manager wants it, until a signal ends it. Without clients, too.
    /// - Parameter listener: where it listens meanwhile; nil for 127.0.0.1 alone.
    /// - Throws: why it could not go on, and `NetworkError.invalidListener` when it runs already.
    public static func run(
        directory: NetworkDirectory = .standard(), listener: NetworkListener? = nil,
        options: NetworkHost.Options = .init()
    ) async throws(NetworkError) {
        try directory.prepare()
        // One that runs goes on as it was asked to.
        guard try !directory.isHosted() else { throw alreadyRuns }
        _ = try keep(directory, listener)
        let outcome = await NetworkHost(directory: directory, options: options).run()
        // Somebody was quicker, and what is kept is theirs.
        guard outcome != .alreadyRunning else { throw alreadyRuns }
        // Otherwise a client of this machine would have it listen there again.
        try? forget(directory)
        if case .failed(let error) = outcome { throw error }
    }

    private static let alreadyRuns = NetworkError.invalidListener(
        "The network runs already: end it with `parley network stop`, and start it again.")

    private static func keep(
        _ directory: NetworkDirectory, _ listener: NetworkListener?
    ) throws(NetworkError) -> (listener: NetworkListener?, isKept: Bool) {
        try directory.prepare()
        let before = try (listener: directory.listener(), isKept: PrivateFile.exists(directory.keepMarker))
        if let listener, listener != before.listener {
            guard try !directory.isHosted() else { throw alreadyRuns }
            try directory.keep(listener)
        }
        try PrivateFile.write([], to: directory.keepMarker)
        return before
    }

    private static func forget(_ directory: NetworkDirectory) throws(NetworkError) {
        PrivateFile.remove(directory.keepMarker)
        try directory.keep(nil)
    }

    /// Lets the network end: now if it is unused, otherwise soon after the last client has left.
    /// - Parameter evenIfUsed: ends it now in any case; clients that reconnect start it again.
    /// - Throws: `NetworkError.timedOut` when it does not end.
    @discardableResult
    public static func stop(
        directory: NetworkDirectory = .standard(), evenIfUsed: Bool = false, timeout: Duration = .seconds(20)
    ) async throws(NetworkError) -> StopOutcome {
        try forget(directory)
        guard try directory.isHosted() else { return .notRunning }
        // Held until the end of the network, so that no client comes in between. The host has it for a moment now and
        // then, as it looks for clients, which on a busy machine is longer.
        let clients = try await FileLock.wait(directory.clientsLock, .exclusive, for: .seconds(1))
        guard clients != nil || evenIfUsed else { return .inUse }
        defer { withExtendedLifetime(clients) {} }
        try await directory.endHost(within: timeout) {
            // The lock is held by a host and the file is removed by its end, so the id is the host's.
            ((try? directory.announced()) ?? nil).flatMap { RunningProcess($0.hostPid) }
        }
        return .stopped
    }
}
