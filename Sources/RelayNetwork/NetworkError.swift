import NATS

/// Why the private network could not do what was asked. No case carries a secret.
public enum NetworkError: Error, Hashable, Sendable {
    /// A user's name is not `[A-Za-z0-9+=_-]{1,64}`.
    case invalidUserName(String)
    /// Topics that cannot be granted; the reason says why.
    case invalidGrant(topics: String, reason: String)
    /// A file or folder of the network cannot be used; the reason is the system's.
    case file(path: String, reason: String)
    /// A file of the network holds something else than it should.
    case damaged(path: String, reason: String)
    /// No `nats-server` was found on this machine.
    case serverMissing
    /// The `nats-server` named in `PARLEY_NATS_SERVER` cannot be run.
    case serverNotExecutable(path: String)
    /// The server could not be kept running; the reason holds its last words.
    case serverFailed(String)
    /// The host process could not be started.
    case hostNotStarted(reason: String)
    /// The host process gave up; the text is its own sentence.
    case hostFailed(String)
    /// A port of 127.0.0.1 cannot be used; the reason is the system's.
    case port(Int, reason: String)
    /// Something took longer than it may; the text says what.
    case timedOut(String)
    /// The connection to the server failed.
    case connection(NATSError)
    /// A key, token or credentials file of the network was refused.
    case credentials(CredentialsError)
    /// The caller's task was cancelled.
    case cancelled
}

extension NetworkError: CustomStringConvertible {
    /// What happened, and what to do next.
    public var description: String {
        switch self {
        case .invalidUserName(let name):
            "\(name.debugDescription) cannot be a user's name: use 1 to 64 letters, digits, +, =, _ and -."
        case .invalidGrant(let topics, let reason):
            "The topics \(topics.debugDescription) cannot be granted: \(reason)"
        case .file(let path, let reason): "\(path) cannot be used: \(reason)."
        case .damaged(let path, let reason):
            "\(path) is damaged: \(reason). Restore it, or move the network's folder away to begin a new network."
        case .serverMissing:
            "nats-server is not installed: run `./setup`, or name it in PARLEY_NATS_SERVER."
        case .serverNotExecutable(let path):
            "PARLEY_NATS_SERVER names \(path), which cannot be run: correct it, or unset it and run `./setup`."
        case .serverFailed(let reason): "nats-server does not keep running: \(reason)"
        case .hostNotStarted(let reason): "The private network could not be started: \(reason)."
        case .hostFailed(let sentence): sentence
        case .port(let port, let reason):
            "Port \(port) of 127.0.0.1 cannot be used: \(reason). Choose another one, or 0 for any that is free."
        case .timedOut(let what): "\(what) took too long. Try again, and read the network's host.log if it stays so."
        case .connection(let error): "The private network's server refused: \(error)"
        case .credentials(let error): "\(error)"
        case .cancelled: "Cancelled."
        }
    }
}

extension NetworkError {
    /// The failure of the system call just made, about a path.
    static func system(_ path: String, _ code: Int32) -> NetworkError {
        .file(path: path, reason: SystemCall.reason(code))
    }
}
