import Relay
import Terminal

/// What is being written in conversations that are out of view, and the lines that were typed in each: every
/// conversation has its own text, so that nothing is sent to another by mistake.
struct Writing: Sendable {
    /// The conversation that the text in view is for; empty for what is no conversation.
    private(set) var place = ""
    /// What is being written elsewhere, by conversation.
    private var elsewhere: [String: Compose] = [:]
    /// The lines that were typed, oldest first.
    private var lines: [KeptLine] = []
    /// The text that is kept as the one being written.
    var keptDraft = ""
    /// What the text in view lacks of the end of the last paste.
    var omittedBreaks: OmittedBreaks?
    /// Whether it began behind Alt-/, which is how a terminal sends Escape and a slash that come together.
    var mayLackSlash = false

    /// Whether something is being written in a conversation that is out of view.
    func hasText(for name: String) -> Bool { elsewhere[name]?.hasContent ?? false }

    /// Takes in lines of earlier runs.
    mutating func begin(with earlier: [KeptLine]) {
        lines = earlier + lines
        shorten()
    }

    /// Takes in a text that an earlier run has left.
    mutating func bringBack(_ text: String, for name: String) {
        var compose = Compose()
        compose.set(text)
        elsewhere[name] = compose
    }

    /// Keeps a line that was typed in view.
    mutating func add(_ text: String) -> KeptLine {
        // A command is of use anywhere.
        let isCommand = text.hasPrefix("/") && !text.hasPrefix("//")
        let line = KeptLine(text, in: place.isEmpty || isCommand ? nil : place)
        lines.append(line)
        shorten()
        return line
    }

    /// Puts a text away and gives the one that is being written in another conversation, with its own lines before it.
    mutating func move(_ compose: Compose, to name: String) -> Compose {
        if !compose.isEmpty { elsewhere[place] = compose }
        place = name
        var next = elsewhere.removeValue(forKey: name) ?? Compose(editor: LineEditor(limit: compose.editor.limit))
        next.editor.takeKilled(from: compose.editor)
        next.editor.history = history
        return next
    }

    /// The lines before the text in view, oldest first.
    var history: [String] {
        lines.filter { $0.conversation == nil || $0.conversation == place }.map(\.text)
    }

    private mutating func shorten() {
        let surplus = lines.count - StoreBounds.lines
        if surplus > 0 { lines.removeFirst(surplus) }
    }
}

extension ChatModel {
    /// The conversation that a text written now is for; empty where what is in view is none.
    private var placeOfWriting: String {
        if let name = screen.view.topic { return name }
        for shown in [screen.view] + screen.trail.reversed() {
            guard shown.liesOver else { return shown.topic ?? "" }
            if let name = shown.conversation, network.conversations.index(of: name) != nil { return name }
        }
        return ""
    }

    /// Shows the text that is being written in the conversation in view; whether it is another one than before.
    func showWriting() -> Bool {
        let name = placeOfWriting
        guard name != writing.place else { return false }
        compose.editor.endSearch()
        compose = writing.move(compose, to: name)
        writing.keptDraft = compose.text
        return true
    }
}
