import Relay
import Terminal

/// The drafts of conversations that are out of view, and the lines typed in each. Every conversation has its own text,
/// so that nothing is sent to the wrong one.
struct Writing: Sendable {
    /// The conversation that the text in view is for; empty if none is in view.
    private(set) var place = ""
    /// Drafts of the other conversations.
    private var elsewhere: [String: Compose] = [:]
    /// Typed lines, oldest first.
    private var lines: [KeptLine] = []
    /// The text in view as last saved.
    var keptDraft = ""
    /// The line breaks left out at the end of the last paste.
    var omittedBreaks: OmittedBreaks?
    /// Whether the text began after Alt-/, which is what a terminal sends for Escape and a slash in quick succession.
    var mayLackSlash = false

    /// Whether a conversation that is out of view has a draft.
    func hasText(for name: String) -> Bool { elsewhere[name]?.hasContent ?? false }

    mutating func begin(with earlier: [KeptLine]) {
        lines = earlier + lines
        shorten()
    }

    /// Restores a draft of an earlier run.
    mutating func bringBack(_ text: String, for name: String) {
        var compose = Compose()
        compose.set(text)
        elsewhere[name] = compose
    }

    /// Records a line typed in view.
    mutating func add(_ text: String) -> KeptLine {
        // A command is useful anywhere.
        let isCommand = text.hasPrefix("/") && !text.hasPrefix("//")
        let line = KeptLine(text, in: place.isEmpty || isCommand ? nil : place)
        lines.append(line)
        shorten()
        return line
    }

    /// Puts the text away and returns the draft of another conversation, with that one's lines as its history.
    mutating func move(_ compose: Compose, to name: String) -> Compose {
        if !compose.isEmpty { elsewhere[place] = compose }
        place = name
        var next = elsewhere.removeValue(forKey: name) ?? Compose(editor: LineEditor(limit: compose.editor.limit))
        next.editor.takeKilled(from: compose.editor)
        next.editor.history = history
        return next
    }

    /// The lines that can be recalled in view, oldest first.
    var history: [String] {
        lines.filter { $0.conversation == nil || $0.conversation == place }.map(\.text)
    }

    private mutating func shorten() {
        let surplus = lines.count - StoreBounds.lines
        if surplus > 0 { lines.removeFirst(surplus) }
    }
}

extension ChatModel {
    /// The conversation that a text written now is for; empty if none is in view.
    private var placeOfWriting: String {
        if let name = screen.view.topic { return name }
        for shown in [screen.view] + screen.trail.reversed() {
            guard shown.liesOver else { return shown.topic ?? "" }
            if let name = shown.conversation, network.conversations.index(of: name) != nil { return name }
        }
        return ""
    }

    /// Switches to the draft of the conversation in view; false if that is the present one.
    func showWriting() -> Bool {
        let name = placeOfWriting
        guard name != writing.place else { return false }
        compose.editor.endSearch()
        compose = writing.move(compose, to: name)
        writing.keptDraft = compose.text
        return true
    }
}
