import Terminal

/// The text being written. It takes keys in every state of the connection.
struct Compose: Sendable {
    /// The editor: grapheme-wise, with history and undo.
    var editor = LineEditor()
    /// What Tab has completed last, and where the cursor stood then.
    var completion: (WordCompletion, cursor: Int)?

    /// Lines that are sent without asking.
    static let quietLines = 5
    /// Bytes of text that a message can have, as `RelayConfiguration` has it by default; a server may allow fewer.
    static let messageBytes = 128 << 10

    var text: String { editor.text }
    var isEmpty: Bool { editor.isEmpty }

    var hasContent: Bool { !editor.isBlank }

    var isCommand: Bool { editor.hasPrefix("/") && !editor.hasPrefix("//") }

    /// What has been begun with the keys and waits for the next one; nil where nothing is.
    var editingWords: String? {
        if let argument = editor.pendingArgument { return "times \(argument)" }
        guard let search = editor.searching else { return nil }
        if search.isFound { return "search: \(search.query)" }
        return "no \(search.isForward ? "later" : "earlier") line has \(search.query)"
    }

    mutating func set(_ text: String) { editor.text = text }
}
