import Logging
import Platform

/// A file of lines (0600). If it is large when opened, it becomes `<name>.old` first.
package final class LogFile: Sendable {
    static let turnoverLength = 1 << 20

    let descriptor: Int32

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
    }

    deinit { close(descriptor) }

    package static func tail(of path: String, lines: Int) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let length = lseek(descriptor, 0, SEEK_END)
        lseek(descriptor, max(0, length - 4096), SEEK_SET)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return buffer.prefix(max(0, count)).split(separator: 10).suffix(lines)
            .map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }

    /// A logger that writes entries of level `info` and above to the file, and passes all of them to another logger.
    func logger(besides other: Logger) -> Logger {
        Logger(label: "parley.network") { [self] _ in
            let own = LineLogHandler(logLevel: .info) { [self] level, text in
                let line = "[\(getpid())] \(Date().formatted(.iso8601)) \(level) \(text)\n"
                _ = line.utf8.withContiguousStorageIfAvailable { write(descriptor, $0.baseAddress, $0.count) }
            }
            return MultiplexLogHandler([own, other.handler])
        }
    }
}

/// Formats each log entry as a line: its message, and its metadata sorted by name.
package struct LineLogHandler: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let write: @Sendable (Logger.Level, String) -> Void

    /// Passes entries of this level and above to `write`, as a line without its line break.
    package init(logLevel: Logger.Level, write: @escaping @Sendable (Logger.Level, String) -> Void) {
        (self.logLevel, self.write) = (logLevel, write)
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var text = "\(event.message)"
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            let value = "\(value)"
            let needsQuotes = value.contains { $0.isWhitespace || $0 == "\"" }
            text += " \(key)=\(needsQuotes ? value.debugDescription : value)"
        }
        write(event.level, text)
    }
}
