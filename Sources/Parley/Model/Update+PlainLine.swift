extension ChatModel {
    /// Takes a whole line of somebody without a screen: the answer to a question, a command, or a message to what is in
    /// view. What cannot be done leaves nothing behind but words.
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
        // A message that was read whole is behind the person, unless what is looked for in it is looked for further.
        while let reader = screen.view.reader, reader.find == nil || !Self.goesOnFinding(line) {
            _ = ReaderPane(reader: reader).escape(on: self)
        }
        // A list that was read is behind them too, and what was found there: what is no command is for the topic where
        // they were.
        if Self.isText(line) {
            (screen.marks.selection, screen.marks.found) = (nil, nil)
            returnToTopic()
        }
        // What a command has led to is what the next one is for.
        screen.focus = screen.marks.selection == nil ? .compose : .main
        // What was begun on a screen waits for the screen.
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
