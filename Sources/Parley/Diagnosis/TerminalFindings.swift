import Terminal

/// The findings about the terminal and the locale: pure, from what was looked up.
enum TerminalFindings {
    static func all(_ probe: TerminalProbe, _ environment: [String: String], isLocaleInstalled: Bool) -> [Finding] {
        [terminal(probe), colors(probe), focus, locale(environment, isInstalled: isLocaleInstalled)]
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

    private static let focus = Finding(
        "focus", .ok, "tested in the chat; where the terminal reports none, you count as present")

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
