/// A command line that `/bin/sh` runs for its output, such as a token.
///
/// It has no terminal and no input, and no other descriptor of this process. Everything that it starts, and leaves in
/// its process group, is killed when it ends or has to end, and when this process ends first, however that happens.
public struct ShellCommand: Sendable {
    /// What the shell is given.
    public var line: String
    /// All of its environment. Names that begin with a digit, which no shell has as variables, are left out.
    public var environment: [String: String]
    /// The time it has.
    public var limit: Duration

    /// The output in bytes beyond which it is ended.
    public static let maximumOutput = 64 << 10

    /// Describes a command; nothing runs yet.
    public init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        self.line = line
        self.environment = environment
        self.limit = limit
    }

    /// What a command that succeeded has left.
    public struct Output: Hashable, Sendable {
        /// Its standard output. May be a secret.
        public var text: String
        /// The last line that is not blank of its standard error; nil without any.
        public var lastComplaint: String?

        /// Describes what a command has left.
        public init(text: String, lastComplaint: String? = nil) {
            self.text = text
            self.lastComplaint = lastComplaint
        }
    }

    /// Runs the command. No thread of the tasks' pool waits for it. Cancelling the task ends it at once.
    ///
    /// - Throws: ``ShellCommandError``.
    public func run() async throws(ShellCommandError) -> Output {
        let result = await CommandRun.result(of: self)
        if Task.isCancelled { throw .cancelled }
        return try result.get()
    }
}

/// Why a shell command brought nothing. The words never hold its standard output.
public enum ShellCommandError: Error, Hashable, Sendable {
    /// The system had no process, thread or pipe left for it.
    case notStarted
    /// It ended with this exit status, and this was the last line of its standard error.
    case failed(Int32, String?)
    /// A signal ended it.
    case signalled(Int32, String?)
    /// It had not ended in time, and was ended.
    case timedOut(Duration)
    /// It wrote more than ``ShellCommand/maximumOutput``, and was ended.
    case tooMuchOutput
    /// The task was cancelled.
    case cancelled
}
