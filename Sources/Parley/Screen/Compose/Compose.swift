import Terminal

/// The text being written. It takes keys in every state of the connection.
struct Compose: Sendable {
    var editor = LineEditor()
    /// What Tab completed last, and where it left the cursor.
    var completion: (WordCompletion, cursor: Int)?

    /// The most lines that are sent without asking.
    static let quietLines = 5
    /// The most bytes of text in a message, by `RelayConfiguration`'s default; a server may allow fewer.
    static let messageBytes = 128 << 10

    var text: String { editor.text }
    var isEmpty: Bool { editor.isEmpty }

    var hasContent: Bool { !editor.isBlank }

    var isCommand: Bool { editor.hasPrefix("/") && !editor.hasPrefix("//") }

    /// An unfinished key command in words, such as a search; nil if there is none.
    var editingWords: String? {
        if let argument = editor.pendingArgument { return "times \(argument)" }
        guard let search = editor.searching else { return nil }
        if search.isFound { return "search: \(search.query)" }
        return "no \(search.isForward ? "later" : "earlier") line has \(search.query)"
    }

    mutating func set(_ text: String) { editor.text = text }
}
