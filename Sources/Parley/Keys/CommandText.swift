/// A command's argument as typed.
struct CommandText {
    private let entry: SlashCommand.Entry
    let name: Substring
    /// The whitespace after the name.
    let gap: Substring
    /// The argument verbatim.
    let text: String
    /// The argument without trailing whitespace and, unless it is a text, without enclosing quotation marks.
    let word: String

    /// - Parameter body: the line after its slash.
    /// - Throws: an error if it does not fit the entry's argument.
    init(_ body: Substring, for entry: SlashCommand.Entry) throws(SlashCommand.Failure) {
        self.entry = entry
        name = body.prefix { !$0.isWhitespace }
        let rest = body.dropFirst(name.count)
        gap = rest.prefix { $0.isWhitespace }
        text = String(rest.dropFirst(gap.count))
        // Not only the first word: a topic with spaces is refused rather than half understood.
        let trimmed = String(text.reversed().drop { $0.isWhitespace }.reversed())
        switch entry.argument {
        case .none, .text: word = trimmed
        case .name, .number, .word, .file: word = try Self.unquoted(trimmed)
        }
        switch entry.argument {
        case .none where !word.isEmpty: throw usage
        // A name with spaces needs quotation marks.
        case .name where word == trimmed && word.contains(where: \.isWhitespace): throw usage
        case .number where !word.isEmpty && number == nil: throw usage
        default: break
        }
        guard entry.argument.isNeeded, word.isEmpty else { return }
        // In other clients /q writes to someone or quits, so alone it does neither.
        throw name.lowercased() == "q"
            ? .mistake("/q alone can be several commands: /quit or /query NAME.") : usage
    }

    var usage: SlashCommand.Failure { .usage(entry.usage) }

    var number: Int? { Int(word).flatMap { $0 > 0 ? $0 : nil } }

    var wordIfAny: String? { word.isEmpty ? nil : word }

    var parts: (first: String, rest: String) {
        let first = text.prefix { !$0.isWhitespace }
        return (String(first), String(text.dropFirst(first.count).drop { $0.isWhitespace }))
    }

    /// A text without enclosing quotation marks.
    static func unquoted(_ text: String) throws(SlashCommand.Failure) -> String {
        guard text.first == "\"" else { return text }
        let words = try words(in: text)
        return words.count == 1 ? words[0] : text
    }

    /// The words of a text. A quoted phrase counts as one.
    static func words(in text: String) throws(SlashCommand.Failure) -> [String] {
        var words: [String] = []
        var rest = text.drop { $0.isWhitespace }
        while let first = rest.first {
            let word: Substring
            if first == "\"" {
                let inside = rest.dropFirst()
                guard let end = inside.firstIndex(of: "\"") else { throw .mistake("A quotation mark is not closed.") }
                word = inside[..<end]
                rest = inside[end...].dropFirst()
            } else {
                word = rest.prefix { !$0.isWhitespace }
                rest = rest[word.endIndex...]
            }
            words.append(String(word))
            rest = rest.drop { $0.isWhitespace }
        }
        return words
    }
}
