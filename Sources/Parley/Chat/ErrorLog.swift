import Platform
import RelayNetwork

/// Standard error goes to a log file while the screen is up, so that nothing which writes there spoils the screen.
final class ErrorLog {
    /// Where the log is.
    let path: String
    private let original: Int32
    private let begin: off_t

    /// A log that grows beyond this is set aside once, under the name with `.old`.
    private static let maximumBytes: off_t = 1 << 20

    /// Redirects standard error; nil when there is no place for a log, and nothing was changed.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let state = UserFolders.state.path(environment) else { return nil }
        let folder = state + "/parley"
        path = folder + "/parley.log"
        var status = stat()
        if stat(path, &status) == 0, status.st_size > Self.maximumBytes { rename(path, path + ".old") }
        var file = Self.opened(path)
        if file < 0, errno == ENOENT {
            do {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch { return nil }
            file = Self.opened(path)
        }
        guard file >= 0 else { return nil }
        begin = lseek(file, 0, SEEK_END)
        original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        guard original >= 0, dup2(file, STDERR_FILENO) >= 0 else {
            close(file)
            return nil
        }
        close(file)
    }

    private static func opened(_ path: String) -> Int32 {
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    }

    /// Gives standard error back and says where to read what was written meanwhile, if anything was.
    func end() {
        let written = lseek(STDERR_FILENO, 0, SEEK_END) > begin
        dup2(original, STDERR_FILENO)
        close(original)
        if written { Output.complain("parley: messages were written to \(path)") }
    }
}
