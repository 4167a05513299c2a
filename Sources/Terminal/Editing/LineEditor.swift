/// A text being edited: one line or several, by whole characters, with the Emacs keys.
///
/// A pure value. It keeps the original text; only `rendered` passes it through the gate. Whether Enter sends or breaks
/// the line is the caller's decision: `handle` does not take it.
public struct LineEditor: Sendable {
    /// The most characters that are kept; `insert` returns how many are cut.
    public let limit: Int
    /// The cursor, as a number of characters from the beginning.
    public internal(set) var cursor = 0
    /// The bytes of the text in UTF-8.
    public private(set) var utf8Count = 0
    private(set) var characters: [Character] = []
    /// How each character is drawn. Rows are computed from it, so that a key in the longest text costs no more than a
    /// pass over bytes.
    private(set) var cells: [DrawnCharacter] = []
    var edits = EditHistory()
    var killRing: KillRing
    var last = LastCommand.other
    var argument: NumericArgument?
    var awaited: AwaitedKey?
    var search: HistorySearch?
    var lastQuery: [Character] = []
    var entries: EntryHistory

    /// Makes an empty editor. By default it holds twice as many characters as a message's 128 KiB can, so that a text
    /// that is too long can be shortened here, and 500 earlier texts.
    public init(limit: Int = 262_144, historyLimit: Int = 500) {
        self.limit = max(0, limit)
        killRing = KillRing(characterLimit: max(0, limit))
        entries = EntryHistory(limit: max(0, historyLimit))
    }

    /// The text. Setting it puts the cursor at its end and can be undone.
    public var text: String {
        get {
            guard utf8Count == count else {
                return characters.reduce(into: "") { text, character in text.append(character) }
            }
            // One byte each, which is quick for most texts.
            return String(unsafeUninitializedCapacity: count) { bytes in
                for (place, cell) in cells.enumerated() { bytes[place] = cell.byte }
                return cells.count
            }
        }
        set {
            beginAnew()
            replace(0..<characters.count, with: Array(newValue))
        }
    }

    /// Whether there is no text.
    public var isEmpty: Bool { characters.isEmpty }

    /// Whether there is nothing but white space.
    public var isBlank: Bool { characters.allSatisfy(\.isWhitespace) }

    /// Whether there is no room for another character.
    public var isFull: Bool { characters.count >= limit }

    /// Whether the text begins with some characters; costs no more than these, however long the text is.
    public func hasPrefix(_ prefix: String) -> Bool { characters.starts(with: prefix) }

    /// The number of characters.
    public var count: Int { characters.count }

    /// The text left of the cursor, for completion.
    public var textBeforeCursor: String { String(characters[..<cursor]) }

    /// Earlier texts, oldest first.
    public var history: [String] {
        get { entries.entries }
        set {
            entries.set(newValue)
            // A search goes on in the new history.
            search?.place = nil
            search?.isExhausted = false
        }
    }

    /// The number of texts added to the history, including those that it has dropped; what it was set to does not
    /// count.
    public var keptCount: Int { entries.added }

    /// Takes over the kill ring of another editor, for ^Y.
    public mutating func takeKilled(from other: LineEditor) { killRing = other.killRing }

    /// Puts the cursor before the character at `place`, or at the nearest end.
    public mutating func moveCursor(to place: Int) {
        cursor = min(max(0, place), characters.count)
        edits.close()
    }

    /// Inserts a text at the cursor, as from a paste; returns how many of its last characters are cut for lack of room.
    @discardableResult
    public mutating func insert(_ text: String) -> Int {
        beginAnew()
        return insert(Array(text), joins: false)
    }

    /// Replaces the characters in `range` (clamped) and puts the cursor after the replacement, as a completion does.
    public mutating func replaceCharacters(in range: Range<Int>, with text: String) {
        beginAnew()
        replace(range.clamped(to: 0..<characters.count), with: Array(text))
    }

    /// Keeps a text for ^Y, as if it had been killed.
    public mutating func keepForYank(_ text: String) {
        beginAnew()
        killRing.add(Array(text), joins: false, isBackward: false)
    }

    /// Returns the text, keeps it in the history and empties the editor.
    public mutating func take() -> String {
        let text = text
        entries.add(text)
        clear()
        return text
    }

    /// Adds the text to the history and leaves it here, to be corrected.
    public mutating func remember() {
        beginAnew()
        entries.add(text)
    }

    /// Empties the editor, which can be undone. A draft that was left for the history is added to that.
    public mutating func discard() {
        beginAnew()
        entries.leaveKeepingDraft()
        replace(0..<characters.count, with: [])
        edits.close()
    }

    /// Empties the editor and forgets its changes.
    public mutating func clear() {
        substitute(0..<characters.count, with: [])
        cursor = 0
        edits = EditHistory()
        beginAnew()
        entries.leave()
    }

    /// Ends unfinished key commands.
    private mutating func beginAnew() {
        last = .other
        argument = nil
        awaited = nil
        endSearch()
    }

    // MARK: changes

    @discardableResult
    mutating func insert(_ inserted: [Character], joins: Bool) -> Int {
        if cursor > 0, inserted.first?.isASCII == false {
            // A combining character typed on its own belongs to the character before it.
            let before = cursor - 1
            let joined = Array(String(characters[before..<cursor]) + String(inserted))
            if joined.first != characters[before] || joined.count != inserted.count + 1 {
                return replace(before..<cursor, with: joined)
            }
        }
        return replace(cursor..<cursor, with: inserted, joins: joins)
    }

    /// Makes every change of the text but an undo; returns how many characters are cut.
    @discardableResult
    mutating func replace(
        _ range: Range<Int>, with whole: [Character], joins: Bool = false, step: EntryHistory.Step? = nil
    ) -> Int {
        let room = max(0, limit - (characters.count - range.count))
        let inserted = whole.count > room ? Array(whole[..<room]) : whole
        let cut = whole.count - inserted.count
        guard !range.isEmpty || !inserted.isEmpty else { return cut }
        edits.add(
            Edit(
                start: range.lowerBound, removed: Array(characters[range]), inserted: inserted, cursor: cursor,
                step: step),
            joins: joins)
        substitute(range, with: inserted)
        cursor = range.lowerBound + inserted.count
        return cut
    }

    mutating func substitute(_ range: Range<Int>, with inserted: [Character]) {
        utf8Count -= characters[range].reduce(0) { $0 + $1.utf8.count }
        utf8Count += inserted.reduce(0) { $0 + $1.utf8.count }
        characters.replaceSubrange(range, with: inserted)
        cells.replaceSubrange(range, with: inserted.map { DrawnCharacter($0) })
    }

    /// Undoes all changes since the text came out of the history, or all there are.
    mutating func revert() {
        while let edit = edits.newest, edit.step == nil { undo() }
    }

    mutating func undo() {
        guard let edit = edits.takeLast() else { return }
        if let step = edit.step { entries.goBack(to: step, from: text) }
        substitute(edit.start..<(edit.start + edit.inserted.count), with: edit.removed)
        cursor = edit.cursor
    }
}
