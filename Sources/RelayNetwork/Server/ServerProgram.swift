import Platform

/// A `nats-server` of this machine, and what it says of itself.
package struct ServerProgram: Hashable, Sendable {
    /// Where it is.
    let path: String
    /// Its version, such as `2.9.10`; nil when it did not say.
    let version: String?

    /// The program's version, such as `2.9.10`; nil when it says nothing of the kind within the limit.
    package static func version(of path: String, within limit: Duration) async -> String? {
        try? await answer(of: path, within: limit)
    }

    /// What a program that was run for its version said; nil when that was none.
    ///
    /// - Throws: what kept it from being run, or from ending.
    private static func answer(
        of path: String, within limit: Duration
    ) async throws(ShellCommandError) -> String? {
        // The path goes through the environment, where no character of it means anything to the shell.
        let command = ShellCommand(
            #"exec "$PARLEY_PROGRAM" --version 2>&1"#, environment: ["PARLEY_PROGRAM": path], limit: limit)
        let output = try await command.run()
        guard output.text.hasPrefix("nats-server"), let line = output.text.split(whereSeparator: \.isNewline).first
        else { return nil }
        let word = line.split(whereSeparator: \.isWhitespace).last.map { $0.hasPrefix("v") ? $0.dropFirst() : $0 }
        guard let word, word.first?.isNumber == true else { return nil }
        return String(word.prefix(32))
    }

    /// The server at a path, which is run for its version.
    ///
    /// - Parameters:
    ///   - pause: how long it is waited after a run that failed; each further time twice as long.
    ///   - version: runs it.
    static func examine(
        _ path: String, pause: Duration = .milliseconds(20),
        version: (String) async throws(ShellCommandError) -> String? = { path throws(ShellCommandError) in
            try await answer(of: path, within: .seconds(10))
        }
    ) async -> ServerProgram {
        // A program cannot be run for as long as anybody has it open to write it: while it is being replaced, say, or
        // while a child process that is just being started still has what its parent had open.
        for attempt in 0..<tries {
            do throws(ShellCommandError) {
                return ServerProgram(path: path, version: try await version(path))
            } catch {
                guard case .failed = error else { break }
            }
            guard attempt + 1 < tries else { break }
            do { try await Task.sleep(for: pause * (1 << attempt)) } catch { break }
        }
        return ServerProgram(path: path, version: nil)
    }

    /// So often a program is run that cannot be, within some seconds.
    static let tries = 7

    /// Whether one mapping can cover a whole branch of subjects.
    var mapsWildcards: Bool { isAtLeast(2, 10) }
    /// Whether its configuration may say how often it forces what is stored onto the disk.
    var takesSyncInterval: Bool { isAtLeast(2, 10) }

    /// A server that does not say its version is taken for an old one: what old ones read, all read.
    private func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        guard let numbers = version?.split(separator: ".").prefix(2).map({ Int($0) ?? 0 }), numbers.count == 2 else {
            return false
        }
        return (numbers[0], numbers[1]) >= (major, minor)
    }
}

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
