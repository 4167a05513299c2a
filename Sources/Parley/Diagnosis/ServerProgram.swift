import RelayNetwork

/// What the `nats-server` of this machine says of itself.
enum ServerProgram {
    /// The program's version, such as `2.9.10`; nil when it says nothing of the kind within the limit.
    static func version(of path: String, within limit: Duration) async -> String? {
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
}
