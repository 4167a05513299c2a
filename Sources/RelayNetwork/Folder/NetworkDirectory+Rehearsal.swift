import Platform

/// A network that finds its disk full, until this is let go or its process ends, however that ends.
package final class RehearsedFullDisk: Sendable {
    private let lock: FileLock

    fileprivate init(_ lock: FileLock) { self.lock = lock }
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
    package func fillDisk() throws(NetworkError) -> RehearsedFullDisk {
        guard let lock = try FileLock.attempt(fullDiskLock, .exclusive) else {
            throw .system(fullDiskLock, EWOULDBLOCK)
        }
        return RehearsedFullDisk(lock)
    }

    /// Whether somebody rehearses a full disk.
    var isDiskFilled: Bool {
        // Asking makes the file, which few networks need.
        guard PrivateFile.exists(fullDiskLock) else { return false }
        return (try? FileLock.isHeld(fullDiskLock, against: .exclusive)) ?? false
    }
}
