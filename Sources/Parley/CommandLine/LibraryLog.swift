import Logging
import NIOConcurrencyHelpers
import NIOPosix
import Platform
import Relay
import RelayNetwork
import Terminal

/// The file that `--log` names, with a line for each entry of the library's log.
///
/// Logging does not wait for the disk: one thread writes, in order. The process waits for it at exit.
final class LibraryLog: Sendable {
    private struct State {
        var waitingBytes = 0
        var leftOut = 0
    }

    /// The most bytes that may wait for a slow disk; further entries are dropped, and the file says how many.
    private static let limit = 4 << 20
    /// The open logs of this process by path, since several clients may share one.
    private static let files = NIOLockedValueBox<[String: LibraryLog]>([:])

    private let descriptor: Int32
    private let writer = NIOThreadPool(numberOfThreads: 1)
    private let state = NIOLockedValueBox(State())

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        writer.start()
    }

    /// A logger that appends to a file. A new file is readable by its owner only.
    static func logger(appendingTo path: String) throws(CommandFailure) -> Logger {
        let file = if let known = files.withLockedValue({ $0[path] }) { known } else { try opened(path) }
        return Logger(label: "parley") { _ in
            LineLogHandler(logLevel: .debug) { level, text in
                // The text may contain a server's words.
                file.append("\(SafeText("\(WallClock.now.iso8601) \(level) \(text)"))\n")
            }
        }
    }

    private static func opened(_ path: String) throws(CommandFailure) -> LibraryLog {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .cannotCreate, "The log \(path) cannot be written: \(String(cString: strerror(errno))).")
        }
        let file = LibraryLog(descriptor)
        let isFirst = files.withLockedValue { files in
            defer { files[path] = file }
            return files.isEmpty
        }
        if isFirst {
            atexit {
                for file in LibraryLog.files.withLockedValue(\.values) { try? file.writer.syncShutdownGracefully() }
            }
        }
        return file
    }

    private func append(_ line: String) {
        let bytes = Array(line.utf8)
        let leftOut = state.withLockedValue { state -> Int? in
            guard state.waitingBytes + bytes.count <= Self.limit else {
                state.leftOut += 1
                return nil
            }
            defer { state.leftOut = 0 }
            state.waitingBytes += bytes.count
            return state.leftOut
        }
        guard let leftOut else { return }
        writer.submit { [self] _ in
            if leftOut > 0 { write(Array("… \(leftOut) entries were dropped: the disk is too slow\n".utf8)) }
            write(bytes)
            state.withLockedValue { $0.waitingBytes -= bytes.count }
        }
    }

    private func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            // A full disk must not end a chat; the entry is lost.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
