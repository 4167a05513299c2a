struct Edit: Sendable {
    var start: Int
    var removed: [Character]
    var inserted: [Character]
    /// The cursor before the change.
    var cursor: Int
    /// The place in the history of the old text, if another entry has replaced it.
    var step: EntryHistory.Step?
}

/// The changes that can be undone, newest last; bounded in number and in characters.
struct EditHistory: Sendable {
    private static let countLimit = 200
    private static let characterLimit = 524_288

    private var edits: [Edit] = []
    private var characters = 0
    private var isOpen = false

    /// Adds a change. Letters typed in a row are one change, up to the end of a word.
    mutating func add(_ edit: Edit, joins: Bool) {
        defer { isOpen = joins }
        if joins, isOpen, let last = edits.indices.last, edits[last].removed.isEmpty, edit.removed.isEmpty,
            edit.start == edits[last].start + edits[last].inserted.count, edits[last].inserted.count < 100,
            !(edits[last].inserted.last?.isWhitespace == true && edit.inserted.first?.isWhitespace == false)
        {
            edits[last].inserted += edit.inserted
            characters += edit.inserted.count
            return
        }
        edits.append(edit)
        characters += edit.removed.count + edit.inserted.count
        while edits.count > Self.countLimit || (characters > Self.characterLimit && edits.count > 1) {
            let oldest = edits.removeFirst()
            characters -= oldest.removed.count + oldest.inserted.count
        }
    }

    /// Ends the run of letters that count as one change.
    mutating func close() {
        isOpen = false
    }

    var newest: Edit? { edits.last }

    mutating func takeLast() -> Edit? {
        isOpen = false
        guard let edit = edits.popLast() else { return nil }
        characters -= edit.removed.count + edit.inserted.count
        return edit
    }
}
