import RelayNetwork

extension ShellCommandError {
    /// The failure as a sentence that begins with the command's name; `shown` makes the command's own message fit for
    /// display.
    func words(of command: String, _ shown: (String) -> String = { Output.safe($0) }) -> String {
        switch self {
        case .notStarted: "\(command) could not be started: the system has too many processes."
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
