import CTerminal

/// The modes that ncurses does not handle, and the strings that switch everything on and off.
struct Modes {
    let enter: [UInt8]
    /// Switches them off; all forms of the mouse, in case an earlier program left one on.
    let leave: [UInt8]
    /// Whether the terminal takes an unknown question without printing any of it.
    let canBeAsked: Bool

    init(options: TerminalSession.Options, type: String) {
        let (focusOn, focusOff) = options.focus ? ("\u{1B}[?1004h", "\u{1B}[?1004l") : ("", "")
        enter = Array("\u{1B}[?2004h\(focusOn)\u{1B}[?1000h\u{1B}[?1002h\u{1B}[?1006h".utf8)
        leave = Array("\u{1B}[?1006l\u{1B}[?1002l\u{1B}[?1000l\(focusOff)\u{1B}[?2004l".utf8)
        canBeAsked = Self.canBeAsked(type: type)
    }

    /// What a signal handler writes. To leave: everything off that ncurses or the session may have switched on, in
    /// whatever state a half-written frame left the terminal. To enter: the screen and the session's modes.
    func handlerStrings() -> (restore: [UInt8], enter: [UInt8]) {
        let alternate = capability("rmcup")
        // First, the end of a link that a signal may have left half written.
        var restore = (canBeAsked ? LinkTarget.closing : []) + Array("\u{1B}[?2026l".utf8) + leave
        restore += capability("rmkx") + capability("rmir") + capability("rmacs")
        restore += Array("\u{1B}[?7h".utf8) + capability("cnorm") + capability("sgr0")
        restore += Array("\u{1B}[r".utf8)
        // Without a second screen the shell's next line goes below ours.
        restore += alternate.isEmpty ? Array("\u{1B}[999;1H\r\n".utf8) : alternate
        return (restore, capability("smcup") + enter)
    }

    /// A capability of the terminal without its padding marks.
    private func capability(_ name: String) -> [UInt8] {
        guard let value = cterminal_capability(name) else { return [] }
        var bytes: [UInt8] = []
        var rest = Array(String(cString: value).utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "$"), rest.first == UInt8(ascii: "<") {
                rest = rest.drop { $0 != UInt8(ascii: ">") }.dropFirst()
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// Whether a terminal supports links (OSC 8), or ignores them however long; some others ignore only short ones.
    static func takesLinks(type: String) -> Bool {
        canBeAsked(type: type) && !["screen", "rxvt", "st-"].contains(where: type.hasPrefix)
    }

    static func canBeAsked(type: String) -> Bool {
        if environmentValue("TERM_PROGRAM") == "Apple_Terminal" { return false }
        return [
            "xterm", "tmux", "screen", "alacritty", "foot", "ghostty", "kitty", "wezterm", "contour", "rxvt", "st-",
            "konsole", "vte", "rio",
        ].contains(where: type.hasPrefix)
    }
}
