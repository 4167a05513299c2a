import Platform

/// The private network as a background service: `parley network start` and `stop`.
public enum NetworkControl {
    /// The outcome of `stop`.
    public enum StopOutcome: Hashable, Sendable {
        /// The network was not running.
        case notRunning
        /// The network has ended.
        case stopped
        /// Clients still use it; it ends soon after the last one leaves.
        case inUse
    }

    /// Starts the network and keeps it running, with or without clients, until ``stop(directory:evenIfUsed:)``.
    /// - Parameters:
    ///   - listener: where it listens until it is stopped; nil for the last one that was given.
    ///   - hostCommand: as for ``NetworkLease/acquire(directory:hostCommand:environment:timeout:)``.
    /// - Throws: as that, and `NetworkError.invalidListener` if it is already running and listens elsewhere.
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

    /// Runs the network in this process, with or without clients, until a signal ends it: for a service manager.
    /// - Parameter listener: where it listens; nil for 127.0.0.1 only.
    /// - Throws: why it could not continue, and `NetworkError.invalidListener` if it is already running.
    public static func run(
        directory: NetworkDirectory = .standard(), listener: NetworkListener? = nil,
        options: NetworkHost.Options = .init()
    ) async throws(NetworkError) {
        try directory.prepare()
        // A running one keeps its options.
        guard try !directory.isHosted() else { throw alreadyRuns }
        _ = try keep(directory, listener)
        let outcome = await NetworkHost(directory: directory, options: options).run()
        // Another process was quicker, and the marker and the listener are its own.
        guard outcome != .alreadyRunning else { throw alreadyRuns }
        // Otherwise a client on this machine would listen there again.
        try? forget(directory)
        if case .failed(let error) = outcome { throw error }
    }

    private static let alreadyRuns = NetworkError.invalidListener(
        "The network is already running: stop it with `parley network stop`, then start it again.")

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

    /// Ends the network: now if it is unused, otherwise soon after the last client leaves.
    /// - Parameter evenIfUsed: ends it now in any case; clients that reconnect start it again.
    /// - Throws: `NetworkError.timedOut` if it does not end.
    @discardableResult
    public static func stop(
        directory: NetworkDirectory = .standard(), evenIfUsed: Bool = false, timeout: Duration = .seconds(20)
    ) async throws(NetworkError) -> StopOutcome {
        try forget(directory)
        guard try directory.isHosted() else { return .notRunning }
        // Held until the network ends, so that no client joins meanwhile. The host itself takes it briefly now and then
        // to look for clients, for longer on a busy machine.
        let clients = try await FileLock.wait(directory.clientsLock, .exclusive, for: .seconds(1))
        guard clients != nil || evenIfUsed else { return .inUse }
        defer { withExtendedLifetime(clients) {} }
        try await directory.endHost(within: timeout) {
            // The host holds the lock and removes the file when it ends, so the id is the host's.
            (try? directory.announced()).flatMap { RunningProcess($0.hostPid) }
        }
        return .stopped
    }
}
