extension LineEditor {
    /// The argument of a key, and the key before: what it does depends on both.
    private struct Command {
        /// The numeric argument; nil if there is none.
        let given: Int?
        let before: LastCommand

        var count: Int { given ?? 1 }
    }

    /// Handles a key press; false if the key means nothing here (Enter, function keys, control-d without text), so that
    /// the caller can give it another meaning.
    public mutating func handle(_ key: Key) -> Bool {
        if let awaited {
            self.awaited = nil
            take(key, for: awaited)
            return true
        }
        if search != nil, let taken = handleInSearch(key) { return taken }
        if extendArgument(with: key) { return true }
        let command = Command(given: argument?.value, before: last)
        argument = nil
        last = .other
        if key.modifiers.contains(.control) { return handleControl(key, command) }
        if key.modifiers.contains(.alt) { return handleAlt(key, command) }
        return handlePlain(key, command)
    }

    /// Whether a key belongs to an unfinished command here, whatever it means elsewhere.
    public func keeps(_ key: Key) -> Bool {
        if awaitsKey { return true }
        if search != nil { return [.control("r"), .control("s"), .control("g"), Key(.escape)].contains(key) }
        guard argument != nil, case .character(let character) = key.code else { return false }
        return key == .control("g") || key.modifiers == .alt && character.isDigit
    }

    /// The numeric argument as typed so far; nil if there is none.
    public var pendingArgument: String? { argument?.words }

    /// Handles the digits of an argument: the first of them, or a minus, with Alt, the others with it or without.
    private mutating func extendArgument(with key: Key) -> Bool {
        if argument != nil, key == .control("g") {
            argument = nil
            return true
        }
        guard case .character(let character) = key.code else { return false }
        guard key.modifiers == .alt || key.modifiers.isEmpty && argument != nil else { return false }
        if character.isDigit, let digit = character.wholeNumberValue {
            argument = argument ?? NumericArgument()
            argument?.append(digit)
            return true
        }
        guard character == "-", argument == nil else { return false }
        argument = NumericArgument(isNegative: true)
        return true
    }

    private mutating func handlePlain(_ key: Key, _ command: Command) -> Bool {
        switch key.code {
        case .character(let character):
            insert(Array(repeating: character, count: max(0, command.count)), joins: command.given == nil)
        case .backspace: delete(-command.count, command)
        case .delete: delete(command.count, command)
        case .left: moveCursor(to: cursor - command.count)
        case .right: moveCursor(to: cursor + command.count)
        case .home: moveCursor(to: lineStart)
        case .end: moveCursor(to: lineEnd)
        case .up: moveLines(-command.count)
        case .down: moveLines(command.count)
        default: return false
        }
        return true
    }

    private mutating func handleControl(_ key: Key, _ command: Command) -> Bool {
        switch key.code {
        case .character("a"): moveCursor(to: lineStart)
        case .character("e"): moveCursor(to: lineEnd)
        case .character("b"): moveCursor(to: cursor - command.count)
        case .character("f"): moveCursor(to: cursor + command.count)
        case .character("p"): moveLines(-command.count)
        case .character("n"): moveLines(command.count)
        case .character("h"): delete(-command.count, command)
        case .character("d"):
            if isEmpty { return false }
            delete(command.count, command)
        case .character("k"): killLine(isBackward: command.count <= 0, command)
        case .character("u"): killLine(isBackward: command.count > 0, command)
        case .character("w"): kill(to: word(-command.count, isSpaced: true), command)
        case .character("y"): yank()
        case .character("t"): exchange()
        case .character("r"): beginSearch(isForward: false)
        case .character("s"): beginSearch(isForward: true)
        case .character("v"): awaited = .literal(count: command.count)
        case .character("]"):
            awaited = .place(count: key.modifiers.contains(.alt) ? -command.count : command.count)
        case .character("_"), .character("/"): for _ in 0..<max(1, command.count) { undo() }
        case .left: moveCursor(to: word(-command.count))
        case .right: moveCursor(to: word(command.count))
        case .home: moveCursor(to: 0)
        case .end: moveCursor(to: count)
        case .delete: kill(to: word(command.count), command)
        case .backspace: kill(to: word(-command.count), command)
        default: return false
        }
        return true
    }

