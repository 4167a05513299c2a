extension ChatModel {
    /// Handles a complete line without a screen: the answer to a question, a command, or a message to the topic in
    /// view. A failure leaves only a notice.
    func takeLine(_ line: String) -> ChatEffects {
        attention.lastInput = now.instant
        var effects = nudge()
        if case .question(let question)? = screen.overlay {
            let heldDeletion = asksToDeleteAndQuit
            screen.overlay = nil
            let answer = line.lowercased().filter { !$0.isWhitespace }
            if answer == "y" || answer == "yes" { return effects + answerYes(question) }
            if heldDeletion { network.inbox.deletion.release(now: now.instant) }
            say("That is left as it was.")
            return effects
        }
        screen.overlay = nil
        // Leaves the reader, unless the line continues a search in it.
        while let reader = screen.view.reader, reader.find == nil || !Self.goesOnFinding(line) {
            _ = ReaderPane(reader: reader).escape(on: self)
        }
        // Leaves a list and a search too: text is for the topic before.
        if Self.isText(line) {
            (screen.marks.selection, screen.marks.found) = (nil, nil)
            returnToTopic()
        }
        // The next command refers to a message that the last one has led to.
        screen.focus = screen.marks.selection == nil ? .compose : .main
        // A draft from a session with a screen is kept for the next one.
        let begun = compose.text
        compose.set(line)
        effects += submit()
        compose.editor.clear()
        if !begun.isEmpty { compose.set(begun) }
        return effects
    }

    private static func isText(_ line: String) -> Bool {
        guard line.first == "/", !line.hasPrefix("//") else { return true }
        return if case .say? = try? SlashCommand.parse(line) { true } else { false }
    }

    private static func goesOnFinding(_ line: String) -> Bool {
        if case .find("")? = try? SlashCommand.parse(line) { true } else { false }
    }

    private func returnToTopic() {
        guard screen.view.topic == nil, screen.view != .welcome else { return }
        for case .topic(let name) in screen.visits where network.conversations.index(of: name) != nil {
            return show(.conversation(name))
        }
        show(fallbackView)
    }
}
