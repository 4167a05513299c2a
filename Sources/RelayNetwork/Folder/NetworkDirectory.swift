import Platform

/// The folder of a private network (0700): its keys, its users, the server's data, and the files through which its
/// processes find each other. Every file is 0600 and is replaced atomically.
public struct NetworkDirectory: Hashable, Sendable {
    /// The folder.
    public let path: String

    /// Names a folder; nothing is created yet.
    public init(path: String) { self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// This user's own network: `$XDG_DATA_HOME/parley/local`, else `~/.local/share/parley/local`.
    public static func standard(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> NetworkDirectory {
        NetworkDirectory(path: dataFolder(environment) + "/local")
    }

    package static func dataFolder(_ environment: [String: String]) -> String {
        (UserFolders.data.path(environment) ?? "") + "/parley"
    }

    /// The file with this machine's credentials as a user.
    public func credentialsPath(for user: UserName) -> String { "\(users)/\(user).creds" }
    /// The log of the host process.
    public var hostLog: String { path + "/host.log" }
    /// The log of the server.
    public var serverLog: String { path + "/server.log" }
    /// The server's data.
    public var store: String { path + "/jetstream" }

    var keys: String { path + "/keys" }
    var users: String { path + "/users" }
    var resolver: String { path + "/resolver" }
    var accountsFile: String { path + "/accounts.json" }
    /// Exists until the host has updated the streams of all postboxes.
    var unalignedMarker: String { path + "/unaligned" }
    var serverConfiguration: String { path + "/server.conf" }
    /// Held while keys or users are created.
    var identityLock: String { path + "/identity.lock" }
    var administrationLock: String { path + "/administration.lock" }
    /// The decision that blocks the network, while there is one.
    var blockMarker: String { path + "/blocked" }
    var isBlocked: Bool { PrivateFile.exists(blockMarker) }
    /// Held by the host while it runs.
    var hostLock: String { path + "/host.lock" }
    /// Held, shared, by every client.
    var clientsLock: String { path + "/clients.lock" }
    /// Exists while the network also runs without clients.
    var keepMarker: String { path + "/keep" }
    var networkFile: String { path + "/network.json" }
    var serverFile: String { path + "/server.json" }
    var serverProcessFile: String { path + "/server.pid" }
    /// Held while a full disk is rehearsed; the network then treats its disk as full.
    var fullDiskLock: String { path + "/full-disk.lock" }
    /// Exists from the moment the newest host is told to stop until another is started.
    var stopMarker: String { path + "/stopped" }
    var failureFile: String { path + "/failure.json" }

    func prepare() throws(NetworkError) {
        for folder in [path, keys, users, resolver, store] { try PrivateFile.makeClosedFolder(folder) }
    }

    /// Checks in advance whether the network can be used: it is running, or its server is installed.
    /// - Throws: `NetworkError.serverMissing` or `.serverNotExecutable`.
    public func checkServer(environment: [String: String] = ProcessInfo.processInfo.environment) throws(NetworkError) {
        if (try? isHosted()) == true { return }
        _ = try ServerExecutable.find(in: environment)
    }

    /// Whether a host looks after the network, so that a lost server is restarted.
    public func isHosted() throws(NetworkError) -> Bool {
        guard PrivateFile.exists(hostLock) else { return false }
        return try FileLock.isHeld(hostLock, against: .shared)
    }

    /// The lock of the folder's only host; nil if another has it. That one is not waited for: it may be suspended.
    func takeHostLock() async throws(NetworkError) -> FileLock? {
        while true {
            if let lock = try FileLock.attempt(hostLock, .exclusive) { return lock }
            // Clients briefly take it, shared, to see whether it is held; a host takes it exclusively.
            if try FileLock.isHeld(hostLock, against: .shared) { return nil }
            try await Pause.sleep(.milliseconds(5))
        }
    }

    func lockAdministration() async throws(NetworkError) -> FileLock {
        guard let lock = try await FileLock.wait(administrationLock, .exclusive, for: .seconds(60)) else {
            throw .timedOut("Waiting for another administrator")
        }
        return lock
    }
}