    private mutating func handleAlt(_ key: Key, _ command: Command) -> Bool {
        switch key.code {
        case .character("b"), .left: moveCursor(to: word(-command.count))
        case .character("f"), .right: moveCursor(to: word(command.count))
        case .character("d"), .delete: kill(to: word(command.count), command)
        case .character("y"): yankEarlier(command)
        case .character("."), .character("_"): insertLastWord(command)
        case .character("u"): changeWords(command) { character, _ in character.uppercased() }
        case .character("l"): changeWords(command) { character, _ in character.lowercased() }
        case .character("c"): changeWords(command, Self.capitalized)
        case .character("t"): exchangeWords()
        case .character("r"): revert()
        case .character("\\"): deleteBlanks()
        case .character("<"): moveCursor(to: 0)
        case .character(">"): moveCursor(to: count)
        case .backspace: kill(to: word(-command.count), command)
        default: return false
        }
        return true
    }

    // MARK: places

    /// The end of a run of characters of a kind, forwards with a step of 1, backwards with -1.
    private func pass(_ start: Int, _ step: Int, while isOfKind: (Character) -> Bool) -> Int {
        var place = start
        while case let next = min(place, place + step), characters.indices.contains(next), isOfKind(characters[next]) {
            place += step
        }
        return place
    }

    private var lineStart: Int { pass(cursor, -1) { !$0.breaksLine } }

    private var lineEnd: Int { pass(cursor, 1) { !$0.breaksLine } }

    /// The place that many words from the cursor, backwards if negative; `isSpaced` if only white space separates
    /// words.
    private func word(_ times: Int, isSpaced: Bool = false) -> Int {
        var place = cursor
        for _ in 0..<abs(times) {
            let next = times > 0 ? wordEnd(place) : wordStart(place, isSpaced: isSpaced)
            if next == place { break }
            place = next
        }
        return place
    }

    private func wordStart(_ start: Int, isSpaced: Bool = false) -> Int {
        func isPart(_ character: Character) -> Bool { isSpaced ? !character.isWhitespace : character.isWordPart }
        return pass(pass(start, -1) { !isPart($0) }, -1, while: isPart)
    }

    private func wordEnd(_ start: Int) -> Int {
        pass(pass(start, 1) { !$0.isWordPart }, 1, while: \.isWordPart)
    }

    // MARK: actions

    /// Deletes characters after the cursor, before it if negative. With an argument, kills them.
    private mutating func delete(_ number: Int, _ command: Command) {
        let other = min(max(0, cursor + number), count)
        if command.given != nil { return kill(to: other, command) }
        let range = min(cursor, other)..<max(cursor, other)
        if !range.isEmpty { replace(range, with: []) }
    }

    /// Kills the line before the cursor or after it; at its end the line break.
    private mutating func killLine(isBackward: Bool, _ command: Command) {
        if isBackward { return kill(to: lineStart, command) }
        let end = lineEnd
        kill(to: end == cursor ? min(end + 1, count) : end, command)
    }

    /// Kills the text up to a place, and joins it to what the previous key killed.
    private mutating func kill(to place: Int, _ command: Command) {
        last = place == cursor && command.before != .kill ? .other : .kill
        guard place != cursor else { return }
        let isBackward = place < cursor
        let range = isBackward ? place..<cursor : cursor..<place
        killRing.add(Array(characters[range]), joins: command.before == .kill, isBackward: isBackward)
        replace(range, with: [])
    }

    private mutating func yank() {
        guard let text = killRing.current else { return }
        let start = cursor
        insert(text, joins: false)
        last = .yank(start..<cursor)
    }

