import Relay

// What commands do with a message by its number, and with the next part of what is in view. On a screen the keys do it
// too; without one there is no other way.
extension ChatModel {
    /// What was said where there is no screen, so that commands go on from there.
    struct Spoken: Equatable, Sendable {
        /// The oldest message of each topic that was said since it came into view.
        var oldest: [String: RowPosition] = [:]
        /// The oldest and the newest that were said around what was found.
        var excerpt: ClosedRange<RowPosition>?
    }

    /// Whether there is a screen, on which things have a place.
    var hasScreen: Bool { spoken == nil }

    // MARK: One message

    /// The message that a command is for: by its number, counted from the newest; without one the selected message or
    /// the one that was when the command was begun, the one that was found, or the newest. Says so where there is none.
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

    /// Whether a message can be quoted: it is there, and where a text goes with it, both have room in one message.
    func mayQuote(_ number: Int?, _ text: String) -> Bool {
        guard let row = message(number) else { return false }
        guard !SlashCommand.isCommand(text) else {
            say(
                "Not sent: a command that goes with a quotation is text for all. Run it by itself.", .failure,
                about: .mistake)
            return false
        }
        return text.isEmpty || fits(Self.answer(text, to: row)) && writableTopic() != nil
    }

    private static func answer(_ text: String, to row: ConversationRow) -> String { "\(quotation(of: row))\n\(text)" }

    /// Quotes a message before the text that is written on. Without a screen nobody could write on: the text that goes
    /// with it is sent as the answer.
    func quote(_ number: Int?, _ text: String) -> ChatEffects {
        guard let row = message(number) else { return [] }
        guard !hasScreen else {
            // Behind a quotation it would be no command any more: a letter to one would be a line for all.
            guard !compose.isCommand else {
                return tell("A command is being written: send it first, or clear it.", .failure)
            }
            // What was being written when the palette asked for it stands behind the answer.
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

    /// Reads a letter or message whole: the one with a number, or what is selected or cut short.
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

    /// Whether letters are listed; says how to list them where they are not.
    func isInPostbox() -> Bool {
        if screen.view.isInbox { return true }
        if hasScreen { sayPostboxFirst() } else { say("List the letters first: /inbox", .failure) }
        return false
    }

    // MARK: The next part

    /// Older messages of what is in view; those that are here and were not said yet are not asked for.
    func showOlder() -> ChatEffects {
        if let excerpt = screen.view.excerpt {
            if let said = spoken?.excerpt, excerpt.conversation.message(from: said.lowerBound, by: -1) != nil {
                return []
            }
            let effects = readExcerpt(.before)
            if effects.isEmpty, excerpt.request == nil { say("Older ones are not kept here, or there is no room.") }
            return effects
        }
        guard let name = screen.view.topic else { return tell("Open a topic first.") }
        guard let conversation = network.conversations.named(name) else { return [] }
        if let oldest = spoken?.oldest[name], conversation.message(from: oldest, by: -1) != nil { return [] }
        switch conversation.history {
        case .complete: say("The first message of \(name) is here already.")
        case .offline where isOffline: say("Older messages come when connected.")
        case .unknown, .loading, .more, .offline:
            // The newest ones would be dropped for them, since those are what is in view.
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
            return tell("Nothing that is listed goes on here. /history has older messages.")
        }
        if let said = spoken?.excerpt, excerpt.conversation.message(from: said.upperBound, by: 1) != nil { return [] }
        let effects = readExcerpt(.after)
        if effects.isEmpty, excerpt.request == nil { say("The newest message that is kept here is in view.") }
        return effects
    }

    /// Whether something that was asked for is still on its way, which commands by number are meant for.
    var awaitsList: Bool {
        let view = screen.view
        return view.isInbox && network.inbox.awaitsPage || view.search?.request != nil || view.excerpt?.request != nil
    }
}
