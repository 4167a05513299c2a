import Relay

// Commands for a message by its number, and for the next part of a list. On a screen there are keys as well.
extension ChatModel {
    /// The messages announced without a screen, for commands to continue from.
    struct Spoken: Equatable, Sendable {
        /// Each topic's oldest announced message since it came into view.
        var oldest: [String: RowPosition] = [:]
        /// The oldest and newest announced messages around a search result.
        var excerpt: ClosedRange<RowPosition>?
    }

    var hasScreen: Bool { spoken == nil }

    // MARK: One message

    /// The message that a command refers to: by its number, counted from the newest; without one, the message selected
    /// now or when the command was begun, or the one found, or the newest. Says so if there is none.
    func message(_ number: Int?) -> ConversationRow? {
        guard let conversation = conversationInView else {
            say("Open a topic first.", .failure)
            return nil
        }
        if number == nil {
            if let selected = selectedRow ?? rowBeforeText { return selected }
            if let found = screen.marks.found, found.conversation == conversation.name,
                let row = conversation.row(of: found.position)
            {
                return row
            }
        }
        var left = number ?? 1
        for index in stride(from: conversation.count - 1, through: 0, by: -1) {
            guard let row = conversation.row(at: index), row.isMessage, !conversation.isHidden(row) else { continue }
            left -= 1
            if left == 0 { return row }
        }
        let count = (number ?? 1) - left
        say(
            count == 0
                ? "There is no message here."
                : "Only \(Wording.count(count, "message")) of \(conversation.name) \(count == 1 ? "is" : "are") here.",
            .failure)
        return nil
    }

    /// Whether a message can be quoted: it exists, and fits into one message together with the text. Says why if not.
    func mayQuote(_ number: Int?, _ text: String) -> Bool {
        guard let row = message(number) else { return false }
        guard !SlashCommand.isCommand(text) else {
            say(
                "Not sent: a command after a quotation would be text for everyone. Run it alone.", .failure,
                about: .mistake)
            return false
        }
        return text.isEmpty || fits(Self.answer(text, to: row)) && writableTopic() != nil
    }

    private static func answer(_ text: String, to row: ConversationRow) -> String { "\(quotation(of: row))\n\(text)" }

    /// Puts a quotation before the text being written. Without a screen, sends the quotation and the text at once.
    func quote(_ number: Int?, _ text: String) -> ChatEffects {
        guard let row = message(number) else { return [] }
        guard !hasScreen else {
            // After a quotation, the command would be sent to everyone as text.
            guard !compose.isCommand else {
                return tell("A command is being written: send it first, or clear it.", .failure)
            }
            // A text begun before the palette opened goes after the answer.
            if !text.isEmpty { compose.set(compose.isEmpty ? text : "\(text)\n\(compose.text)") }
            quote(row)
            return []
        }
        guard !text.isEmpty else {
            return tell("Without a screen the answer goes with it: /quote [NUMBER] TEXT", .failure)
        }
        guard let topic = writableTopic() else { return [] }
        return publish(Self.answer(EmojiCode.replaced(in: text), to: row), to: topic)
    }

    /// Shows a letter or message in full: by its number, or the selected or abridged one.
    func read(_ number: Int?) -> ChatEffects {
        if screen.view.conversation != nil, number != nil || !hasScreen {
            if let reader = message(number).flatMap({ reader(of: $0) }) { read(reader) }
            return []
        }
        guard let number else {
            readWhole()
            return []
        }
        if screen.view.search != nil { return openFound(number) }
        if isInPostbox(), selectLetter(number) { readWhole() }
        return []
    }

    /// Whether letters are listed; says how to list them if not.
    func isInPostbox() -> Bool {
        if screen.view.isInbox { return true }
        if hasScreen { sayPostboxFirst() } else { say("List the letters first: /inbox", .failure) }
        return false
    }

    // MARK: The next part

    /// Loads older messages of what is in view, unless some were loaded but not announced yet.
    func showOlder() -> ChatEffects {
        if let excerpt = screen.view.excerpt {
            if let said = spoken?.excerpt, excerpt.conversation.message(from: said.lowerBound, by: -1) != nil {
                return []
            }
            let effects = readExcerpt(.before)
            if effects.isEmpty, excerpt.request == nil { say("Older ones are not stored here, or there is no room.") }
            return effects
        }
        guard let name = screen.view.topic else { return tell("Open a topic first.") }
        guard let conversation = network.conversations.named(name) else { return [] }
        if let oldest = spoken?.oldest[name], conversation.message(from: oldest, by: -1) != nil { return [] }
        switch conversation.history {
        case .complete: say("The first message of \(name) is here already.")
        case .offline where isOffline: say("Older messages come when connected.")
        case .unknown, .loading, .more, .offline:
            // Older messages would push out the newest ones.
            if !hasScreen, conversation.rows.count + Self.historyPage > Conversation.rowLimit {
                let count = Wording.grouped(Conversation.rowLimit)
                return tell("Parley keeps \(count) messages of a topic at once; parley history has more.")
            }
        }
        return loadHistory(name)
    }

    func showMore() -> ChatEffects {
        if screen.view.isInbox { return nextPage() }
        if let search = screen.view.search {
            guard search.hasMore else {
                return tell(
                    search.request == nil ? "That is all that was found." : "One moment: it is being looked for.")
            }
            return fetchFound()
        }
        guard let excerpt = screen.view.excerpt else {
            return tell("No list goes on here. /history has older messages.")
        }
        if let said = spoken?.excerpt, excerpt.conversation.message(from: said.upperBound, by: 1) != nil { return [] }
        let effects = readExcerpt(.after)
        if effects.isEmpty, excerpt.request == nil { say("The newest stored message is in view.") }
        return effects
    }

    /// Whether a requested list, to which numbers would refer, is still on its way.
    var awaitsList: Bool {
        let view = screen.view
        return view.isInbox && network.inbox.awaitsPage || view.search?.request != nil || view.excerpt?.request != nil
    }
}
