/// What stands behind a command's name.
struct CommandText {
    private let entry: SlashCommand.Entry
    let name: Substring
    /// What separates it from the name.
    let gap: Substring
    /// All that stands there, as it is.
    let text: String
    /// The same without blanks at its end, and without the quotation marks around it where it is no text.
    let word: String

    /// - Parameter body: the line behind its slash.
    /// - Throws: what is wrong with it whatever the command makes of it.
    init(_ body: Substring, for entry: SlashCommand.Entry) throws(SlashCommand.Failure) {
        self.entry = entry
        name = body.prefix { !$0.isWhitespace }
        let rest = body.dropFirst(name.count)
        gap = rest.prefix { $0.isWhitespace }
        text = String(rest.dropFirst(gap.count))
        // All of it: a topic has no spaces, and a text with some is refused rather than half understood.
        let trimmed = String(text.reversed().drop { $0.isWhitespace }.reversed())
        switch entry.argument {
        case .none, .text: word = trimmed
        case .name, .number, .word, .file: word = try Self.unquoted(trimmed)
        }
        switch entry.argument {
        case .none where !word.isEmpty: throw usage
        // With blanks only between quotation marks.
        case .name where word == trimmed && word.contains(where: \.isWhitespace): throw usage
        case .number where !word.isEmpty && number == nil: throw usage
        default: break
        }
        guard entry.argument.isNeeded, word.isEmpty else { return }
        // In other clients it writes to somebody or leaves the program, so that alone it does neither.
        throw name.lowercased() == "q"
            ? .mistake("/q alone can be several commands: /quit or /query NAME.") : usage
    }

    var usage: SlashCommand.Failure { .usage(entry.usage) }

    var number: Int? { Int(word).flatMap { $0 > 0 ? $0 : nil } }

    var wordIfAny: String? { word.isEmpty ? nil : word }

    /// Its first word, and what stands behind that.
    var parts: (first: String, rest: String) {
        let first = text.prefix { !$0.isWhitespace }
        return (String(first), String(text.dropFirst(first.count).drop { $0.isWhitespace }))
    }

    /// A word or words without the quotation marks around them.
    static func unquoted(_ text: String) throws(SlashCommand.Failure) -> String {
        guard text.first == "\"" else { return text }
        let words = try words(in: text)
        return words.count == 1 ? words[0] : text
    }

    /// The words of a text. Those between quotation marks are one.
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
