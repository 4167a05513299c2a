import NATS
import Platform

/// A cluster on this machine alone: three servers, and a network on them with a copy of everything on each. It is a
/// network on a cluster like any other, only that its servers are in its folder too.
public struct LocalCluster: Hashable, Sendable {
    /// What the network is called, and the profile of whoever starts it.
    public static let name = "cluster"
    /// How many servers there are: the fewest of which one may be missing.
    static let size = 3

    /// The network's folder.
    public let directory: NetworkDirectory

    /// Names a folder; nothing is made yet.
    public init(directory: NetworkDirectory) { self.directory = directory }

    /// This user's own: `$XDG_DATA_HOME/parley/networks/cluster`, else below `~/.local/share`.
    public static func standard(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> LocalCluster {
        LocalCluster(directory: NetworkDirectory(path: NetworkDirectory.dataFolder(environment) + "/networks/" + name))
    }

    /// The folder with a folder for each server.
    var servers: String { directory.path + "/servers" }
    /// The processes and the ports, kept for whoever looks after them next.
    var processesFile: String { directory.path + "/processes.json" }

    /// The server in a place, from 0 on.
    func server(_ index: Int) -> LocalClusterServer {
        LocalClusterServer(name: "parley-\(index + 1)", folder: "\(servers)/\(index + 1)")
    }

    /// The network's folder holds this cluster's operator, or nothing yet.
    /// - Throws: `NetworkError.invalidProvision` where it is that of a network on servers that others run.
    func check() throws(NetworkError) {
        let files = IdentityFiles(folder: directory.keys)
        guard let known = try directory.cluster(), known.operatorKeyFile != files.operatorSeed else { return }
        throw .invalidProvision(
            "\(directory.path) holds a network on other servers, so there can be no cluster on this machine: move that folder away."
        )
    }

    /// Makes folders and the operator's keys, as far as they are missing.
    func prepare() throws(NetworkError) {
        try directory.prepare()
        try check()
        for index in 0..<Self.size {
            for folder in [servers, server(index).folder, server(index).accounts, server(index).store] {
                try PrivateFile.makeFolder(folder)
                try PrivateFile.closeFolder(folder)
            }
        }
        let files = IdentityFiles(folder: directory.keys)
        if !PrivateFile.exists(files.administrator) { _ = try files.makeOperator() }
    }
}

/// One of the servers: its name, and where its files are.
struct LocalClusterServer: Hashable, Sendable {
    let name: String
    let folder: String

    var configuration: String { folder + "/server.conf" }
    var log: String { folder + "/server.log" }
    /// Where the server has written its process.
    var processFile: String { folder + "/server.pid" }
    /// The accounts that it knows.
    var accounts: String { folder + "/accounts" }
    /// Its copy of the streams.
    var store: String { folder + "/jetstream" }
}

/// The cluster's ports and processes: the content of `processes.json`.
struct LocalClusterProcesses: Codable, Hashable, Sendable {
    /// What is kept of a server.
    struct Server: Codable, Hashable, Sendable {
        /// Where clients connect.
        var port: Int
        /// Where the other servers connect.
        var routePort: Int
        var process: RunningProcess?
    }

    /// Who looks after the cluster.
    var host: RunningProcess?
    var servers: [Server]
    /// The password by which the servers know each other: whoever had it would be one of them.
    var password: String

    /// Thirty-two hexadecimal digits.
    static func newPassword() -> String { NetworkIdentity.randomHash() + NetworkIdentity.randomHash() }
}
