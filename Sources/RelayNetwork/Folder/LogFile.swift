import Platform

/// A file that grows line by line (0600). When it is large as it is opened, it becomes `<name>.old` first.
package final class LogFile: Sendable {
    /// The size from which a log is put aside.
    static let turnoverLength = 1 << 20

    /// Where a child process may write to.
    let descriptor: Int32
    private let path: String

    /// Opens a log for appending.
    package init(_ path: String) throws(NetworkError) {
        var status = stat()
        if stat(path, &status) == 0, status.st_size > Self.turnoverLength {
            rename(path, path + ".old")
        }
        let (descriptor, code) = SystemCall.uninterrupted {
            open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        }
        guard descriptor >= 0 else { throw .system(path, code) }
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Appends one line with the time and this process's id.
    func note(_ text: String) {
        let line = "[\(getpid())] \(Date().formatted(.iso8601)) \(text)\n"
        _ = line.utf8.withContiguousStorageIfAvailable { write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The last lines of a log, for an error message.
    package static func tail(of path: String, lines: Int) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let length = lseek(descriptor, 0, SEEK_END)
        lseek(descriptor, Swift.max(0, length - 4096), SEEK_SET)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return buffer.prefix(Swift.max(0, count)).split(separator: 10).suffix(lines)
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }
}
