import Terminal

/// The text being written. It takes keys in every state of the connection.
struct Compose: Equatable, Sendable {
    /// The editor: grapheme-wise, with history and undo.
    var editor = LineEditor()

    /// Lines that are sent without asking.
    static let quietLines = 5
    /// Bytes of text that a message can have, as `RelayConfiguration` has it by default; the network may allow fewer.
    static let messageBytes = 128 << 10

    var text: String { editor.text }
    var isEmpty: Bool { editor.isEmpty }

    /// Whether there is anything to send.
    var hasContent: Bool { !editor.isBlank }

    /// What has been begun with the keys and waits for the next one; nil where nothing is.
    var editingWords: String? {
        if let argument = editor.pendingArgument { return "times \(argument)" }
        guard let search = editor.searching else { return nil }
        if search.isFound { return "search: \(search.query)" }
        return "no \(search.isForward ? "later" : "earlier") line has \(search.query)"
    }

    /// Bytes that are too many for one message; 0 where none are.
    var surplusBytes: Int { max(0, editor.utf8Count - Self.messageBytes) }

    /// How the text is edited, for the help. `LineEditor` has these keys, as shells do.
    static let editingKeys: [(keys: String, words: String)] = [
        ("^A ^E  ^B ^F", "to the line's beginning, end; a character back, on"),
        ("Alt-b Alt-f", "a word back, on"),
        ("Alt-< Alt->", "to the text's beginning, end"),
        ("Up Down", "a line up, down; beyond the text earlier lines"),
        ("^R ^S", "look for an earlier, a later line by its letters; ^G gives up"),
        ("^H ^D", "delete the character before, at the cursor"),
        ("^K ^U", "cut the rest of the line, its beginning"),
        ("^W  Alt-Backspace Alt-d", "cut the word before; to a word's beginning, end"),
        ("^Y Alt-y", "insert what was cut; then what was cut before it"),
        ("^_ Alt-r", "undo a change; all changes"),
        ("^T Alt-t", "exchange two characters, two words"),
        ("Alt-u Alt-l Alt-c", "the word in capitals, small, with a capital"),
        ("Alt-.  Alt-\\", "insert the last word of a line before; delete blanks"),
        ("Alt-0 Alt--", "and digits: so many times, or backwards"),
    ]

    /// Replaces the text and puts the cursor behind it.
    mutating func set(_ text: String) { editor.text = text }

    static func == (left: Compose, right: Compose) -> Bool {
        left.editor.cursor == right.editor.cursor && left.editor.text == right.editor.text
            && left.editor.history.count == right.editor.history.count
    }
}
