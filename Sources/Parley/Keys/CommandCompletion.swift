/// What Tab makes of a half-written command.
struct CommandCompletion: Hashable, Sendable {
    /// The text with as much added as is certain.
    let text: String
    /// What it could become, when that is more than one thing.
    let choices: [String]

    /// Choices that are shown at most.
    static let choiceLimit = 12

    /// Completes a command's name, or the topic, name, postbox or subject behind it, or behind a search's `in:` and
    /// `from:`; nil when there is nothing to complete.
    static func of(
        _ text: String, topics: @autoclosure () -> [String], names: @autoclosure () -> [String] = [],
        muted: @autoclosure () -> [String] = [], postboxes: @autoclosure () -> [String] = [],
        addresses: @autoclosure () -> [String] = []
    ) -> CommandCompletion? {
        guard text.hasPrefix("/"), !text.hasPrefix("//"), !text.contains("\n") else { return nil }
        guard let space = text.firstIndex(of: " ") else {
            return complete(
                prefix: "/", word: String(text.dropFirst()), among: SlashCommand.entries.map(\.name), isFinal: true)
        }
        let typed = text[text.index(after: text.startIndex)..<space]
        let name = SlashCommand.command(named: typed)
        let word = String(text[text.index(after: space)...])
        if name == "search" {
            guard let filter = ["in:", "from:"].first(where: { value(of: $0, in: text) != nil }),
                let value = value(of: filter, in: text)
            else { return nil }
            return complete(
                prefix: String(text.dropLast(value.count)), word: String(value),
                among: filter == "in:" ? topics() : names(), isFinal: false)
        }
        if name == "postbox", let verb = PostboxAct.verbs.first(where: { word.hasPrefix($0 + " ") }), verb != "create" {
            let begun = String(word.dropFirst(verb.count + 1))
            guard !begun.contains(" ") else { return nil }
            return complete(prefix: "/\(typed) \(verb) ", word: begun, among: postboxes(), isFinal: false)
        }
        guard !word.contains(" ") else { return nil }
        let words: [String]
        switch name {
        case "join", "leave", "close", "mute": words = topics()
        case "unmute": words = muted()
        case "help": words = SlashCommand.entries.map(\.name)
        case "ignore", "unignore": words = names()
        case "post":
            // Everyone begins with one postbox, and others have to be known.
            guard let slash = word.firstIndex(of: "/") else {
                return complete(prefix: "/\(typed) ", word: word, among: names(), isFinal: true)
            }
            let first = "\(word[...slash])\(SlashCommand.firstPostbox)"
            let others = addresses().filter { $0 != first }
            return complete(prefix: "/\(typed) ", word: word, among: [first] + others, isFinal: true)
        case "notify": words = NotificationAct.words
        case "postbox": words = PostboxAct.verbs.map { "\($0) " }
        default: return nil
        }
        return complete(prefix: "/\(typed) ", word: word, among: words, isFinal: false)
    }

    /// What follows a filter at the end of a search.
    private static func value(of filter: String, in text: String) -> Substring? {
        guard let last = text.split(separator: " ", omittingEmptySubsequences: false).last, last.hasPrefix(filter)
        else { return nil }
        return last.dropFirst(filter.count)
    }

    private static func complete(
        prefix: String, word: String, among words: [String], isFinal: Bool
    ) -> CommandCompletion? {
        let matching = words.filter { $0.hasPrefix(word) }
        guard let first = matching.first else { return nil }
        if matching.count == 1 {
            return CommandCompletion(text: prefix + first + (isFinal ? " " : ""), choices: [])
        }
        var common = Substring(first)
        for other in matching.dropFirst() { common = common.prefix(sharedCount(common, other)) }
        return CommandCompletion(text: prefix + common, choices: Array(matching.prefix(choiceLimit)))
    }

    private static func sharedCount(_ left: Substring, _ right: String) -> Int {
        var count = 0
        for (a, b) in zip(left, right) {
            guard a == b else { break }
            count += 1
        }
        return count
    }
}
