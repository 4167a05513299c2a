/// One change of a text: the old text and the new one.
struct Edit: Sendable {
    var start: Int
    var removed: [Character]
    var inserted: [Character]
    /// Where the cursor was before.
    var cursor: Int
}

/// The changes that can be undone, newest last; bounded in number and in the characters they hold.
struct EditHistory: Sendable {
    private static let countLimit = 200
    private static let characterLimit = 524_288

    private var edits: [Edit] = []
    private var characters = 0
    private var isOpen = false

    /// Adds a change. Letters typed one after the other are one change, up to the end of a word.
    mutating func add(_ edit: Edit, joins: Bool) {
        defer { isOpen = joins }
        if joins, isOpen, let last = edits.last, last.removed.isEmpty, edit.removed.isEmpty,
            edit.start == last.start + last.inserted.count, last.inserted.count < 100,
            !(last.inserted.last?.isWhitespace == true && edit.inserted.first?.isWhitespace == false)
        {
            edits[edits.count - 1].inserted += edit.inserted
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

    mutating func takeLast() -> Edit? {
        isOpen = false
        guard let edit = edits.popLast() else { return nil }
        characters -= edit.removed.count + edit.inserted.count
        return edit
    }
}

/// Earlier texts and the place in them while the person looks through.
struct EntryHistory: Sendable {
    private(set) var entries: [String] = []
    private let limit: Int
    /// The entry that is shown; nil for the text being written.
    private var place: Int?
    private var draft = ""

    init(limit: Int) {
        self.limit = limit
    }

    mutating func set(_ entries: [String]) {
        self.entries = Array(entries.suffix(limit))
        leave()
    }

    mutating func add(_ text: String) {
        leave()
        guard limit > 0, text.contains(where: { !$0.isWhitespace }), entries.last != text else { return }
        entries.append(text)
        if entries.count > limit { entries.removeFirst(entries.count - limit) }
    }

    mutating func leave() {
        place = nil
        draft = ""
    }

    /// The entry before the one shown, or nil at the oldest; `current` is kept when it is the text being written.
    mutating func older(than current: String) -> String? {
        let next = (place ?? entries.count) - 1
        guard next >= 0 else { return nil }
        if place == nil { draft = current }
        place = next
        return entries[next]
    }

    /// The entry after the one shown, at last the text that was being written; nil there.
    mutating func newer() -> String? {
        guard let place else { return nil }
        if place + 1 < entries.count {
            self.place = place + 1
            return entries[place + 1]
        }
        self.place = nil
        return draft
    }
}
