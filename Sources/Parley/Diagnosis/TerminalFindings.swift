import Terminal

/// The findings about the terminal and the locale: a pure function of what was looked up.
enum TerminalFindings {
    enum FocusWord: Hashable, Sendable {
        /// There is no terminal to ask.
        case unknown
        case answered(TerminalProbe.FocusAnswer)
        /// Inside tmux: whether it passes on its terminal's reports; nil if it does not say.
        case tmux(passesOn: Bool?)
        /// Inside GNU screen, which does not report focus.
        case screen

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
            return Finding(name, .misconfigured, "TERM is not set", fix: remedy)
        }
        switch entry {
        case .noDatabase:
            return Finding(
                name, .misconfigured, "there is no terminal database",
                fix: "install ncurses-base, or set TERMINFO to where it is")
        case .unknown:
            return Finding(
                name, .misconfigured, "the terminal type \(type) is not known here",
                fix: "install its terminfo entry, or \(remedy)")
        case .tooSimple:
            return Finding(name, .misconfigured, "the terminal type \(type) cannot place its cursor", fix: remedy)
        case .known:
            guard let size = probe.size else { return Finding(name, .ok, "\(type), size not known") }
            let least = ScreenLayout.minimum
            let words = "\(type), \(size.columns)×\(size.rows)"
            guard size.rows < least.rows || size.columns < least.columns else { return Finding(name, .ok, words) }
            return Finding(name, .warning, words, fix: "make the window at least \(least.columns)×\(least.rows)")
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
        var fix =
            "say /away when you leave, press ^Z, or set idleAfter in the configuration file; "
            + "with nothing typed for a minute, mentions and letters notify you"
        let words: String
        switch word {
        case .unknown:
            return Finding(name, .ok, "tested in the chat; where the terminal reports none, you count as present")
        case .answered(.reports): return Finding(name, .ok, "the terminal reports it")
        case .tmux(passesOn: true?): return Finding(name, .ok, "tmux passes on what its terminal reports")
        case .answered(.denies): words = "the terminal does not report it: \(present)"
        case .answered(.silent): words = "the terminal does not say whether it reports it; until it does, \(present)"
        case .answered(.unanswered):
            words = "the terminal has not answered in time; where it reports none, \(present)"
        case .screen: words = "screen does not pass it on: \(present)\(untilDetached)"
        case .tmux(passesOn: let passesOn):
            let said = passesOn == nil ? "tmux does not say whether it passes it on" : "tmux does not pass it on"
            words = "\(said); where it does not, \(present)\(untilDetached)"
            fix = "run tmux set -g focus-events on, and keep that in ~/.tmux.conf; or \(fix)"
        }
        return Finding(name, .warning, words, fix: fix)
    }

    /// Only Linux shows, by a socket's mode, when the user detaches.
    #if os(Linux)
        private static let untilDetached = " until you detach"
    #else
        private static let untilDetached = ""
    #endif

    /// The first of the three variables that is set decides, as for any program.
    private static func locale(_ environment: [String: String], isInstalled: Bool) -> Finding {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"]
        guard let name = names.first(where: { environment[$0]?.isEmpty == false }), let value = environment[name] else {
            return Finding("locale", .warning, "none is set; Parley still writes UTF-8", fix: "export LANG=C.UTF-8")
        }
        let charset = value.split(separator: ".", maxSplits: 1).last?.lowercased().filter { $0 != "-" } ?? ""
        let fix = "export \(name)=C.UTF-8"
        guard charset.hasPrefix("utf8") else {
            let words = "\(name)=\(value) is not UTF-8; Parley still writes UTF-8"
            return Finding("locale", .warning, words, fix: fix)
        }
        guard isInstalled else {
            let words = "\(name)=\(value) is not installed here; Parley still writes UTF-8"
            return Finding("locale", .warning, words, fix: "\(fix), or install that locale")
        }
        return Finding("locale", .ok, "UTF-8 (\(name)=\(value))")
    }
}
