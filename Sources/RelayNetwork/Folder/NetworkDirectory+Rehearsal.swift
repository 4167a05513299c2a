import Platform

/// A fault that somebody rehearses, such as a full disk, until this is let go or its process ends, however that ends.
package final class Rehearsal: Sendable {
    private let lock: FileLock

    init(_ lock: FileLock) { self.lock = lock }

    /// Whether somebody rehearses a fault.
    static func isUnderWay(_ path: String) -> Bool {
        // Asking makes the file, which few networks need.
        guard PrivateFile.exists(path) else { return false }
        return (try? FileLock.isHeld(path, against: .shared)) ?? false
    }
}

extension NetworkDirectory {
    /// The process of the network's server; nil where none runs.
    var runningServer: RunningProcess? {
        RunningProcess(writtenTo: serverProcessFile, configuration: serverConfiguration)
    }

    /// Kills the network's server, which its host then starts again. Without a server there is nothing to do.
    package func killServer() {
        if let server = runningServer { _ = kill(server.pid, SIGKILL) }
    }

    /// Has the network find its disk full.
    ///
    /// - Returns: what to keep for as long as that is to last.
    /// - Throws: where another program rehearses the same.
    package func fillDisk() throws(NetworkError) -> Rehearsal {
        guard let lock = try FileLock.attempt(fullDiskLock, .exclusive) else {
            throw .system(fullDiskLock, EWOULDBLOCK)
        }
        return Rehearsal(lock)
    }
}
