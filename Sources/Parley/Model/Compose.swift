import Terminal

/// The text being written. It takes keys in every state of the connection.
struct Compose: Equatable, Sendable {
    /// The editor: grapheme-wise, with history and undo.
    var editor = LineEditor()

    /// Rows that the pane grows to at most.
    static let rowLimit = 5
    /// Lines that are sent without asking.
    static let quietLines = 5

    var text: String { editor.text }
    var isEmpty: Bool { editor.isEmpty }

    /// Whether there is anything to send.
    var hasContent: Bool { text.contains { !$0.isWhitespace } }

    /// Replaces the text and puts the cursor behind it.
    mutating func set(_ text: String) { editor.text = text }

    static func == (left: Compose, right: Compose) -> Bool {
        left.editor.cursor == right.editor.cursor && left.editor.text == right.editor.text
            && left.editor.history.count == right.editor.history.count
    }
}
