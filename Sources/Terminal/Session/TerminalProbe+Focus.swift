import Platform

extension TerminalProbe {
    /// A terminal's reply to the question whether it reports its focus.
    public enum FocusAnswer: Hashable, Sendable {
        /// It does.
        case reports
        /// It does not.
        case denies
        /// It has answered only the question after this one: it may report its focus or not.
        case silent
        /// It has not answered in time.
        case unanswered
    }

    /// Asks this process's terminal whether it reports its focus (DECRQM 1004), and consumes what is typed meanwhile.
    /// Nil if no terminal can be asked, or this process is in the background. Not to be called while a session is open.
    public static func askFocus(within limit: Duration = .milliseconds(500)) -> FocusAnswer? {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(),
            Modes.canBeAsked(type: environmentValue("TERM") ?? "")
        else { return nil }
        var modes = termios()
        guard tcgetattr(STDIN_FILENO, &modes) == 0 else { return nil }
        var raw = modes
        // No signal may end the process while its terminal echoes nothing.
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0 else { return nil }
        defer { _ = tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes) }
        var question = FocusQuestion()
        guard write(STDOUT_FILENO, FocusQuestion.bytes, FocusQuestion.bytes.count) == FocusQuestion.bytes.count else {
            return nil
        }
        let end = ContinuousClock.now + limit
        var bytes = [UInt8](repeating: 0, count: 256)
        while question.answer == nil {
            let rest = ContinuousClock.now.duration(to: end)
            guard rest > .zero else { return .unanswered }
            var item = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            let found = poll(&item, 1, rest.pollMilliseconds)
            if found < 0, errno == EINTR { continue }
            guard found == 1, item.revents & Int16(POLLIN) != 0 else { return .unanswered }
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            guard count > 0 else { return .unanswered }
            question.take(bytes[..<count])
        }
        return question.answer
    }
}

/// The question whether a terminal reports its focus, and the reply as it arrives. A pure value.
struct FocusQuestion {
    static let bytes = Array("\u{1B}[?1004$p\u{1B}[c".utf8)

    private(set) var answer: TerminalProbe.FocusAnswer?
    private var word: TerminalProbe.FocusAnswer?
    private var parser = InputParser()

    mutating func take(_ bytes: some Sequence<UInt8>) {
        for event in parser.feed(bytes) {
            switch event {
            case .reply(.mode(number: 1004, state: 1...3)): word = .reports
            case .reply(.mode(number: 1004, state: _)): word = .denies
            case .reply(.deviceAttributes): answer = word ?? .silent
            default: break
            }
        }
    }
}
