import Terminal

/// The findings about the terminal and the locale: pure, from what was looked up.
enum TerminalFindings {
    /// What was found out of the terminal's focus.
    enum FocusWord: Hashable, Sendable {
        /// Nothing: there is no terminal that can be asked.
        case unknown
        /// What the terminal has answered.
        case answered(TerminalProbe.FocusAnswer)
        /// Whether tmux, which is in between, passes on what its terminal reports; nil where it does not say.
        case tmux(passesOn: Bool?)
        /// GNU screen is in between, and has said nothing of it.
        case screen

        /// What an answer says; nil for none.
        static func of(_ answer: TerminalProbe.FocusAnswer?, isInScreen: Bool) -> FocusWord {
            guard let answer else { return .unknown }
            return isInScreen && answer != .reports ? .screen : .answered(answer)
        }
    }

    static func all(
        _ probe: TerminalProbe, _ environment: [String: String], isLocaleInstalled: Bool,
        focus word: FocusWord = .unknown
    ) -> [Finding] {
        [terminal(probe), colors(probe), focus(word), locale(environment, isInstalled: isLocaleInstalled)]
    }

    private static func terminal(_ probe: TerminalProbe) -> Finding {
        let name = "terminal"
        guard probe.isTerminal else {
            return Finding(
                name, .warning, "standard input and output are not a terminal; the chat needs one, the commands do not",
                fix: "run parley doctor without a pipe to check the terminal")
        }
        let remedy = "set TERM to what your terminal is, for example xterm-256color"
        guard let type = probe.type, let entry = probe.entry else {
            return Finding(name, .failure(CommandFailure.badConfiguration), "TERM is not set", fix: remedy)
        }
        switch entry {
        case .noDatabase:
            return Finding(
                name, .failure(CommandFailure.badConfiguration), "there is no terminal database",
                fix: "install ncurses-base, or set TERMINFO to where it is")
        case .unknown:
            return Finding(
                name, .failure(CommandFailure.badConfiguration), "the terminal type \(type) is not known here",
                fix: "install its terminfo entry, or \(remedy)")
        case .tooSimple:
            return Finding(
                name, .failure(CommandFailure.badConfiguration), "the terminal type \(type) cannot place its cursor",
                fix: remedy)
        case .known:
            guard let size = probe.size else { return Finding(name, .ok, "\(type), size not known") }
            let least = ScreenLayout.minimum
            let words = "\(type), \(size.columns)×\(size.rows)"
            if size.rows < least.rows || size.columns < least.columns {
                return Finding(
                    name, .warning, words, fix: "make the window at least \(least.columns)×\(least.rows)")
            }
            return Finding(name, .ok, words)
        }
    }

    private static func colors(_ probe: TerminalProbe) -> Finding {
        if probe.refusesColors { return Finding("colours", .ok, "none, because NO_COLOR is set") }
        guard case .known(let colors)? = probe.entry else { return Finding("colours", .ok, "not known") }
        return Finding("colours", .ok, colors == 0 ? "none; symbols say the same" : Wording.grouped(colors))
    }

    private static func focus(_ word: FocusWord) -> Finding {
        let name = "focus"
        let present = "you count as present, and the connection is kept"
        let wayOut =
            "say /away when you leave, press ^Z, or set idleAfter in the configuration file; "
            + "with nothing typed for a minute, mentions and letters notify you"
        switch word {
        case .unknown:
            return Finding(name, .ok, "tested in the chat; where the terminal reports none, you count as present")
        case .answered(.reports): return Finding(name, .ok, "the terminal reports it")
        case .answered(.denies):
            return Finding(name, .warning, "the terminal does not report it: \(present)", fix: wayOut)
        case .answered(.silent):
            let words = "the terminal does not say whether it reports it"
            return Finding(name, .warning, "\(words); until it does, \(present)", fix: wayOut)
        case .answered(.unanswered):
            let words = "the terminal has not answered in time"
            return Finding(name, .warning, "\(words); where it reports none, \(present)", fix: wayOut)
        case .screen:
            let words = "screen does not pass it on: \(present)\(untilDetached)"
            return Finding(name, .warning, words, fix: wayOut)
        case .tmux(passesOn: true?): return Finding(name, .ok, "tmux passes on what its terminal reports")
        case .tmux(passesOn: let passesOn):
            let words = passesOn == nil ? "tmux does not say whether it passes it on" : "tmux does not pass it on"
            return Finding(
                name, .warning, "\(words); where it does not, \(present)\(untilDetached)",
                fix: "run tmux set -g focus-events on, and keep that in ~/.tmux.conf; or \(wayOut)")
        }
    }

    /// Where the system tells of a socket's mode, whoever detaches is seen to leave.
    #if os(Linux)
        private static let untilDetached = " until you detach"
    #else
        private static let untilDetached = ""
    #endif

    /// The first of the three variables that is set decides, as for every program.
    private static func locale(_ environment: [String: String], isInstalled: Bool) -> Finding {
        let set = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { name in
            environment[name].flatMap { $0.isEmpty ? nil : (name, $0) }
        }.first
        guard let (name, value) = set else {
            return Finding(
                "locale", .warning, "none is set; Parley still writes UTF-8", fix: "export LANG=C.UTF-8")
        }
        let charset = value.split(separator: ".", maxSplits: 1).last?.lowercased().filter { $0 != "-" } ?? ""
        guard charset.hasPrefix("utf8") else {
            return Finding(
                "locale", .warning, "\(name)=\(value) is not UTF-8; Parley still writes UTF-8",
                fix: "export \(name)=C.UTF-8")
        }
        guard isInstalled else {
            return Finding(
                "locale", .warning, "\(name)=\(value) is not installed here; Parley still writes UTF-8",
                fix: "export \(name)=C.UTF-8, or install that locale")
        }
        return Finding("locale", .ok, "UTF-8 (\(name)=\(value))")
    }
}
