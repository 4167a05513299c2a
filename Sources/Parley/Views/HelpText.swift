/// The help: every key and command, made from the tables that dispatch them.
enum HelpText {
    /// One line of the help.
    enum Line: Hashable, Sendable {
        case heading(String)
        case entry(String, String)
        case blank
    }

    /// Columns of the keys.
    static let keyColumns = 26

    /// The help with these keys.
    static func lines(_ keys: KeyMap) -> [Line] {
        var lines: [Line] = []
        func add(_ title: String, _ entries: [Line]) { lines += [.heading(title)] + entries + [.blank] }
        add("Everywhere", keys.everywhere.map { .entry($0.label, $0.binding.words) })
        for pane in Panes.all {
            add(pane.title, keys.entries(of: pane).map { .entry($0.label, $0.binding.words) })
            if pane == ComposePane.self {
                add(EditingKey.title, keys.editing.map { .entry($0.label, $0.binding.words) })
            }
        }
        lines.append(.heading("Commands"))
        lines += SlashCommand.entries.map { .entry($0.usage, $0.words) }
        lines += [
            .blank, .heading("Beside your lines"),
            .entry("✓", "the network has stored it"), .entry("↑", "on its way"),
            .entry("…", "queued until connected"), .entry("✗", "not sent, with the reason below it"),
            .entry("↺", "somebody's line, recovered after an outage"),
            .entry("@", "before the time: the line calls you by your name"),
            .blank, .heading("Beside the topics"),
            .entry("@2 9", "lines that speak to you, and all that are unread"),
            .entry("✎", "something is being written there"),
            .entry("⊘", "muted: no bell, no count in the title"),
            .blank, .heading("In the title"),
            .entry("○ ◌ ●", "not connected, connecting, connected with the round trip"),
            .entry("↻", "reconnecting: the attempt, when it comes or how long it lasts, the reason"),
            .entry("║ ✕", "suspended while you are away; disconnected"),
            .entry("⇅", "lines and letters that are not sent yet"),
            .entry("@", "messages that call you and that you have not seen"),
            .entry("#", "unread messages in all topics"),
            .entry("✉", "letters in your postboxes that you have not read"),
        ]
        return lines
    }

    /// The line where the help speaks of something: of a command, a part of the screen, a key, or else the first that has
    /// the words.
    ///
    /// - Returns: its place; nil where the help has nothing of it.
    static func index(of subject: String, in lines: [Line]) -> Int? {
        let subject = subject.lowercased()
        let command = subject.first == "/" ? subject : "/\(subject)"
        let isMeant: [(Line) -> Bool] = [
            { $0.keys.lowercased().prefix { $0 != " " } == command },
            { $0.heading?.lowercased().hasPrefix(subject) ?? false },
            { $0.keys.lowercased().split(separator: " ").contains { $0 == subject } },
            { $0.heading?.lowercased().contains(subject) ?? false },
            { $0.words.lowercased().contains(subject) },
        ]
        return isMeant.lazy.compactMap { lines.firstIndex(where: $0) }.first
    }
}

extension HelpText.Line {
    fileprivate var heading: String? { if case .heading(let words) = self { words } else { nil } }
    fileprivate var keys: String { if case .entry(let keys, _) = self { keys } else { "" } }
    fileprivate var words: String { if case .entry(_, let words) = self { words } else { "" } }
}

extension ChatModel {
    /// Opens the help, where it speaks of a subject if one is named.
    mutating func openHelp(_ subject: String) {
        guard !subject.isEmpty else { return overlay = .help(scroll: 0) }
        let lines = HelpText.lines(settings.keys)
        guard let place = HelpText.index(of: subject, in: lines) else {
            return say("The help has nothing about \(subject.prefix(64)). /help alone shows all of it.", .failure)
        }
        let help = HelpLayout(size: size, lines: lines)
        let above = HelpLayout(size: size, lines: Array(lines.prefix(place)))
        overlay = .help(scroll: min(above.rows.count, help.lastScroll))
    }
}
