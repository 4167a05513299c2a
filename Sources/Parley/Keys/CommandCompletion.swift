struct CommandCompletion: Hashable, Sendable {
    /// The text, completed as far as it is unambiguous.
    let text: String
    /// The candidates, if there are several.
    let choices: [String]

    static let choiceLimit = 12

    /// Completes a command's name or its argument, or the value of a search's `in:` or `from:`; nil if nothing matches.
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
        let word = String(text[text.index(after: space)...])
        let prefix = "/\(typed) "
        let words: [String]
        switch SlashCommand.entry(named: typed)?.completion {
        case nil, .nothing: return nil
        case .filters:
            let last = text.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
            guard let filter = ["in:", "from:"].first(where: { last.hasPrefix($0) }) else { return nil }
            let value = last.dropFirst(filter.count)
            return complete(
                prefix: String(text.dropLast(value.count)), word: String(value),
                among: filter == "in:" ? topics() : names(), isFinal: false)
        case .postboxes:
            guard let verb = PostboxAct.verbs.first(where: { word.hasPrefix($0 + " ") }), verb != "create" else {
                words = PostboxAct.verbs.map { "\($0) " }
                break
            }
            let begun = String(word.dropFirst(verb.count + 1))
            guard !begun.contains(" ") else { return nil }
            return complete(prefix: "\(prefix)\(verb) ", word: begun, among: postboxes(), isFinal: false)
        case .addresses:
            guard !word.contains(" ") else { return nil }
            // Everyone has the first postbox; others have to be known.
            guard let slash = word.firstIndex(of: "/") else {
                return complete(prefix: prefix, word: word, among: names(), isFinal: true)
            }
            let first = "\(word[...slash])\(SlashCommand.firstPostbox)"
            let others = addresses().filter { $0 != first }
            return complete(prefix: prefix, word: word, among: [first] + others, isFinal: true)
        case .topics: words = topics()
        case .mutedTopics: words = muted()
        case .people: words = names()
        case .commands: words = SlashCommand.entries.map(\.name)
        case .words(let those): words = those
        }
        guard !word.contains(" ") else { return nil }
        return complete(prefix: prefix, word: word, among: words, isFinal: false)
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
        for other in matching.dropFirst() { common = common.prefix(zip(common, other).prefix { $0 == $1 }.count) }
        return CommandCompletion(text: prefix + common, choices: Array(matching.prefix(choiceLimit)))
    }
}
