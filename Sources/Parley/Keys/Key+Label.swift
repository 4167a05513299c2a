import Terminal

extension Key {
    static func plain(_ character: Character) -> Key { Key(.character(character)) }

    /// The key's name for display: `^L`, `Alt-a`, `PgUp`.
    var label: String {
        var prefix = ""
        if modifiers.contains(.alt) { prefix += "Alt-" }
        if modifiers.contains(.shift) { prefix += "Shift-" }
        if modifiers.contains(.control) {
            if case .character(let character) = code, character != " " { return prefix + "^" + character.uppercased() }
            prefix += "Ctrl-"
        }
        return prefix + code.label
    }
}

extension Key.Code {
    fileprivate var label: String {
        switch self {
        case .character(" "): "Space"
        case .character(let character): String(character)
        case .enter: "Enter"
        case .tab: "Tab"
        case .backTab: "Shift-Tab"
        case .backspace: "Backspace"
        case .delete: "Del"
        case .insert: "Ins"
        case .escape: "Esc"
        case .up: "Up"
        case .down: "Down"
        case .left: "Left"
        case .right: "Right"
        case .home: "Home"
        case .end: "End"
        case .pageUp: "PgUp"
        case .pageDown: "PgDn"
        case .function(let number): "F\(number)"
        }
    }
}
