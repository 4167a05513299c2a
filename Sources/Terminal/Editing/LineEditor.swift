/// A text under the person's hands: one line or several, edited by whole characters with the emacs keys.
///
/// A pure value. It keeps the original text; only `rendered` passes it through the gate. Whether Enter sends or breaks
/// the line is the caller's decision: `handle` does not take it.
public struct LineEditor: Sendable {
    /// The most characters that are kept; what is inserted beyond is cut.
    public let limit: Int
    /// The cursor, as a number of characters from the beginning.
    public internal(set) var cursor = 0
    var characters: [Character] = []
    var edits = EditHistory()
    var killed: [Character] = []
    var isKilling = false
    var entries: EntryHistory

    /// Makes an empty editor.
    ///
    /// - Parameters:
    ///   - limit: the most characters of the text.
    ///   - historyLimit: the most earlier texts that are kept for `up` and `down`.
    public init(limit: Int = 65_536, historyLimit: Int = 500) {
        self.limit = max(0, limit)
        entries = EntryHistory(limit: max(0, historyLimit))
    }

    /// The text. Setting it puts the cursor at its end and can be undone.
    public var text: String {
        get { String(characters) }
        set {
            isKilling = false
            replace(0..<characters.count, with: Array(newValue))
        }
    }

    /// True when there is no text.
    public var isEmpty: Bool { characters.isEmpty }

    /// The number of characters.
    public var count: Int { characters.count }

    /// The text left of the cursor, for completion.
    public var textBeforeCursor: String { String(characters[..<cursor]) }

    /// Earlier texts, oldest first.
    public var history: [String] {
        get { entries.entries }
        set { entries.set(newValue) }
    }

    /// Puts the cursor before the character at `place`, or at the nearest end.
    public mutating func moveCursor(to place: Int) {
        cursor = min(max(0, place), characters.count)
        edits.close()
    }

    /// Inserts a text at the cursor, as from a paste.
    public mutating func insert(_ text: String) {
        isKilling = false
        insert(Array(text), joins: false)
    }

    /// Replaces the characters in `range` (clamped) and puts the cursor behind the replacement, as a completion does.
    public mutating func replaceCharacters(in range: Range<Int>, with text: String) {
        isKilling = false
        replace(range.clamped(to: 0..<characters.count), with: Array(text))
    }

    /// Hands the text over, keeps it in the history and empties the editor.
    public mutating func take() -> String {
        let text = text
        entries.add(text)
        clear()
        return text
    }

    /// Empties the editor and forgets what could be undone.
    public mutating func clear() {
        characters = []
        cursor = 0
        edits = EditHistory()
        isKilling = false
        entries.leave()
    }

    // MARK: changes

    mutating func insert(_ inserted: [Character], joins: Bool) {
        if inserted.first?.isASCII ?? true {
            replace(cursor..<cursor, with: inserted, joins: joins)
            return
        }
        // A combining character typed on its own belongs to the character before it.
        let before = cursor > 0 ? cursor - 1 : cursor
        let joined = Array(String(characters[before..<cursor]) + String(inserted))
        if cursor > 0, let first = joined.first, first != characters[before] || joined.count != inserted.count + 1 {
            replace(before..<cursor, with: joined)
        } else {
            replace(cursor..<cursor, with: inserted, joins: joins)
        }
    }

    /// The one way in which the text changes.
    mutating func replace(_ range: Range<Int>, with inserted: [Character], joins: Bool = false) {
        let room = max(0, limit - (characters.count - range.count))
        let inserted = inserted.count > room ? Array(inserted[..<room]) : inserted
        guard !range.isEmpty || !inserted.isEmpty else { return }
        edits.add(
            Edit(start: range.lowerBound, removed: Array(characters[range]), inserted: inserted, cursor: cursor),
            joins: joins)
        characters.replaceSubrange(range, with: inserted)
        cursor = range.lowerBound + inserted.count
    }

    mutating func undo() {
        guard let edit = edits.takeLast() else { return }
        characters.replaceSubrange(edit.start..<(edit.start + edit.inserted.count), with: edit.removed)
        cursor = edit.cursor
    }
}
