import CTerminal
import Platform
import Synchronization

/// Owns the terminal: ncurses for output, its own parser for input, every mode that is switched on, and the promise
/// that the terminal is left as it was found, whatever ends the process.
///
/// Lives on the thread that made it. Other threads reach it through `waker` alone.
public final class TerminalSession {
    /// The options of a session.
    public struct Options: Sendable {
        /// Reports of the window's focus (mode 1004) and, in tmux or screen, of whether a terminal is attached.
        public var focus = true
        /// Colours; off if `NO_COLOR` is set and not empty.
        public let colors = environmentValue("NO_COLOR").map(\.isEmpty) ?? true
        /// Asks the terminal for its background (OSC 11), after the first frame and at each `redraw()`; the reply comes
        /// from `wait`, as `TerminalReply.background`, if the terminal knows the question.
        public var asksBackground = false
        /// Keeps standard error off the screen, up to 64 KiB, and writes it out when the screen is left, even by a
        /// crash.
        public var capturesStandardError = true
        /// The seconds that the program has after a signal asked for its end.
        public var terminationGrace: UInt32 = 5

        /// Makes the options that suit a person at a terminal.
        public init() {}
    }

    /// What ended a `wait`.
    public enum Wake: Equatable, Sendable {
        /// Keys, pastes, mouse and focus.
        case input([InputEvent])
        /// The window has a new size; draw for it.
        case resized(Size)
        /// `Waker.wake` was called.
        case woken
        /// The terminal took the frame that had waited for it.
        case shown
        /// The deadline passed.
        case timedOut
        /// SIGTSTP came: do what has to be done and call `suspend()` within five seconds, or the program is stopped
        /// without it.
        case suspending
        /// The process runs again after a stop; the screen has been drawn anew.
        case resumed
        /// A terminal was attached to the program's multiplexer, or the last one was detached.
        case attached(Bool)
        /// The terminal is gone; nothing more can be read or shown. This event comes once.
        case hangUp
        /// A signal asks for the end: finish within the grace period, `close()` and `endProcess(by:)`.
        case terminate(signal: Int32)
    }

    /// The window's size, at least 1×1.
    public internal(set) var size: Size
    /// Wakes `wait` from any thread.
    public let waker: Waker

    /// Whether the terminal is told where links lead.
    public var linkUse = LinkUse.auto {
        didSet { followLinkUse() }
    }
    /// The number of the terminal's colours: 0 for none, 8, 16, 88, 256, or 2²⁴ for direct colour.
    public var colorCount: Int { painter.palette.count }

    let options: Options
    let type: String
    let signalPipe: Int32
    let multiplexer: MultiplexerWatch?
    let modes: Modes
    var painter: Painter
    var parser = InputParser()
    var parserDeadline: ContinuousClock.Instant?
    var queue: [Wake] = []
    var latest: Canvas?
    var title: String?
    /// Whether a frame waits for the terminal to take it; `wait` shows it as soon as it can.
    public internal(set) var hasPendingFrame = false
    var hasShownFrame = false
    /// The number of questions that the terminal has not answered.
    var openQuestions = 0
    var canSynchronize = false
    var isHungUp = false
    var isClosed = false
    var stopWasSignalled = false
    var notificationRoute: NotificationRoute

    /// There is one terminal, so there is one session at a time.
    private static let isTaken = Atomic(false)

    /// Takes the terminal on standard input and output: alternate screen, raw keys, the modes of `options`.
    ///
    /// - Throws: `TerminalError` if there is no terminal, or ncurses does not know it.
    public init(options: Options = Options()) throws(TerminalError) {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { throw .notATerminal }
        guard !Self.isTaken.exchange(true, ordering: .acquiringAndReleasing) else { throw .alreadyOpen }
        do throws(TerminalError) {
            waker = try Waker()
            let isUTF8 = cterminal_use_utf8()
            signalPipe = cterminal_install()
            guard signalPipe >= 0 else { throw .system(errno) }
            type = try Self.openCurses()
            notificationRoute = NotificationRoute(type: type, environment: environmentValue)
            self.options = options
            multiplexer = options.focus ? MultiplexerWatch.ofEnvironment() : nil
            modes = Modes(options: options, type: type)
            let strings = modes.handlerStrings()
            _ = cterminal_set_strings(strings.restore, strings.restore.count, strings.enter, strings.enter.count)
            size = Self.currentSize()
            if size != Size(rows: Int(cterminal_lines()), columns: Int(cterminal_columns())) {
                // The window may have changed meanwhile.
                resizeterm(Int32(size.rows), Int32(size.columns))
            }
            painter = Painter(size: size, colors: options.colors, isUTF8: isUTF8)
            painter.writesLinks = Modes.takesLinks(type: type)
        } catch {
            cterminal_uninstall(false)
            Self.isTaken.store(false, ordering: .releasing)
            throw error
        }
        cterminal_set_active(true)
        if options.capturesStandardError { cterminal_capture_errors() }
    }

    deinit { close() }

    /// Leaves the terminal as it was found. Further calls do nothing.
    ///
    /// - Parameter endsProcess: whether the process ends as soon as its work is done. Then a closed terminal does not
    ///   end it earlier, and the grace period of a signal that asked for the end begins now.
    public func close(endsProcess: Bool = false) {
        guard !isClosed else { return }
        isClosed = true
        if isHungUp {
            cterminal_set_active(false)
        } else {
            leaveScreen(discardsInput: true)
        }
        cterminal_release_errors()
        cterminal_close()
        cterminal_uninstall(endsProcess)
        if endsProcess, cterminal_pending_death() != 0 { cterminal_extend_grace(max(1, options.terminationGrace)) }
        Self.isTaken.store(false, ordering: .releasing)
    }

    /// The signal that asked for the end, even if `wait` has not reported it or the session is closed.
    public var pendingSignal: Int32? {
        let signal = cterminal_pending_death()
        return signal == 0 ? nil : signal
    }

    /// Ends the process by a signal's default action, so that its parent sees what ended it. Restores the terminal
    /// first if a session still holds it.
    public static func endProcess(by signal: Int32) -> Never { cterminal_die(signal) }

    // MARK: opening

    private static func openCurses() throws(TerminalError) -> String {
        let wanted = environmentValue("TERM") ?? ""
        var failure = TerminalError.unknownType(wanted)
        for type in [wanted] + substitutes(for: wanted) where !type.isEmpty {
            switch cterminal_look_up(type) {
            case 0...:
                if cterminal_open(type) { return type }
                failure = .tooSimple(wanted)
            case -2: failure = .noDatabase
            case -3: throw .tooSimple(wanted)
            default: failure = .unknownType(wanted)
            }
        }
        throw failure
    }

    /// Stand-ins for types whose entry is often missing on the other end of a connection; their terminals support
    /// these, too.
    private static func substitutes(for type: String) -> [String] {
        let likeXterm = [
            "xterm", "alacritty", "foot", "ghostty", "kitty", "wezterm", "contour", "rio", "konsole", "vte",
        ]
        if likeXterm.contains(where: type.hasPrefix) { return ["xterm-256color", "xterm"] }
        if type.hasPrefix("tmux") || type.hasPrefix("screen") { return ["screen-256color", "screen"] }
        return []
    }

    /// The window's size, if the kernel knows it.
    static var windowSize: Size? {
        var window = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0, window.ws_row > 0, window.ws_col > 0 else {
            return nil
        }
        return Size(rows: Int(window.ws_row), columns: Int(window.ws_col))
    }

    static func currentSize() -> Size { windowSize ?? Size(rows: 24, columns: 80) }
}

func environmentValue(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