    /// Replaces the yanked text by the one that was killed before it.
    private mutating func yankEarlier(_ command: Command) {
        guard case .yank(let range) = command.before, let text = killRing.earlier() else { return }
        replace(range, with: text)
        last = .yank(range.lowerBound..<cursor)
    }

    /// Inserts the last word of the newest history entry; repeated, replaces it by that of the entry before.
    private mutating func insertLastWord(_ command: Command) {
        var (range, next) = (cursor..<cursor, entries.entries.count - 1)
        if case .lastWord(let shown, let entry) = command.before { (range, next) = (shown, entry - 1) }
        guard entries.entries.indices.contains(next) else {
            last = command.before
            return
        }
        let word = entries.entries[next].split(whereSeparator: \.isWhitespace).last ?? ""
        replace(range, with: Array(word))
        last = .lastWord(range.lowerBound..<cursor, entry: next)
    }

    // MARK: words

    /// Changes the letters of words after the cursor; if negative, of those before it, and the cursor stays.
    private mutating func changeWords(_ command: Command, _ change: (Character, _ isInside: Bool) -> String) {
        let (start, other) = (cursor, word(command.count))
        let range = min(start, other)..<max(start, other)
        guard !range.isEmpty else { return }
        var isInside = false
        let changed = characters[range].flatMap { character in
            defer { isInside = character.isWordPart }
            return Array(change(character, isInside))
        }
        replace(range, with: changed)
        if other < start { moveCursor(to: start) }
    }

    private static func capitalized(_ character: Character, isInside: Bool) -> String {
        guard character.isWordPart else { return String(character) }
        return isInside ? character.lowercased() : character.uppercased()
    }

    /// Transposes the word at or after the cursor and the one before.
    private mutating func exchangeWords() {
        let end = wordEnd(cursor)
        let start = wordStart(end)
        let firstStart = wordStart(start)
        let firstEnd = wordEnd(firstStart)
        guard firstEnd <= start, firstStart < firstEnd, start < end else { return }
        let between = characters[firstEnd..<start]
        let exchanged = Array(characters[start..<end] + between + characters[firstStart..<firstEnd])
        replace(firstStart..<end, with: exchanged)
    }

    private mutating func deleteBlanks() {
        func isBlank(_ character: Character) -> Bool { character.isWhitespace && !character.breaksLine }
        replace(pass(cursor, -1, while: isBlank)..<pass(cursor, 1, while: isBlank), with: [])
    }

    /// Transposes the characters around the cursor; at the end, the two before it.
    private mutating func exchange() {
        let second = cursor == count ? cursor - 1 : cursor
        guard second >= 1 else { return }
        replace(second - 1..<second + 1, with: [characters[second], characters[second - 1]])
    }

    /// Goes down by lines, up if negative; beyond the text, through the history.
    private mutating func moveLines(_ number: Int) {
        for _ in 0..<abs(number) {
            let (before, step) = (cursor, entries.step)
            let edge = number < 0 ? lineStart : lineEnd
            if number < 0 ? edge > 0 : edge < count {
                let end = number < 0 ? edge - 1 : pass(edge + 1, 1) { !$0.breaksLine }
                moveCursor(to: place(atColumn: column, ofLineEndingAt: end))
            } else if let entry = number < 0 ? entries.older(than: text) : entries.newer(than: text) {
                replace(0..<count, with: Array(entry), step: step)
                edits.close()
            }
            if before == cursor, step == entries.step { break }
        }
    }

    /// The cursor's column in its line, in cells.
    private var column: Int {
        characters[lineStart..<cursor].reduce(0) { $0 + TextWidth.width(of: $1) }
    }

    private func place(atColumn column: Int, ofLineEndingAt end: Int) -> Int {
        var place = pass(end, -1) { !$0.breaksLine }
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

    fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
}
