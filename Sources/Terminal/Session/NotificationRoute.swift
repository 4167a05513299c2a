/// How the person wants to be notified.
public enum NotificationUse: Hashable, Sendable {
    /// By what the terminal is known to support, else by its bell.
    case auto
    /// By this, whatever the terminal is.
    case always(NotificationMethod)
    /// Not at all.
    case never
}

/// The notifications that the terminal supports, by its type, the environment and its reply. A pure value.
struct NotificationRoute: Hashable, Sendable {
    let isInTmux: Bool
    /// Whether the terminal has said that it supports OSC 99.
    var hasAnswered = false
    /// What the type and the environment suggest.
    private let guess: NotificationMethod?

    init(type: String, environment: (String) -> String?) {
        func isSet(_ name: String) -> Bool { environment(name).map { !$0.isEmpty } ?? false }
        isInTmux = isSet("TMUX") || type.hasPrefix("tmux")
        let program = environment("TERM_PROGRAM") ?? ""
        let isITerm = program == "iTerm.app" || environment("LC_TERMINAL") == "iTerm2"
        let is777 = ["foot", "contour", "rxvt-unicode", "wezterm", "xterm-ghostty", "ghostty"]
        if isInTmux {
            // TERM and TERM_PROGRAM are tmux's own here. The other variables name the terminal that it was started in.
            if isITerm || isSet("ITERM_SESSION_ID") {
                guess = .osc9
            } else if isSet("KITTY_WINDOW_ID") {
                guess = .osc99
            } else {
                guess = isSet("WEZTERM_PANE") || isSet("GHOSTTY_RESOURCES_DIR") ? .osc777 : nil
            }
        } else if type.hasPrefix("xterm-kitty") || type.hasPrefix("kitty") {
            guess = .osc99
        } else if is777.contains(where: type.hasPrefix) || program == "WezTerm" || program == "ghostty" {
            guess = .osc777
        } else {
            guess = isITerm ? .osc9 : nil
        }
    }

    func methods(for use: NotificationUse) -> [NotificationMethod] {
        switch use {
        case .never: []
        case .always(let method): [method]
        case .auto where isInTmux:
            // tmux passes on only the bell until it is configured otherwise, and does not tell.
            [.bell] + (guess.map { [$0] } ?? [])
        case .auto: [hasAnswered ? .osc99 : guess ?? .bell]
        }
    }

    /// Whether the terminal is asked. A multiplexer in between may take the reply for typing.
    func isAsked(type: String) -> Bool { !isInTmux && !type.hasPrefix("screen") }
}
