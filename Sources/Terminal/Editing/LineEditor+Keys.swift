extension LineEditor {
    /// Edits by a key press; false when the key means nothing here (Enter, function keys, control-d without text), so
    /// that the caller can give it another meaning.
    public mutating func handle(_ key: Key) -> Bool {
        let wasKilling = isKilling
        isKilling = false
        let taken: Bool
        if key.modifiers.contains(.control) {
            taken = handleControl(key, wasKilling: wasKilling)
        } else if key.modifiers.contains(.alt) {
            taken = handleAlt(key, wasKilling: wasKilling)
        } else {
            taken = handlePlain(key)
        }
        return taken
    }

    private mutating func handlePlain(_ key: Key) -> Bool {
        switch key.code {
        case .character(let character): insert([character], joins: true)
        case .backspace: deleteBackward()
        case .delete: deleteForward()
        case .left: moveCursor(to: cursor - 1)
        case .right: moveCursor(to: cursor + 1)
        case .home: moveCursor(to: lineStart)
        case .end: moveCursor(to: lineEnd)
        case .up: moveUp()
        case .down: moveDown()
        default: return false
        }
        return true
    }

    private mutating func handleControl(_ key: Key, wasKilling: Bool) -> Bool {
        switch key.code {
        case .character("a"): moveCursor(to: lineStart)
        case .character("e"): moveCursor(to: lineEnd)
        case .character("b"): moveCursor(to: cursor - 1)
        case .character("f"): moveCursor(to: cursor + 1)
        case .character("p"): moveUp()
        case .character("n"): moveDown()
        case .character("h"): deleteBackward()
        case .character("d"):
            if isEmpty { return false }
            deleteForward()
        case .character("k"):
            // At a line's end it takes the line break.
            let end = lineEnd
            kill(cursor..<(end == cursor ? min(end + 1, count) : end), wasKilling: wasKilling, isBackward: false)
        case .character("u"): kill(lineStart..<cursor, wasKilling: wasKilling, isBackward: true)
        case .character("w"): kill(spacedWordStart..<cursor, wasKilling: wasKilling, isBackward: true)
        case .character("y"): insert(killed, joins: false)
        case .character("t"): exchange()
        case .character("_"), .character("/"): undo()
        case .left: moveCursor(to: wordStart)
        case .right: moveCursor(to: wordEnd)
        case .home: moveCursor(to: 0)
        case .end: moveCursor(to: count)
        case .delete: kill(cursor..<wordEnd, wasKilling: wasKilling, isBackward: false)
        case .backspace: kill(wordStart..<cursor, wasKilling: wasKilling, isBackward: true)
        default: return false
        }
        return true
    }

    private mutating func handleAlt(_ key: Key, wasKilling: Bool) -> Bool {
        switch key.code {
        case .character("b"), .left: moveCursor(to: wordStart)
        case .character("f"), .right: moveCursor(to: wordEnd)
        case .character("d"): kill(cursor..<wordEnd, wasKilling: wasKilling, isBackward: false)
        case .character("<"): moveCursor(to: 0)
        case .character(">"): moveCursor(to: count)
        case .backspace: kill(wordStart..<cursor, wasKilling: wasKilling, isBackward: true)
        default: return false
        }
        return true
    }

    // MARK: places

    var lineStart: Int {
        characters[..<cursor].lastIndex(where: \.isNewline).map { $0 + 1 } ?? 0
    }

    var lineEnd: Int {
        characters[cursor...].firstIndex(where: \.isNewline) ?? count
    }

    private var wordStart: Int {
        var place = cursor
        while place > 0, !characters[place - 1].isWordPart { place -= 1 }
        while place > 0, characters[place - 1].isWordPart { place -= 1 }
        return place
    }

    private var wordEnd: Int {
        var place = cursor
        while place < count, !characters[place].isWordPart { place += 1 }
        while place < count, characters[place].isWordPart { place += 1 }
        return place
    }

    /// The word that control-w takes ends at white space only.
    private var spacedWordStart: Int {
        var place = cursor
        while place > 0, characters[place - 1].isWhitespace { place -= 1 }
        while place > 0, !characters[place - 1].isWhitespace { place -= 1 }
        return place
    }

    // MARK: actions

    private mutating func deleteBackward() {
        if cursor > 0 { replace(cursor - 1..<cursor, with: []) }
    }

    private mutating func deleteForward() {
        guard cursor < count else { return }
        replace(cursor..<cursor + 1, with: [])
    }

    /// Removes a range and keeps it for control-y; what is removed in one go is kept together.
    private mutating func kill(_ range: Range<Int>, wasKilling: Bool, isBackward: Bool) {
        isKilling = true
        guard !range.isEmpty else {
            isKilling = wasKilling
            return
        }
        let removed = Array(characters[range])
        if !wasKilling {
            killed = removed
        } else if isBackward {
            killed = removed + killed
        } else {
            killed += removed
        }
        if killed.count > limit { killed = Array(killed.prefix(limit)) }
        replace(range, with: [])
    }

    /// Exchanges the characters around the cursor, at the end the two before it.
    private mutating func exchange() {
        let second = cursor == count ? cursor - 1 : cursor
        guard second >= 1 else { return }
        replace(second - 1..<second + 1, with: [characters[second], characters[second - 1]])
    }

    private mutating func moveUp() {
        let start = lineStart
        if start > 0 {
            moveCursor(to: place(atColumn: column, ofLineEndingAt: start - 1))
        } else {
            let step = entries.step
            if let entry = entries.older(than: text) { show(entry, from: step) }
        }
    }

    private mutating func moveDown() {
        let end = lineEnd
        if end < count {
            let column = column
            cursor = end + 1
            moveCursor(to: place(atColumn: column, ofLineEndingAt: lineEnd))
        } else {
            let step = entries.step
            if let entry = entries.newer(than: text) { show(entry, from: step) }
        }
    }

    private mutating func show(_ entry: String, from step: EntryHistory.Step) {
        replace(0..<count, with: Array(entry), step: step)
        edits.close()
    }

    /// The cursor's column in its line, in cells.
    private var column: Int {
        characters[lineStart..<cursor].reduce(0) { $0 + TextWidth.width(of: $1) }
    }

    private func place(atColumn column: Int, ofLineEndingAt end: Int) -> Int {
        var place = characters[..<end].lastIndex(where: \.isNewline).map { $0 + 1 } ?? 0
        var used = 0
        while place < end {
            used += TextWidth.width(of: characters[place])
            if used > column { break }
            place += 1
        }
        return place
    }
}

extension Character {
    fileprivate var isWordPart: Bool { isLetter || isNumber || self == "_" }
}
