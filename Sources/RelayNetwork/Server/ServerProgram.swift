/// A `nats-server` of this machine, and what it says of itself.
package struct ServerProgram: Hashable, Sendable {
    /// Where it is.
    let path: String
    /// Its version, such as `2.9.10`; nil when it did not say.
    let version: String?

    /// The program's version, such as `2.9.10`; nil when it says nothing of the kind within the limit.
    package static func version(of path: String, within limit: Duration) async -> String? {
        // The path goes through the environment, where no character of it means anything to the shell.
        let command = ShellCommand(
            #"exec "$PARLEY_PROGRAM" --version 2>&1"#, environment: ["PARLEY_PROGRAM": path], limit: limit)
        guard let output = try? await command.run(), output.text.hasPrefix("nats-server"),
            let line = output.text.split(whereSeparator: \.isNewline).first
        else { return nil }
        let word = line.split(whereSeparator: \.isWhitespace).last.map { $0.hasPrefix("v") ? $0.dropFirst() : $0 }
        guard let word, word.first?.isNumber == true else { return nil }
        return String(word.prefix(32))
    }

    /// The server at a path, which is run for its version.
    ///
    /// - Parameter version: runs it, within a limit.
    static func examine(
        _ path: String,
        version: (String, Duration) async -> String? = { await ServerProgram.version(of: $0, within: $1) }
    ) async -> ServerProgram {
        let end = ContinuousClock.now + .seconds(10)
        // A program cannot be run for as long as anybody has it open to write it: while it is being replaced, say, or while
        // a child process that is just being started still has what its parent had open.
        for attempt in 0..<tries {
            let left = end - ContinuousClock.now
            if left > .zero, let found = await version(path, left) { return ServerProgram(path: path, version: found) }
            do { try await Task.sleep(for: .milliseconds(20 << attempt)) } catch { break }
        }
        return ServerProgram(path: path, version: nil)
    }

    /// So often a program is run that says at once that it cannot be, within some two and a half seconds.
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
