import Terminal

/// Keys pressed one after the other: usually one, or a chord of several.
struct KeySequence: Hashable, Sendable {
    let keys: [Key]

    static let maximumCount = 4

    init(_ keys: [Key]) { self.keys = keys }

    /// The keys' names for display, as in `^X s`.
    var label: String { keys.map(\.label).joined(separator: " ") }

    func continues(_ beginning: [Key]) -> Bool { keys.count > beginning.count && keys.starts(with: beginning) }

    /// Whether two sequences are ambiguous: they are equal, or one begins with the other.
    func clashes(with other: KeySequence) -> Bool {
        self == other || continues(other.keys) || other.continues(keys)
    }

    struct Mistake: Error, Hashable {
        let words: String
    }

    /// Parses `Alt-n`, `^X s`, `Shift-F5` or `PgUp`, as in help, and names that are common elsewhere.
    init(parsing text: String) throws(Mistake) {
        let words = text.split(separator: " ")
        guard !words.isEmpty else {
            throw Mistake(words: "it names no key; write none to unbind, and Space for the space bar")
        }
        guard words.count <= Self.maximumCount else {
            throw Mistake(words: "a chord has at most \(Self.maximumCount) keys")
        }
        var keys: [Key] = []
        for word in words {
            guard let key = Key(named: word) else {
                throw Mistake(
                    words: "“\(word.prefix(24))” is no key; write it as Alt-n, ^X, Ctrl-End, Shift-F5, PgUp or n")
            }
            keys.append(key)
        }
        if keys.count > 1, keys[0].code == .escape {
            throw Mistake(words: "a chord cannot begin with Esc, which terminals send for Alt")
        }
        self.keys = keys
    }
}

extension Key {
    /// The key with a name such as `Alt-n`, `^X` or `PgUp`; nil if invalid.
    init?(named name: Substring) {
        var rest = name
        var modifiers = Modifiers()
        // A lone dash or circumflex is the character.
        prefixes: while rest.count > 1 {
            for (prefix, modifier) in Self.prefixes where rest.count > prefix.count {
                guard rest.prefix(prefix.count).lowercased() == prefix else { continue }
                modifiers.insert(modifier)
                rest = rest.dropFirst(prefix.count)
                continue prefixes
            }
            break
        }
        guard let code = Code(named: rest) else { return nil }
        self = Key(code, modifiers).asTyped
        if case .character(let character) = self.code, self.modifiers.contains(.control) {
            guard character.isASCII, character.isLetter || "@[\\]^_/ ".contains(character) else { return nil }
        } else if case .character = self.code, self.modifiers.contains(.shift) {
            return nil
        }
    }

    private static let prefixes: [(String, Modifiers)] = [
        ("ctrl-", .control), ("control-", .control), ("c-", .control), ("alt-", .alt), ("meta-", .alt), ("m-", .alt),
        ("shift-", .shift), ("s-", .shift), ("^", .control),
    ]

    /// The key as a terminal sends it: a letter includes Shift, and three control characters are separate keys.
    private var asTyped: Key {
        var key = self
        switch code {
        case .character(let character) where modifiers.contains(.control):
            key.code = .character(Character(character.lowercased()))
            switch key.code {
            case .character("i"): key.code = .tab
            case .character("m"): key.code = .enter
            case .character("["): key.code = .escape
            default: return key
            }
            key.modifiers.remove(.control)
            return key.asTyped
        case .character(let character) where modifiers.contains(.shift) && character.isASCII && character.isLetter:
            key.code = .character(Character(character.uppercased()))
            key.modifiers.remove(.shift)
        case .tab where modifiers.contains(.shift):
            key.code = .backTab
            key.modifiers.remove(.shift)
        default: break
        }
        return key
    }
}

extension Key.Code {
    fileprivate init?(named name: Substring) {
        if name.count == 1, let character = name.first {
            guard !character.isWhitespace, character.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
            else { return nil }
            self = .character(character)
            return
        }
        let name = name.lowercased()
        if let code = Self.names[name] {
            self = code
        } else if name.hasPrefix("f"), let number = Int(name.dropFirst()), (1...35).contains(number),
            name == "f\(number)"
        {
            self = .function(number)
        } else {
            return nil
        }
    }

    private static let names: [String: Key.Code] = [
        "space": .character(" "), "enter": .enter, "return": .enter, "tab": .tab, "backspace": .backspace,
        "del": .delete, "delete": .delete, "ins": .insert, "insert": .insert, "esc": .escape, "escape": .escape,
        "up": .up, "down": .down, "left": .left, "right": .right, "home": .home, "end": .end, "pgup": .pageUp,
        "pageup": .pageUp, "pgdn": .pageDown, "pagedown": .pageDown,
    ]
}
