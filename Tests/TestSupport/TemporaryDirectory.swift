import Foundation
import Platform

/// A fresh directory (0700) that is removed, with all in it, with its last reference.
public final class TemporaryDirectory: Sendable {
    /// The directory. Its path is short enough for Unix sockets in it.
    public let url: URL

    /// Makes the directory.
    ///
    /// - Throws: `TestFailure` when it cannot be made.
    public init(_ name: String = "test") throws {
        var template = Array((NSTemporaryDirectory() + "/parley-\(name)-XXXXXX").utf8CString)
        guard let made = mkdtemp(&template) else {
            throw TestFailure("cannot make a directory in \(NSTemporaryDirectory()): errno \(errno)")
        }
        url = URL(fileURLWithPath: String(cString: made), isDirectory: true).standardizedFileURL
    }

    deinit { remove() }

    /// The directory's path.
    public var path: String { url.path }

    /// The path of something in the directory.
    public func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Writes a file in the directory and returns its path.
    @discardableResult
    public func write(_ text: String, to name: String, permissions: Int = 0o600) throws -> String {
        let target = path(name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: target))
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: target)
        return target
    }

    /// A `nats-server` in the folder that is a script and starts the real one as its child, as some version managers
    /// do.
    public func script(starting server: String) throws -> String {
        try write("#!/bin/sh\n\"\(server)\" \"$@\"\nexit $?\n", to: "nats-server", permissions: 0o700)
    }

    /// Removes the directory now.
    public func remove() { try? FileManager.default.removeItem(at: url) }
}
