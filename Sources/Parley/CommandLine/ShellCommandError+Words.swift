import RelayNetwork

extension ShellCommandError {
    /// What became of a command, in a sentence that begins with its name; `shown` makes of its complaint what may be
    /// shown.
    func words(of command: String, _ shown: (String) -> String = { Output.safe($0) }) -> String {
        switch self {
        case .notStarted: "\(command) could not be started: the system has no process left for it."
        case .failed(let code, let complaint):
            "\(command) failed with exit status \(code)\(Self.clause(complaint.map(shown)))."
        case .signalled(let number, let complaint):
            "\(command) was ended by signal \(number)\(Self.clause(complaint.map(shown)))."
        case .timedOut(let limit): "\(command) did not end within \(limit.components.seconds) s."
        case .tooMuchOutput: "\(command) printed more than \(ShellCommand.maximumOutput >> 10) KiB."
        case .cancelled: "\(command) was cancelled."
        }
    }

    private static func clause(_ complaint: String?) -> String {
        guard var words = complaint, !words.isEmpty else { return "" }
        while words.hasSuffix(".") { words.removeLast() }
        return " (\(words))"
    }
}
