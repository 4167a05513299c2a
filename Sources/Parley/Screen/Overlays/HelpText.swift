/// The help: every key and command, from the tables that dispatch them.
enum HelpText {
    enum Line: Hashable, Sendable {
        case heading(String)
        case entry(String, String)
        case blank
    }

    static let keyColumns = 26

    static func lines(_ keys: KeyMap) -> [Line] {
        var lines: [Line] = []
        func add(_ title: String, _ entries: [Line]) { lines += [.heading(title)] + entries + [.blank] }
        for table in keys.tables { add(table.title, table.entries.map { .entry($0.label, $0.binding.words) }) }
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
        ]
        lines += TitleCount.allCases.map { .entry($0.sign.symbol, $0.sign.words) }
        return lines
    }

    /// What the help says about a subject: the keys and commands that match all its words, or else any of them, under
    /// their headings, and sections whose headings match. Those whose name it is come first.
    static func about(_ subject: String, in lines: [Line]) -> [Line] {
        let words = subject.lowercased().split(whereSeparator: \.isWhitespace).map(String.init)
        let found = about(words, in: lines)
        guard found.isEmpty, words.count > 1 else { return found }
        // Short words, such as articles, say nothing.
        let parts = words.filter { $0.count > 3 }.map { about([$0], in: lines) }
        return Array(parts.filter { !$0.isEmpty }.joined(separator: [.blank]))
    }

    private static func about(_ words: [String], in lines: [Line]) -> [Line] {
        func has(_ text: String) -> Bool {
            let text = text.lowercased()
            return words.allSatisfy { text.contains($0) }
        }
        let names = words.count == 1 ? [words[0], "/\(words[0])"] : []
        let called = lines.filter { line in
            line.keys.lowercased().split(separator: " ").contains { names.contains(String($0)) }
        }
        var found: [Line] = []
        for section in lines.split(separator: .blank) {
            guard let heading = section.first?.heading else { continue }
            let entries = section.dropFirst()
            let shown = has(heading) ? Array(entries) : entries.filter { has("\($0.keys) \($0.words)") }
            let rest = shown.filter { !called.contains($0) }
            if !rest.isEmpty { found += [.blank, .heading(heading)] + rest }
        }
        return called.isEmpty ? Array(found.dropFirst()) : called + found
    }
}

extension HelpText.Line {
    fileprivate var heading: String? { if case .heading(let words) = self { words } else { nil } }
    fileprivate var keys: String { if case .entry(let keys, _) = self { keys } else { "" } }
    fileprivate var words: String { if case .entry(_, let words) = self { words } else { "" } }
}

extension ChatModel {
    func openHelp(_ subject: String) {
        guard !subject.isEmpty else { return screen.overlay = .help(scroll: 0) }
        let name = subject.prefix(64)
        let lines = HelpText.about(subject, in: HelpText.lines(settings.keys))
        guard !lines.isEmpty else {
            return say("No help found for “\(name)”. /help alone shows all of it.", .failure)
        }
        screen.overlay = .listing(Listing(title: "Help: \(name)", lines: lines))
    }
}
