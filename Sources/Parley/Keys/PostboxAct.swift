/// What a person wants of the own postboxes, as `/postbox` says it.
enum PostboxAct: Hashable, Sendable {
    /// List them.
    case list
    /// Make one, for a persona (Sudo) if one is named.
    case create(String, persona: String?)
    /// Call it something else; its address stays.
    case rename(String, title: String)
    /// Let it take letters.
    case enable(String)
    /// Refuse further letters, and keep those it has.
    case disable(String)
    /// Delete it with its letters.
    case delete(String)

    /// The words behind the command, in the order of the help.
    static let verbs = ["create", "rename", "enable", "disable", "delete"]

    /// Reads what stands behind the command; nil for what cannot be meant.
    init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let verb = words.first?.lowercased() else {
            self = .list
            return
        }
        switch (verb, words.count) {
        case ("list", 1): self = .list
        case ("create", 2): self = .create(words[1], persona: nil)
        case ("create", 3): self = .create(words[1], persona: words[2])
        case ("rename", 3...): self = .rename(words[1], title: words[2...].joined(separator: " "))
        case ("enable", 2): self = .enable(words[1])
        case ("disable", 2): self = .disable(words[1])
        case ("delete", 2): self = .delete(words[1])
        default: return nil
        }
    }

    /// The postbox that it is about; nil for all.
    var name: String? {
        switch self {
        case .list: nil
        case .create(let name, _), .rename(let name, _), .enable(let name), .disable(let name), .delete(let name): name
        }
    }

    /// Whether the postbox has to be there.
    var needsPostbox: Bool {
        switch self {
        case .list, .create: false
        case .rename, .enable, .disable, .delete: true
        }
    }
}
