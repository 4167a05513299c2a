import Platform

// The cluster as a background service: `parley network cluster start` and `stop`.
extension LocalCluster {
    /// Starts the cluster and keeps it running until ``stop(timeout:)``. What was stored before is there again.
    /// - Parameters:
    ///   - hostCommand: the path of an executable and its arguments that run ``LocalClusterHost/run()`` for this
    ///     folder.
    ///   - environment: the environment of the host, in which it also looks for the server.
    ///   - timeout: how long all of it may take.
    /// - Returns: the running cluster, and whether it ran before.
    /// - Throws: `NetworkError.invalidProvision` where the folder is another network's, `.serverMissing`, `.hostFailed`
    ///   with the host's own reason, `.hostNotStarted`, `.timedOut`, `.file`, `.damaged` or `.cancelled`.
    public func start(
        hostCommand: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
        timeout: Duration = .seconds(180)
    ) async throws(NetworkError) -> (cluster: NetworkDescription, ranBefore: Bool) {
        try check()
        try directory.checkServer(environment: environment)
        try directory.prepare()
        if let running = try await running() { return (running, true) }
        let host = HostLauncher(directory: directory, command: hostCommand, environment: environment)
        return (try await host.ensureRunning(within: timeout), false)
    }

    /// Whether somebody looks after the cluster, so that what has ended comes back.
    public func isHosted() throws(NetworkError) -> Bool { try directory.isHosted() }

    /// The cluster, when it runs and more than half of its servers answer.
    public func running() async throws(NetworkError) -> NetworkDescription? { try await directory.running() }

    /// Whether it has come so far since its host began that it could be used.
    public func isAnnounced() throws(NetworkError) -> Bool { try directory.announced() != nil }

    /// Ends the servers; what is stored stays.
    /// - Returns: false when nothing of it ran.
    /// - Throws: `NetworkError.file`, `.timedOut` when it does not end, `.cancelled`.
    @discardableResult
    public func stop(timeout: Duration = .seconds(40)) async throws(NetworkError) -> Bool {
        guard PrivateFile.exists(directory.hostLock) else { return false }
        let ran = try directory.isHosted()
        // Before its end, so that nobody who waits for the cluster starts it again.
        if ran { try PrivateFile.write([], to: directory.stopMarker) }
        // The one that does not end in time is ended, and what it leaves behind after it.
        try await directory.endHost(within: timeout, kills: true) { processes()?.host }
        // Held meanwhile, so that a host that begins now does not see its own processes end.
        guard let lock = try await FileLock.wait(directory.hostLock, .exclusive, for: .seconds(1)) else { return ran }
        defer { withExtendedLifetime(lock) {} }
        try await endServers(nil)
        PrivateFile.remove(directory.networkFile)
        return ran
    }

    /// The process of each server that runs, by the server's name.
    package func serverProcesses() -> [String: Int32] {
        var found: [String: Int32] = [:]
        for (index, server) in (processes()?.servers ?? []).enumerated() {
            if let process = server.process { found[self.server(index).name] = process.pid }
        }
        return found
    }

    /// Makes somebody of this machine a user of the network, as far as that was not done.
    /// - Returns: the file with the credentials.
    /// - Throws: as ``NetworkAdministrator/add(user:topics:expires:)``.
    public func credentials(for user: String) async throws(NetworkError) -> String {
        let name = try UserName(user)
        let path = directory.credentialsPath(for: name)
        let isKnown = try directory.record(of: name) != nil && PrivateFile.exists(path)
        if !isKnown || directory.unpublishedUsers().contains(name) {
            try directory.checkOwnKey(of: name)
            _ = try await NetworkAdministrator(directory: directory).add(user: user, for: .identity)
        }
        return path
    }
}
