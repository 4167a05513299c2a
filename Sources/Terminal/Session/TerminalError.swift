/// Why the terminal cannot be used.
public enum TerminalError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Standard input or output is a file or a pipe.
    case notATerminal
    /// The terminal database does not know the type in `TERM`.
    case unknownType(String)
    /// The type in `TERM` cannot place its cursor.
    case tooSimple(String)
    /// There is no terminal database on this system.
    case noDatabase
    /// A session is open already; there is one terminal.
    case alreadyOpen
    /// The system refused; the number is `errno`.
    case system(Int32)

    /// What happened and what to do, in a sentence each.
    public var description: String {
        switch self {
        case .notATerminal:
            "Standard input and output are not a terminal. Start the program in a terminal window, without a pipe."
        case .unknownType(let type):
            "The terminal type \(SafeText(type)) is not known here. Install its terminfo entry, or set TERM=xterm-256color."
        case .tooSimple(let type):
            "The terminal type \(SafeText(type)) cannot place its cursor. Set TERM to what your terminal is, "
                + "for example xterm-256color."
        case .noDatabase:
            "There is no terminal database. Install ncurses-base, or set TERMINFO to where it is."
        case .alreadyOpen:
            "The terminal is in use by this program already. Close the first session before opening another."
        case .system(let number):
            "The system refused what the terminal needs (error \(number)). Close some files or programs and try again."
        }
    }
}
