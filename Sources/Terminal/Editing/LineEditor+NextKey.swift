/// What the next key is for, whatever it means otherwise.
enum AwaitedKey: Hashable, Sendable {
    /// To be inserted as it is, `count` times.
    case literal(count: Int)
    /// To move to its `count`th occurrence, backwards if negative.
    case place(count: Int)
}

extension LineEditor {
    /// Whether the next key completes an unfinished command, and has no other meaning.
    public var awaitsKey: Bool { awaited != nil }

    /// Whether the next key is inserted as it is, if it stands for a character of a text.
    public var quotesNextKey: Bool { if case .literal? = awaited { true } else { false } }

    mutating func take(_ key: Key, for awaited: AwaitedKey) {
        guard let character = Self.literal(key) else { return }
        switch awaited {
        case .literal(let count): insert(Array(repeating: character, count: max(0, count)), joins: false)
        case .place(let count): if let place = place(of: character, count) { moveCursor(to: place) }
        }
    }

    /// The character that a key stands for; nil if that cannot be in a text, as control characters cannot.
    private static func literal(_ key: Key) -> Character? {
        switch key {
        case Key(.enter), .control("j"), .control("m"): return "\n"
        case Key(.tab), .control("i"): return "\t"
        default:
            guard key.modifiers.isEmpty, case .character(let character) = key.code else { return nil }
            return character
        }
    }

    /// The place of a character's `count`th occurrence after the cursor, before it if negative; nil if there are fewer.
    private func place(of wanted: Character, _ count: Int) -> Int? {
        let step = count < 0 ? -1 : 1
        var place = cursor
        for _ in 0..<abs(count) {
            repeat { place += step } while characters.indices.contains(place) && characters[place] != wanted
            guard characters.indices.contains(place) else { return nil }
        }
        return place
    }
}
