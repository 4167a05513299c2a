import Relay

// Finding text in the loaded messages, from one to the next, and in what is read.
extension ChatModel {
    struct Find: Hashable, Sendable {
        let text: TextFind
        let conversation: String
        /// Whether that is an excerpt of the conversation.
        var isInExcerpt = false
    }

    /// Starts a find: in the conversation in view, from the newest message up; in an excerpt, from the message found
    /// up; in an open message or letter, from its beginning.
    func find(_ words: String) {
        let view = screen.view
        if let reader = view.reader { return ReaderPane(reader: reader).find(words, on: self) }
        if view.isInbox || view.search != nil { return findInLetter(words) }
        guard let name = view.conversation else { return say("Open a topic first.", .failure) }
        screen.marks.find = Find(text: TextFind(words), conversation: name, isInExcerpt: view.excerpt != nil)
        screen.marks.selection = nil
        findNext(by: -1)
    }

    private func findInLetter(_ words: String) {
        guard let letter = wholeText else {
            guard screen.view.isInbox else {
                return say("Open what was found first; /find looks through that.", .failure)
            }
            if network.inbox.openLetter?.isUnreadable == true { return sayUnreadable() }
            let filters = settings.keys.label(of: .filter, in: InboxPane.self).map { "; \($0) filters the list" } ?? ""
            return say("Open a letter first\(filters).", .failure)
        }
        let find = TextFind(words)
        guard letter.parts.contains(where: { find.isIn(String($0)) }) else {
            return say("Nothing in this letter has \(find.words).", .failure)
        }
        read(letter)
        if let reader = screen.view.reader { ReaderPane(reader: reader).find(words, on: self) }
    }

    /// Goes on to the next match: the message above, or the next line of what is read.
    func findOn() {
        if let reader = screen.view.reader, reader.find != nil {
            return ReaderPane(reader: reader).findNext(by: 1, on: self)
        }
        guard let find = screen.marks.find ?? screen.marks.findBeforeText,
            screen.view.isPart(of: find.conversation, inExcerpt: find.isInExcerpt)
        else { return say("Nothing is looked for here. /find LETTERS begins.", .failure) }
        if screen.marks.find == nil {
            (screen.marks.find, screen.marks.selection) = (find, screen.marks.selectionBeforeText)
            screen.focus = .main
        }
        findNext(by: -1)
    }

    /// Goes to the next match above or below the selected message.
    func findNext(by step: Int) {
        guard let find = screen.marks.find, let conversation = conversationInView,
            screen.view.isPart(of: find.conversation, inExcerpt: find.isInExcerpt)
        else { return }
        guard let row = nextRow(with: find.text, in: conversation, by: step) else { return sayNotFound(find, by: step) }
        select(row)
    }

    /// The next message that matches. The first one is looked for from the newest message up; in an excerpt, from the
    /// message found up, and then down.
    private func nextRow(with text: TextFind, in conversation: Conversation, by step: Int) -> ConversationRow? {
        if let selected = selectedRow?.position {
            return conversation.message(from: conversation.index(atOrAfter: selected) + step, by: step, with: text)
        }
        guard let excerpt = screen.view.excerpt else {
            return conversation.message(from: conversation.count - 1, by: -1, with: text)
        }
        let place = conversation.index(atOrAfter: .message(excerpt.message.place.sequence))
        return conversation.message(from: place, by: -1, with: text)
            ?? conversation.message(from: place + 1, by: 1, with: text)
    }

    private func sayNotFound(_ find: Find, by step: Int) {
        let words = find.text.words
        guard selectedRow != nil else {
            screen.marks.find = nil
            return say(
                "No message that is loaded here has \(words). /search looks through all that is kept.", .failure)
        }
        var loads: String?
        if let excerpt = screen.view.excerpt {
            if step < 0, !excerpt.isOldest { loads = "/history loads older ones" }
            if step > 0, !excerpt.isNewest { loads = "/more loads newer ones" }
        } else if step < 0 {
            let key = hasScreen ? settings.keys.label(of: .toBeginning, in: ConversationPane.self) : "/history"
            loads = key.map { "\($0) loads older ones" }
        }
        say("No message \(step < 0 ? "above" : "below") has \(words)\(loads.map { "; \($0)" } ?? "").")
    }
}
