import Platform
import RelayNetwork

/// Redirects standard error to a log file while the screen is up, so that nothing written there spoils the screen.
final class ErrorLog {
    let path: String
    private let original: Int32
    private let begin: off_t

    /// A longer log is first renamed, with `.old` added.
    private static let maximumBytes: off_t = 1 << 20

    /// Redirects standard error; nil, with nothing changed, if there is no place for a log.
    init?(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        guard let state = UserFolders.state.path(environment) else { return nil }
        path = state + "/parley/parley.log"
        try? FileManager.default.createDirectory(
            atPath: state + "/parley", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var status = stat()
        if stat(path, &status) == 0, status.st_size > Self.maximumBytes { rename(path, path + ".old") }
        let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else { return nil }
        defer { close(file) }
        begin = lseek(file, 0, SEEK_END)
        original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        guard original >= 0, dup2(file, STDERR_FILENO) >= 0 else { return nil }
    }

    /// Restores standard error, and names the log if anything was written to it meanwhile.
    func end() {
        let written = lseek(STDERR_FILENO, 0, SEEK_END) > begin
        dup2(original, STDERR_FILENO)
        close(original)
        if written { Output.complain("parley: messages were written to \(path)") }
    }
}
