import Platform

/// The multiplexer, tmux or screen, that this program runs in, according to its environment.
enum Multiplexer {
    /// The path of its socket, if there is one.
    static func socket(environment: (String) -> String?, user: UInt32, exists: (String) -> Bool) -> String? {
        func value(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
        if let tmux = value("TMUX") {
            // The path, the server's process and the session, separated by commas; the path may contain some itself.
            let fields = tmux.split(separator: ",", omittingEmptySubsequences: false)
            let path = fields.count > 2 ? fields.dropLast(2).joined(separator: ",") : tmux
            return exists(path) ? path : nil
        }
        guard let session = value("STY") else { return nil }
        let name = value("USER") ?? value("LOGNAME") ?? "\(user)"
        var folders = ["/run/screen", "/var/run/screen", "/tmp/screens", "/tmp/uscreens"].map { "\($0)/S-\(name)" }
        if let own = value("SCREENDIR") { folders.insert(own, at: 0) }
        if let home = value("HOME") { folders.append("\(home)/.screen") }
        return folders.map { "\($0)/\(session)" }.first(where: exists)
    }
}

/// Whether a terminal is attached to a multiplexer, according to its socket. A pure value.
///
/// Both tmux and screen give their socket its owner's permission to execute it while a terminal is attached. Unknown
/// counts as attached: if the permission is missing from the start, the person may have another way to see the screen.
/// A socket that was recreated lacks it at first, whether a terminal is attached or not.
struct AttachmentGauge: Hashable, Sendable {
    private var isAttached: Bool?
    /// The socket that was seen last, and whether it has had the permission.
    private var socket: Int32?
    private var hasHadRight = false

    /// Takes the socket's mode, nil if there is none; returns whether a terminal is attached, if that is news. `socket`
    /// tells it from another one that had the same path before.
    mutating func take(mode: UInt32?, of socket: Int32) -> Bool? {
        guard let mode else { return nil }
        let hasRight = mode & 0o100 != 0
        hasHadRight = hasRight || hasHadRight && socket == self.socket
        self.socket = socket
        guard let wasAttached = isAttached else {
            isAttached = hasRight
            return nil
        }
        guard hasRight != wasAttached, hasHadRight else { return nil }
        isAttached = hasRight
        return hasRight
    }
}

/// Reports when the last terminal is detached from the program's multiplexer, and when one is attached again, even if
/// the multiplexer passes on no focus. The kernel reports it; nothing is polled.
///
/// A tmux server with several sessions has one socket, so that all of them have to be detached.
final class MultiplexerWatch {
    /// Readable when the socket may have changed.
    let descriptor: Int32
    private let path: String
    private var gauge = AttachmentGauge()

    /// Watches the multiplexer that the environment names; nil if there is none, or the system cannot report changes.
    static func ofEnvironment() -> MultiplexerWatch? {
        let path = Multiplexer.socket(environment: environmentValue, user: UInt32(getuid())) { access($0, F_OK) == 0 }
        return path.flatMap { MultiplexerWatch($0) }
    }

    #if os(Linux)
        init?(_ path: String) {
            let descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            self.descriptor = descriptor
            self.path = path
            let socket = mark()
            guard socket >= 0 else { return nil }
            _ = gauge.take(mode: mode, of: socket)
        }

        /// Reads the reports; returns whether a terminal is attached, if that has changed.
        func take() -> Bool? {
            var bytes = [UInt8](repeating: 0, count: 4_096)
            while read(descriptor, &bytes, bytes.count) > 0 {}
            // A socket may have been recreated under the same name, even while it is examined.
            let before = mark()
            let mode = self.mode
            let socket = mark()
            return gauge.take(mode: socket == before ? mode : self.mode, of: socket)
        }

        /// Watches the present socket; returns the same number for the same socket, a negative one if there is none.
        private func mark() -> Int32 { inotify_add_watch(descriptor, path, UInt32(IN_ATTRIB)) }

        private var mode: UInt32? {
            var status = stat()
            return stat(path, &status) == 0 ? UInt32(status.st_mode) : nil
        }

        deinit { close(descriptor) }
    #else
        init?(_ path: String) { return nil }

        func take() -> Bool? { nil }
    #endif
}
