/// An argument of `/postbox`.
enum PostboxAct: Hashable, Sendable {
    case list
    /// Creates one, for a persona (Sudo) if one is named.
    case create(String, persona: String?)
    /// Changes the title; the address stays.
    case rename(String, title: String)
    case enable(String)
    /// Refuses further letters, and keeps those it has.
    case disable(String)
    case delete(String)

    static let verbs = ["create", "rename", "enable", "disable", "delete"]

    /// Parses the argument. A word with blanks needs quotation marks.
    init(_ text: String) throws(SlashCommand.Failure) {
        let words = try CommandText.words(in: text)
        switch (words.first?.lowercased() ?? "list", words.count) {
        case ("list", 0...1): self = .list
        case ("create", 2) where words[1].lowercased() != "for":
            self = .create(try Self.newName(words[1]), persona: nil)
        // A persona can have any name, so exactly one word may come before it: a postbox's name has no blanks.
        case ("create", 4) where words[2].lowercased() == "for":
            self = .create(try Self.newName(words[1]), persona: words[3])
        case ("create", 2...): throw .mistake("Write it as /postbox create NAME [for PERSONA]; NAME has no blanks.")
        case ("rename", 3...): self = .rename(words[1], title: words[2...].joined(separator: " "))
        case ("enable", 2): self = .enable(words[1])
        case ("disable", 2): self = .disable(words[1])
        case ("delete", 2): self = .delete(words[1])
        default: throw SlashCommand.usage("postbox")
        }
    }

    private static func newName(_ word: String) throws(SlashCommand.Failure) -> String {
        let isName =
            (1...64).contains(word.utf8.count)
            && word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-".contains($0)) }
        guard isName else {
            throw .mistake(
                "A postbox's name has 1 to 64 letters, digits, _ and -; /postbox rename NAME TITLE gives it a title.")
        }
        return word
    }

    var name: String? {
        switch self {
        case .list: nil
        case .create(let name, _), .rename(let name, _), .enable(let name), .disable(let name), .delete(let name): name
        }
    }
}
