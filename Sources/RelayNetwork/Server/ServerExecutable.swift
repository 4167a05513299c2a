import Platform

/// Where the `nats-server` of this machine is.
package enum ServerExecutable {
    /// The variable that names a server to use instead.
    static let variable = "PARLEY_NATS_SERVER"
    private static let name = "nats-server"
    private static let usualFolders = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"]

    /// The path of the server: the one that the environment names, else the first in PATH and the usual folders.
    package static func find(in environment: [String: String]) throws(NetworkError) -> String {
        if let named = environment[variable], !named.isEmpty {
            guard isExecutable(named) else { throw .serverNotExecutable(path: named) }
            return named
        }
        let path = (environment["PATH"] ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        for folder in path + usualFolders where isExecutable("\(folder)/\(name)") {
            return "\(folder)/\(name)"
        }
        throw .serverMissing
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }
}
