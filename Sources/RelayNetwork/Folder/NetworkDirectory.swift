import Platform

/// The folder of one private network (0700): its keys, its users, the server's data, and the files through which the
/// processes that use it find each other. Every file is 0600 and is written whole or not at all.
public struct NetworkDirectory: Hashable, Sendable {
    /// The folder.
    public let path: String

    /// Names a folder; nothing is made yet.
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

    /// Where the credentials are by which this machine uses the network as a user.
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
    /// What the users' tokens depend on in addition to their records.
    var accountsFile: String { path + "/accounts.json" }
    /// There until the host has brought the streams of all postboxes in line with what holds for them now.
    var unalignedMarker: String { path + "/unaligned" }
    var serverConfiguration: String { path + "/server.conf" }
    /// Held while keys or users are made.
    var identityLock: String { path + "/identity.lock" }
    var administrationLock: String { path + "/administration.lock" }
    /// The decision that closes the whole network to its users, while there is one.
    var blockMarker: String { path + "/blocked" }
    var isBlocked: Bool { PrivateFile.exists(blockMarker) }
    /// Held by the host as long as it runs.
    var hostLock: String { path + "/host.lock" }
    /// Held, shared, by every client.
    var clientsLock: String { path + "/clients.lock" }
    /// There while the network runs without clients too.
    var keepMarker: String { path + "/keep" }
    var networkFile: String { path + "/network.json" }
    var serverFile: String { path + "/server.json" }
    var serverProcessFile: String { path + "/server.pid" }
    /// Held by whoever rehearses a full disk; the network finds its disk full as long as it is.
    var fullDiskLock: String { path + "/full-disk.lock" }
    /// There from the moment on in which the newest host was asked to end, until somebody starts another.
    var stopMarker: String { path + "/stopped" }
    var failureFile: String { path + "/failure.json" }

    func prepare() throws(NetworkError) {
        for folder in [path, keys, users, resolver, store] { try PrivateFile.makeClosedFolder(folder) }
    }

    /// Tells before anything is shown whether the network can be had: it runs already, or its server is installed.
    /// - Throws: `NetworkError.serverMissing` or `.serverNotExecutable`.
    public func checkServer(environment: [String: String] = ProcessInfo.processInfo.environment) throws(NetworkError) {
        if (try? isHosted()) == true { return }
        _ = try ServerExecutable.find(in: environment)
    }

    /// Whether a host has the network in its care, so that what has ended comes back.
    public func isHosted() throws(NetworkError) -> Bool {
        guard PrivateFile.exists(hostLock) else { return false }
        return try FileLock.isHeld(hostLock, against: .shared)
    }

    /// The lock of the folder's only host; nil when another has it, which is not waited for: it may have been stopped.
    func takeHostLock() async throws(NetworkError) -> FileLock? {
        while true {
            if let lock = try FileLock.attempt(hostLock, .exclusive) { return lock }
            // Clients look for a moment, together, whether the lock is held; a host holds it alone.
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
