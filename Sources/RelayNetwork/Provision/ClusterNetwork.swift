import NATS
import Platform

/// A network on servers that someone else runs: the file `cluster.json` of the network's folder, which contains the
/// network's keys and the data of its users. Nothing of the network runs in it.
public struct ClusterNetwork: Codable, Hashable, Sendable {
    /// The servers' addresses; one that answers is enough.
    public var servers: [String]
    /// A PEM file of the authorities to trust for them; nil for those of the system.
    public var authorityFile: String?
    /// The placement of the network's streams.
    public var placement: NetworkPlacement
    /// The 0600 file with the operator's key or one of its signing keys; nil if the environment has it.
    public var operatorKeyFile: String?

    /// Describes a network; relative paths become absolute.
    public init(
        servers: [String], authorityFile: String? = nil, placement: NetworkPlacement = .init(),
        operatorKeyFile: String? = nil
    ) {
        self.servers = servers
        self.authorityFile = authorityFile.map(PrivateFile.absolute)
        self.placement = placement
        self.operatorKeyFile = operatorKeyFile.map(PrivateFile.absolute)
    }

    /// The parsed addresses, in the order in which they were named.
    /// - Throws: `NetworkError.invalidProvision` for an invalid address.
    public func addresses() throws(NetworkError) -> [ServerAddress] {
        guard !servers.isEmpty else { throw .invalidProvision("Name the cluster's servers by --server.") }
        return try servers.map { text throws(NetworkError) in
            guard var address = try? ServerAddress(parsing: text), address.authentication == nil else {
                throw .invalidProvision(
                    "\(text.debugDescription) is not a server address: write nats://host:port or tls://host:port.")
            }
            address.authorityFile = authorityFile
            return address
        }
    }

    func authority() throws(NetworkError) -> String? {
        try authorityFile.map { file throws(NetworkError) in try PrivateFile.text(in: file) }
    }
}

extension NetworkDirectory {
    private var clusterFile: String { path + "/cluster.json" }
    /// The file for the network's services on other machines.
    public var servicesFile: String { path + "/services.json" }
    /// The credentials for observers of the services.
    public var observerFile: String { path + "/observer.creds" }
    /// A file for each user whose latest changes the services have not been told.
    private var unpublished: String { path + "/unpublished" }

    /// The folder of a network on a cluster: `$XDG_DATA_HOME/parley/networks/NAME`, else below `~/.local/share`.
    /// - Throws: `NetworkError.invalidProvision` for an invalid name.
    public static func named(
        _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(NetworkError) -> NetworkDirectory {
        try check(name: name)
        return NetworkDirectory(path: dataFolder(environment) + "/networks/" + name)
    }

    static func check(name: String) throws(NetworkError) {
        guard (1...32).contains(name.utf8.count), !name.hasPrefix("relay_"), !name.hasPrefix("-"), name.isWord() else {
            throw .invalidProvision(
                "\(name.debugDescription) cannot be a network's name: use 1 to 32 letters, digits, _ and -.")
        }
    }

    /// The network's cluster, if others run its servers; nil if it runs its own.
    public func cluster() throws(NetworkError) -> ClusterNetwork? {
        try PrivateFile.readJSON(ClusterNetwork.self, from: clusterFile)
    }

    func keep(_ cluster: ClusterNetwork) throws(NetworkError) { try PrivateFile.writeJSON(cluster, to: clusterFile) }

    /// The current addresses of the network's servers; empty while it is not running.
    func places() async throws(NetworkError) -> [ServerAddress] {
        if let cluster = try cluster() { return try cluster.addresses() }
        return try await running().map { network throws(NetworkError) in [try network.address()] } ?? []
    }

    func operatorPair() throws(NetworkError) -> NKeyPair {
        guard let cluster = try cluster() else { return try IdentityFiles(folder: keys).operatorPair() }
        return try OperatorKey.read(file: cluster.operatorKeyFile)
    }

    /// The files of a user's newest tokens, if only the servers' administrators can install them.
    public func tokensToHandOver(of user: String) throws(NetworkError) -> [String] {
        guard try cluster() != nil, try IdentityFiles(folder: keys).read().administrator == nil,
            let record = try record(of: UserName(user))
        else { return [] }
        return record.accounts.map(tokenPath(ofAccount:))
    }

    func markUnpublished(_ user: UserName) throws(NetworkError) {
        guard PrivateFile.exists(clusterFile) else { return }
        try PrivateFile.makeFolder(unpublished)
        try PrivateFile.write([], to: "\(unpublished)/\(user)")
    }

    func unpublishedUsers() -> [UserName] {
        ((try? PrivateFile.names(in: unpublished)) ?? []).compactMap { try? UserName($0) }
    }

    func markPublished(_ user: UserName) { PrivateFile.remove("\(unpublished)/\(user)") }
}

/// The servers' operator key or one of its signing keys: read to sign an account, and not stored.
enum OperatorKey {
    /// The environment variable with the seed if no file is named.
    static let variable = "PARLEY_OPERATOR_KEY"

    /// Reads the key from a file that only its owner can read, or from the environment.
    static func read(
        file: String?, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(NetworkError) -> NKeyPair {
        let text: String
        if let file {
            text = try PrivateFile.text(in: file, isSecret: true)
        } else if let seed = environment[variable], !seed.isEmpty {
            text = seed
        } else {
            throw .invalidProvision(
                "Signing accounts takes the operator's key or one of its signing keys: name its file with --operator-key, or put it into \(variable)."
            )
        }
        let pair = try translated { try NKeyPair(seed: text) }
        guard pair.publicKey.kind == .operator else {
            throw .invalidProvision("The key in \(file ?? variable) is no operator's: such a seed begins with SO.")
        }
        return pair
    }
}
