import Terminal

// Escape and a slash that come together are Alt-/: no terminal can tell them apart, and tmux puts together what is half
// a second apart. Commands begin with a slash, so that what follows may be one that lacks it.
extension ChatModel {
    /// Notes whether the text that is begun now may be such a command.
    func noteSlash(_ key: Key) {
        guard compose.isEmpty else { return }
        // The first letter behind it: it stays as it is.
        if key.modifiers.isEmpty, case .character = key.code { return }
        writing.mayLackSlash = key == .alt("/")
    }

    /// Gives a text its slash that would be a command with it, and says so: it is not sent before the person has seen
    /// that.
    ///
    /// - Returns: whether it was one.
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
