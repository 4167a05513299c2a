import Platform

/// A tmux server of a test's own: its socket and its settings are in a temporary folder, and none of the developer's
/// are read. It ends, and what runs in it is hung up, with `close()`, with this value's last reference, or with the
/// test process.
public final class TmuxServer: Sendable {
    /// Whether there is a tmux to start: one that stays in the foreground, as those from 3.2 on can.
    public static let isInstalled = installed.map { isNew($0) } ?? false
    /// Why a test that needs it is skipped.
    public static let missing =
        installed.map { "tmux 3.2 or newer is needed; there is \($0)" } ?? "tmux is not installed; ./setup installs it"

    /// What tmux says of itself; nil where there is none.
    private static let installed: String? = {
        guard let answer = popen("tmux -V 2>/dev/null", "r") else { return nil }
        defer { pclose(answer) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), answer) != nil else { return nil }
        return String(decoding: line.prefix { $0 >= 32 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }()

    /// Whether a version is 3.2 or newer: `tmux 3.2a`, `tmux next-3.4`. One without a number is a developer's.
    static func isNew(_ version: String) -> Bool {
        let numbers = version.split { !($0.isNumber || $0 == ".") }
        guard let number = numbers.first else { return true }
        let parts = number.split(separator: ".").map { Int($0) ?? 0 }
        guard let major = parts.first else { return true }
        return (major, parts.count > 1 ? parts[1] : 0) >= (3, 2)
    }

    private let folder: TemporaryDirectory
    private let socket: String
    private let server: ChildProcess

    /// Starts a server, which has no session yet.
    ///
    /// - Parameters:
    ///   - focusEvents: whether it passes on what its terminals report of their focus.
    ///   - environment: what programs in it find, besides PATH, HOME and a UTF-8 locale.
    /// - Throws: `TestFailure` when it does not answer.
    public static func start(focusEvents: Bool, environment: [String: String]) async throws -> TmuxServer {
        let tmux = try TmuxServer(focusEvents: focusEvents, environment: environment)
        // The status line is the setting that comes last.
        try await eventually("tmux to take its settings", deadline: .seconds(60)) {
            try await tmux.run("show-options", "-gv", "status").output == "off\n"
        }
        return tmux
    }

    private init(focusEvents: Bool, environment: [String: String]) throws {
        folder = try TemporaryDirectory("tmux")
        socket = folder.path("socket")
        // Keys that a test presses faster than a hand are keys still, and no paste: ^B in a paste is no command.
        let settings = """
            set-option -g assume-paste-time 0
            set-option -g focus-events \(focusEvents ? "on" : "off")
            set-option -g status off

            """
        // In the foreground, so that it is this test's child and its end can be awaited.
        server = try ChildProcess(
            "tmux", ["-D", "-S", socket, "-f", try folder.write(settings, to: "settings")], environment: environment)
    }

    /// Kills the server, whereupon the system hangs up on what runs in it.
    public func close() { server.close() }

    /// The processes that were started in it and run now.
    public func programs() async throws -> [Int32] {
        try await run("list-panes", "-a", "-F", "#{pane_pid}").lines.compactMap { Int32($0) }
    }

    /// A new terminal with a session in which a program runs.
    public func open(_ program: String, _ arguments: [String], rows: Int = 24, columns: Int = 80) throws
        -> PseudoTerminal
    {
        try PseudoTerminal(
            "tmux", ["-S", socket, "new-session", "-s", "test", program] + arguments, rows: rows, columns: columns)
    }

    /// A new terminal that is attached to that session.
    public func attach(rows: Int = 24, columns: Int = 80) throws -> PseudoTerminal {
        try PseudoTerminal(
            "tmux", ["-S", socket, "attach-session", "-t", "test"], rows: rows, columns: columns)
    }

    /// Runs one of tmux's commands.
    @discardableResult
    public func run(_ words: String...) async throws -> ChildProcess.Result {
        try await ChildProcess.run("tmux", ["-S", socket] + words)
    }
}

extension PseudoTerminal {
    /// Detaches this terminal from tmux by its keys, and returns when tmux has left it.
    public func detach(fileID: String = #fileID, line: Int = #line) async throws {
        try press(.ctrl("b"))
        try type("d")
        let status = try await waitForExit(deadline: .seconds(60), fileID: fileID, line: line)
        guard status == .exited(0) else { throw TestFailure("tmux ended: \(status)", fileID: fileID, line: line) }
    }
}
