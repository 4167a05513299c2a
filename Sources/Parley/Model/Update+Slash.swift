import Terminal

// Escape followed by a slash arrives as Alt-/: no terminal can tell them apart, and tmux combines keys up to half a
// second apart. The text after that may be a command without its slash.
extension ChatModel {
    /// Notes whether the text begun now may be such a command.
    func noteSlash(_ key: Key) {
        guard compose.isEmpty else { return }
        // The text's first letter changes nothing.
        if key.modifiers.isEmpty, case .character = key.code { return }
        writing.mayLackSlash = key == .alt("/")
    }

    /// Adds the missing slash to a command, and says so instead of sending it.
    ///
    /// - Returns: whether the text was such a command.
    func mendSlash() -> Bool {
        guard writing.mayLackSlash else { return false }
        writing.mayLackSlash = false
        let text = compose.text
        guard SlashCommand.lacksSlash(text) else { return false }
        let name = String(text.prefix { !$0.isWhitespace })
        compose.editor.moveCursor(to: 0)
        compose.editor.insert("/")
        compose.editor.moveCursor(to: compose.editor.count)
        let place = screen.view.topic.map { " in \($0)" } ?? ""
        say("Not sent: Esc and / came as Alt-/. Enter runs /\(name)\(place).")
        return true
    }
}
