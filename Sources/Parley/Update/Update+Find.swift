import Relay

// Finding letters in the messages that are loaded, from one to the next.
extension ChatModel {
    /// What is looked for in the conversation in view.
    struct Find: Hashable, Sendable {
        let text: TextFind
        let conversation: String
    }

    /// Begins to look for something in the conversation in view, from the newest message up, or in what is read whole.
    mutating func find(_ words: String) {
        if case .reader(let reader) = view { return ReaderPane(reader: reader).find(words, on: &self) }
        guard case .conversation(let name) = view else { return say("Open a topic first.", .failure) }
        find = Find(text: TextFind(words), conversation: name)
        selection = nil
        findNext(by: -1)
    }

    /// Goes on to the message above that has what is looked for, or to the next line of what is read whole.
    mutating func findOn() {
        if case .reader(let reader) = view, reader.find != nil {
            return ReaderPane(reader: reader).findNext(by: 1, on: &self)
        }
        if case .conversation(let name) = view, find?.conversation == name { return findNext(by: -1) }
        say("Nothing is looked for here. /find LETTERS begins.", .failure)
    }

    /// Goes to the next message that has what is looked for, above or below the selected one.
    mutating func findNext(by step: Int) {
        guard let find, let conversation = conversations.named(find.conversation) else { return }
        var index = conversation.count
        if let selected = selectedRow?.position { index = conversation.index(atOrAfter: selected) }
        index += step
        while let row = conversation.row(at: index) {
            if row.isMessage, !conversation.isHidden(row), find.text.isIn(row.text) {
                select(row, in: find.conversation)
                self.find = find
                return
            }
            index += step
        }
        let words = find.text.words
        let keys = settings.keys
        if selectedRow == nil {
            self.find = nil
            say("No message that is loaded here has \(words). /search looks through all that is kept.", .failure)
        } else if step < 0 {
            let loads = hasScreen ? keys.label(of: .toBeginning, in: ConversationPane.self) : "/history"
            let older = loads.map { "; \($0) loads older ones" }
            say("No message above has \(words)\(older ?? "").")
        } else {
            say("No message below has \(words).")
        }
    }
}
