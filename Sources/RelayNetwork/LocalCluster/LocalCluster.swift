import Platform

/// A cluster on this machine: three servers, and a network with a copy of everything on each. It is a network on a
/// cluster like any other, except that its folder also contains the servers.
public struct LocalCluster: Hashable, Sendable {
    /// The name of the network, and of its user's profile.
    public static let name = "cluster"
    /// The smallest number of servers that can do without one.
    static let size = 3

    /// The network's folder.
    public let directory: NetworkDirectory

    /// Names a folder; nothing is created yet.
    public init(directory: NetworkDirectory) { self.directory = directory }

    /// This user's own: `$XDG_DATA_HOME/parley/networks/cluster`, else below `~/.local/share`.
    public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> LocalCluster {
        LocalCluster(directory: NetworkDirectory(path: NetworkDirectory.dataFolder(environment) + "/networks/" + name))
    }

    var servers: String { directory.path + "/servers" }
    var processesFile: String { directory.path + "/processes.json" }

    func server(_ index: Int) -> LocalClusterServer {
        LocalClusterServer(name: "parley-\(index + 1)", folder: "\(servers)/\(index + 1)")
    }

    func check() throws(NetworkError) {
        let files = IdentityFiles(folder: directory.keys)
        guard let known = try directory.cluster(), known.operatorKeyFile != files.operatorSeed else { return }
        throw .invalidProvision(
            "\(directory.path) holds a network on other servers, so there can be no cluster on this machine: move that folder away."
        )
    }

    func prepare() throws(NetworkError) {
        try directory.prepare()
        try check()
        for index in 0..<Self.size {
            for folder in [servers, server(index).folder, server(index).accounts, server(index).store] {
                try PrivateFile.makeClosedFolder(folder)
            }
        }
        let files = IdentityFiles(folder: directory.keys)
        if !PrivateFile.exists(files.administrator) { _ = try files.makeOperator() }
    }

    // MARK: A background service: `parley network cluster start` and `stop`

    /// Starts the cluster, with everything stored earlier, and keeps it running until ``stop()``.
    /// - Parameter hostCommand: an executable and its arguments that run ``LocalClusterHost/run()`` for this folder.
    /// - Throws: `NetworkError.invalidProvision` if the folder is another network's, `.serverMissing`, `.hostFailed`
    ///   with the host's own reason, `.hostNotStarted` or `.timedOut`.
    public func start(
        hostCommand: [String]
    ) async throws(NetworkError) -> (cluster: NetworkDescription, ranBefore: Bool) {
        let environment = ProcessInfo.processInfo.environment
        try check()
        try directory.checkServer(environment: environment)
        try directory.prepare()
        if let running = try await directory.running() { return (running, true) }
        return (try await directory.ensureHosted(by: hostCommand, environment, within: .seconds(180)), false)
    }

    /// Ends the servers; stored data stays. False if nothing was running.
    /// - Throws: `NetworkError.timedOut` if it does not end.
    @discardableResult
    public func stop() async throws(NetworkError) -> Bool {
        guard PrivateFile.exists(directory.hostLock) else { return false }
        let ran = try directory.isHosted()
        // First, so that no one who waits for the cluster starts it again.
        if ran { try PrivateFile.write([], to: directory.stopMarker) }
        // A host that does not end in time is killed, and then the servers it leaves behind.
        try await directory.endHost(within: .seconds(40), kills: true) { processes()?.host }
        // Held so that a new host does not see its own processes end.
        guard let lock = try await FileLock.wait(directory.hostLock, .exclusive, for: .seconds(1)) else { return ran }
        defer { withExtendedLifetime(lock) {} }
        try await endServers(nil)
        PrivateFile.remove(directory.networkFile)
        return ran
    }

    /// The ids of the running servers' processes, by server name.
    package func serverProcesses() -> [String: Int32] {
        let known = processes()?.servers ?? []
        return known.indices.reduce(into: [:]) { $0[server($1).name] = known[$1].process?.pid }
    }

    /// Makes someone on this machine a user of the network, if not done before.
    /// - Returns: the path of the credentials file.
    /// - Throws: as ``NetworkAdministrator/add(user:rights:expires:for:)``.
    public func credentials(for user: String) async throws(NetworkError) -> String {
        let name = try UserName(user)
        let path = directory.credentialsPath(for: name)
        let record = try directory.record(of: name)
        if record == nil || !PrivateFile.exists(path) || directory.unpublishedUsers().contains(name) {
            if let record { _ = try directory.holdingCredentials(record, of: name) }
            _ = try await NetworkAdministrator(directory: directory).add(user: user, for: .identity)
        }
        return path
    }
}

struct LocalClusterServer: Hashable, Sendable {
    let name: String
    let folder: String

    var configuration: String { folder + "/server.conf" }
    var log: String { folder + "/server.log" }
    var processFile: String { folder + "/server.pid" }
    var accounts: String { folder + "/accounts" }
    var store: String { folder + "/jetstream" }
    /// Held while this server's outage is rehearsed; the host restarts it once the lock is free.
    var outageLock: String { folder + "/outage.lock" }
}

/// The cluster's ports and processes: the content of `processes.json`.
struct LocalClusterProcesses: Codable, Hashable, Sendable {
    struct Server: Codable, Hashable, Sendable {
        var port: Int
        var routePort: Int
        var process: RunningProcess?
    }

    var host: RunningProcess?
    var servers: [Server]
    /// The servers' shared password: anyone who has it can join as a server.
    var password: String
}
