import CChildProcess

/// How a program ended.
public enum CommandStatus: Hashable, Sendable, CustomStringConvertible {
    /// It returned this code.
    case exited(Int32)
    /// This signal ended it.
    case signalled(Int32)

    init(waitStatus: Int32) {
        self =
            child_exited(waitStatus) != 0
            ? .exited(child_exit_code(waitStatus)) : .signalled(child_term_signal(waitStatus))
    }

    /// Whether it returned 0.
    public var isSuccess: Bool { self == .exited(0) }

    /// The end in words.
    public var description: String {
        switch self {
        case .exited(let code): "exited with \(code)"
        case .signalled(let number): "ended by signal \(number)"
        }
    }
}
