import CChildProcess
import Foundation
import Platform

/// A terminal with one program in it, for tests that do what a person does and see what a person sees.
///
/// The program and what it has put into its process group end with `close()`, with this value's last reference, or with
/// the test process, whichever comes first.
public final class PseudoTerminal: Sendable {
    /// Who the program's parent is.
    public enum Parent: Sendable {
        /// A shell with job control: the program can be suspended, and the terminal is still there when it has ended.
        case shell
        /// The terminal emulator itself: the program leads the session and gets the hang-up first-hand; its process
        /// group is orphaned, so the kernel ignores SIGTSTP. The kernel resets the line discipline when it ends.
        case emulator
    }

    /// How many bytes of output are kept.
    public static let outputLimit = 8 << 20

    /// The program's process id.
    public var processID: Int32 { link.processID }

    private let link: ChildLink
    private let terminal: Int32
    private let state: TerminalState

    /// Starts a program in a new terminal.
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look for in PATH.
    ///   - environment: added to PATH, HOME, `TERM=xterm-256color` and a UTF-8 locale; nothing else is inherited.
    /// - Throws: `TestFailure` when the program cannot be started.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
        workingDirectory: URL? = nil, rows: Int = 24, columns: Int = 80, parent: Parent = .shell
    ) throws {
        let launch = Launch(
            program: program, arguments: arguments,
            environment: Launch.plainEnvironment.merging(["TERM": "xterm-256color"]) { $1 }
                .merging(environment) { $1 },
            workingDirectory: workingDirectory)
        let state = try TerminalState(rows: rows, columns: columns)
        let kind = parent == .shell ? CHILD_SHELL_JOB : CHILD_SESSION_LEADER
        let handle = try launch.spawn(kind: Int32(kind), rows: rows, columns: columns)
        self.state = state
        terminal = handle.terminal
        link = try ChildLink(
            handle: handle, streams: .init(outputs: [handle.terminal], input: handle.terminal),
            receive: { _, bytes in state.withLock { $0.receive(bytes) } })
    }

    deinit { link.close() }

    /// Kills what still runs, and returns when it is gone; safe to call again.
    public func close() { link.close() }

    // MARK: - What is seen

    /// What the screen shows now.
    public var screen: TerminalScreen { state.withLock { $0.screen } }

    /// What the program has asked the terminal for, up to now.
    public var modes: TerminalModes { state.withLock { $0.modes } }

    /// The cell at a row and a column, from 0.
    public func cell(row: Int, column: Int) -> TerminalCell {
        state.withLock { $0.emulator.cell(row: row, column: column) }
    }

    /// The bytes that the program has written, at most the last `outputLimit` of them.
    public var output: [UInt8] { state.withLock { $0.output } }

    /// How many bytes the program has written.
    public var outputCount: Int { state.withLock { $0.outputCount } }

    /// The terminal's line discipline as it is now; nil when it cannot be read any more.
    public var lineDiscipline: LineDiscipline? { LineDiscipline(terminal: terminal) }

    /// How the program ended; nil while it lives.
    public var exitStatus: CommandStatus? { link.condition.exit }

    /// Whether the program is suspended.
    public var isStopped: Bool { link.condition.isStopped }

    // MARK: - What a person does

    /// Sends text as if typed.
    public func type(_ text: String) throws { try send(Array(text.utf8)) }

    /// Presses a key, in the form that the program has asked for.
    public func press(_ keys: TerminalKey...) throws {
        for key in keys { try send(Array(key.bytes(application: modes.isCursorApplication))) }
    }

    /// Sends bytes as they are.
    public func send(_ bytes: [UInt8]) throws {
        state.withLock { $0.noteTyped(bytes) }
        try link.write(bytes)
    }

    /// Pastes, in brackets where the program has asked for them.
    public func paste(_ text: String) throws {
        try type(modes.bracketsPaste ? "\u{1B}[200~\(text)\u{1B}[201~" : text)
    }

    /// Gives or takes the focus; says nothing where the program has not asked.
    public func focus(_ isFocused: Bool) throws {
        if modes.reportsFocus { try type(isFocused ? "\u{1B}[I" : "\u{1B}[O") }
    }

    /// Clicks with the left button, in SGR form; says nothing where the program has not asked. Counted from 0.
    public func click(row: Int, column: Int) throws {
        guard modes.reportsMouse, modes.enabled.contains(1006) else { return }
        try type("\u{1B}[<0;\(column + 1);\(row + 1)M\u{1B}[<0;\(column + 1);\(row + 1)m")
    }

    /// Gives the window another size, which SIGWINCH reports to the program.
    public func resize(rows: Int, columns: Int) throws {
        state.withLock { $0.emulator.resize(rows: rows, columns: columns) }
        let problem = child_resize(terminal, UInt16(rows), UInt16(columns))
        guard problem == 0 else { throw TestFailure("the terminal cannot be resized: errno \(problem)") }
    }

    /// Takes a text as if the program, or another one at this terminal, had written it.
    public func takeOutput(_ text: String) {
        state.withLock { state in _ = Array(text.utf8).withUnsafeBytes { state.receive($0) } }
    }

    /// Sends a signal to the program.
    public func signal(_ number: Int32) { link.command(CHILD_COMMAND_SIGNAL, number) }

    /// Continues a suspended program in the foreground, as `fg` does.
    public func foreground() { link.command(CHILD_COMMAND_FOREGROUND) }

    /// Closes the window: the program gets SIGHUP, and reading its terminal fails.
    public func hangUp() { link.hangUp() }

    /// Takes no output until `resumeReading()`, as a stalled connection to a terminal does.
    public func pauseReading() { link.pauseReading(true) }

    /// Takes output again.
    public func resumeReading() { link.pauseReading(false) }

    // MARK: - Waiting

    /// The first screen on which `condition` holds, which another thread calls while this waits.
    ///
    /// - Throws: `TestFailure` at the deadline, with what was awaited and the whole screen.
    @discardableResult
    public func waitFor(
        _ what: String, deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line,
        _ condition: @escaping (TerminalScreen) throws -> Bool
    ) async throws -> TerminalScreen {
        let found = try await link.wait(until: .now + deadline) { [self] () throws -> TerminalScreen? in
            let screen = self.screen
            return try condition(screen) ? screen : nil
        }
        guard let found else { throw failure("\(what) did not come within \(deadline)", fileID, line) }
        return found
    }

    /// Presses a key until a screen meets a condition, and again only when the screen has changed, or a second has
    /// passed: keys that a slow program has not come to would be in the way of those that follow.
    ///
    /// - Throws: `TestFailure` at the deadline.
    public func press(
        _ key: TerminalKey, until what: String, fileID: String = #fileID, line: Int = #line,
        _ condition: (TerminalScreen) -> Bool
    ) async throws {
        var (shown, pressed) = ("", ContinuousClock.now)
        try await eventually(what, fileID: fileID, line: line) {
            let screen = self.screen
            if condition(screen) { return true }
            if screen.text != shown || pressed.duration(to: .now) > .seconds(1) {
                (shown, pressed) = (screen.text, .now)
                try press(key)
            }
            return false
        }
    }

    /// The first screen on which a row shows this text; see `waitFor(_:deadline:fileID:line:_:)`.
    @discardableResult
    public func waitFor(
        text: String, deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws -> TerminalScreen {
        try await waitFor("“\(text)”", deadline: deadline, fileID: fileID, line: line) { $0.contains(text) }
    }

    /// How the program ended, once all that it wrote has been taken.
    ///
    /// - Throws: `TestFailure` at the deadline.
    @discardableResult
    public func waitForExit(
        deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws -> CommandStatus {
        let status = await link.wait(until: .now + deadline) { [self] () -> CommandStatus? in
            let condition = link.condition
            let isDrained = condition.ended[0] || hasMark(CHILD_REPORT_EXITED)
            return isDrained ? condition.exit : nil
        }
        // A terminal whose output is not taken keeps its last bytes.
        guard let status = status ?? exitStatus else {
            throw failure("the end of the program did not come within \(deadline)", fileID, line)
        }
        return status
    }

    /// Returns when the program is suspended and all that it wrote before has been taken.
    ///
    /// - Throws: `TestFailure` at the deadline.
    public func waitForStop(
        deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws {
        let isStopped = await link.wait(until: .now + deadline) { [self] () -> Bool? in
            let isDrained = link.condition.ended[0] || hasMark(CHILD_REPORT_STOPPED)
            return link.condition.isStopped && isDrained ? true : nil
        }
        if isStopped == nil {
            throw failure("the program was not suspended within \(deadline)", fileID, line)
        }
        forgetStop()
    }

    private func hasMark(_ kind: Int) -> Bool {
        state.withLock { $0.marks.contains(UInt8(kind)) }
    }

    private func forgetStop() {
        state.withLock { _ = $0.marks.remove(UInt8(CHILD_REPORT_STOPPED)) }
    }

    private func failure(_ words: String, _ fileID: String, _ line: Int) -> TestFailure {
        let life = exitStatus.map { "\($0)" } ?? (isStopped ? "suspended" : "running")
        let typed = String(decoding: state.withLock { $0.typed }.suffix(400), as: UTF8.self)
        let discipline = lineDiscipline.map { "\($0)" } ?? "gone"
        let threads = ProcessThreads.lines(of: processID).joined(separator: "\n")
        return TestFailure(
            """
            \(words). The program: \(life), process \(processID).
            \(screen)
            Typed last: \(typed.debugDescription); \(link.unsentCount) bytes are not sent yet. Line discipline: \(discipline).
            Threads:
            \(threads)

            """, fileID: fileID, line: line)
    }
}
