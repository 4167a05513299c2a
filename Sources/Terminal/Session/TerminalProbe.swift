import CTerminal
import Platform

/// What can be found out about the terminal without taking it, for diagnostics.
public struct TerminalProbe: Hashable, Sendable {
    /// What the terminal database says about a type.
    public enum Entry: Hashable, Sendable {
        /// It is known, with this many colours; 0 is none.
        case known(colors: Int)
        /// There is no such entry.
        case unknown
        /// The type cannot place its cursor.
        case tooSimple
        /// There is no database on this system.
        case noDatabase
    }

    /// Whether standard input and output are both a terminal.
    public var isTerminal: Bool
    /// The type in `TERM`; nil if it is not set, or empty.
    public var type: String?
    /// What the database says about that type; nil without one.
    public var entry: Entry?
    /// The window's size, as far as the kernel knows it.
    public var size: Size?
    /// Whether `NO_COLOR` asks for plain text.
    public var refusesColors: Bool

    /// Examines this process's terminal without changing it. Not to be called while a session is open.
    public static func look() -> TerminalProbe {
        let type = environmentValue("TERM").flatMap { $0.isEmpty ? nil : $0 }
        return TerminalProbe(
            isTerminal: isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1, type: type,
            entry: type.map(entry), size: TerminalSession.windowSize,
            refusesColors: environmentValue("NO_COLOR").map { !$0.isEmpty } ?? false)
    }

    static func entry(of type: String) -> Entry {
        switch cterminal_look_up(type) {
        case -1: .unknown
        case -2: .noDatabase
        case ..<0: .tooSimple
        case let colors: .known(colors: Int(colors))
        }
    }
}
