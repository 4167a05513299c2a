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
            if pane == ComposePane.self { add("Editing the text", EditingKey.all.map { .entry($0.label, $0.words) }) }
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
}
