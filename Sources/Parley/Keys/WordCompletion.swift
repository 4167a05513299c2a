import Terminal

/// The completion of the word before the cursor: a name, a topic or an emoji. Each Tab shows the next choice, and after
/// the last one the typed word.
struct WordCompletion: Hashable, Sendable {
    /// Where the word begins, in characters.
    let start: Int
    let typed: String
    /// The candidates, most likely first.
    let choices: [String]
    /// The choice shown; nil for the typed word.
    private(set) var chosen: Int?

    /// The longest word, in characters.
    static let wordLimit = 64
    static let choiceLimit = 100

    var shown: String { chosen.map { choices[$0] } ?? typed }

    mutating func advance(by step: Int) {
        let count = choices.count + 1
        let place = ((chosen ?? choices.count) + step) % count
        let next = place < 0 ? place + count : place
        chosen = next == choices.count ? nil : next
    }

    /// Finds completions of the word before the cursor; nil if there are none. Names are expected most likely first.
    init?(_ text: String, names: @autoclosure () -> [String], topics: @autoclosure () -> [String]) {
        let word = String(text.reversed().prefix { !$0.isWhitespace }.prefix(Self.wordLimit + 1).reversed())
        guard !word.isEmpty, word.count <= Self.wordLimit else { return nil }
        let isFirst = word.count == text.count
        var choices: [String] = []
        switch word.first {
        case ":" where word.count > 1:
            choices = EmojiCode.beginning(with: word.dropFirst())
        case "@" where word.count > 1:
            choices = Self.matching(word.dropFirst(), names()).map { "@\($0) " }
        default:
            // A name at the beginning addresses its owner.
            choices = Self.matching(Substring(word), names()).map { isFirst ? "\($0): " : "\($0) " }
            choices += Self.matching(Substring(word), topics()).map { "\($0) " }
        }
        guard !choices.isEmpty else { return nil }
        start = text.count - word.count
        typed = word
        self.choices = Array(choices.prefix(Self.choiceLimit))
        chosen = nil
    }

    /// The words that begin with these letters, regardless of case.
    private static func matching(_ beginning: Substring, _ words: [String]) -> [String] {
        let small = beginning.lowercased()
        return words.filter { $0.lowercased().hasPrefix(small) }
    }
}

extension ChatModel {
    /// The rows searched for names in each other topic.
    private static let otherRows = 50
    /// The topics searched for names, besides the one in view.
    private static let otherTopics = 100

    /// The names to complete: recent writers in the topic in view, its members, writers elsewhere, and senders of
    /// letters. Names with whitespace or unsafe characters are left out.
    var namesToComplete: [String] {
        var seen: Set<String> = [network.identity.user, ""]
        var names: [String] = []
        func add(_ name: String) {
            guard names.count < 1_000, seen.insert(name).inserted, name.utf8.count <= 256,
                !name.contains(where: \.isWhitespace), SafeText(name).description == name
            else { return }
            names.append(name)
        }
        func add(_ rows: some Sequence<ConversationRow>) {
            for case .message(let line) in rows where !line.isOwn { add(line.name) }
        }
        if let name = screen.view.topic {
            if let conversation = network.conversations.named(name) { add(conversation.rows.reversed()) }
            if network.people.topic == name { network.people.roster.users.forEach { add($0.name) } }
        }
        for conversation in network.conversations.all.prefix(Self.otherTopics) {
            add(conversation.rows.suffix(Self.otherRows).reversed())
        }
        // The network itself cannot be written to.
        for case let sender? in network.inbox.letters.map(\.from) where !sender.hasPrefix("~") { add(sender) }
        return names
    }

    private var topicsToComplete: [String] { network.conversations.all.map(\.name) }

    private var commandCompletion: CommandCompletion? {
        CommandCompletion.of(
            compose.text, topics: topicsToComplete, names: namesToComplete, muted: network.quiet.mutes.map(\.text),
            postboxes: network.inbox.boxes.map(\.name), addresses: addressesToComplete)
    }

    /// The postboxes that letters were sent to.
    private var addressesToComplete: [String] {
        var addresses = Set(listed.sent.compactMap { letter in letter.person.map { "\($0)/\(letter.postbox)" } })
        for case .letter(let user, let postbox, _, _) in network.outbox.messages.values.lazy.map(\.item) {
            addresses.insert("\(user)/\(postbox)")
        }
        return addresses.filter { SafeText($0).description == $0 && !$0.contains(where: \.isWhitespace) }.sorted()
    }

    /// The commands that match while a command's name is being typed; empty otherwise.
    var commandsOffered: [SlashCommand.Entry] {
        guard screen.focus == .compose, screen.overlay == nil, compose.isCommand,
            compose.editor.count <= Self.commandLength
        else { return [] }
        let name = compose.text.dropFirst()
        return SlashCommand.entries.filter { $0.name.hasPrefix(name) }
    }

    /// Longer than any command with its slash.
    private static let commandLength = 32

    /// The last word completion, while its text is unchanged.
    private var standingCompletion: WordCompletion? {
        guard let (completion, cursor) = compose.completion, compose.editor.cursor == cursor,
            compose.editor.textBeforeCursor.hasSuffix(completion.shown)
        else { return nil }
        return completion
    }

    func canComplete(isBackwards: Bool) -> Bool {
        if standingCompletion != nil { return true }
        // Backwards moves between choices, but does not start a completion.
        if isBackwards || compose.isEmpty { return false }
        return commandCompletion != nil || wordCompletion != nil
    }

    private var wordCompletion: WordCompletion? {
        WordCompletion(compose.editor.textBeforeCursor, names: namesToComplete, topics: topicsToComplete)
    }

    /// Completes the command or the word before the cursor, or moves to the next choice.
    func complete(by step: Int) {
        if var standing = standingCompletion {
            standing.advance(by: step)
            show(standing)
        } else if let completion = commandCompletion {
            compose.set(completion.text)
            if !completion.choices.isEmpty { say(completion.choices.joined(separator: "  ")) }
        } else if var completion = wordCompletion {
            completion.advance(by: step)
            show(completion)
        }
    }

    private func show(_ completion: WordCompletion) {
        compose.editor.replaceCharacters(in: completion.start..<compose.editor.cursor, with: completion.shown)
        // A single choice is final; the next Tab completes something else.
        compose.completion = completion.choices.count > 1 ? (completion, compose.editor.cursor) : nil
    }
}
