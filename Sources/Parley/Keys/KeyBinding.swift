import Terminal

/// One key with its meaning. These tables are the only places that name keys: the dispatch, the help and the hints are
/// made from them, by the `KeyMap` that has the configuration's changes. Each pane has its own; the keys that work in
/// all of them are here.
struct KeyBinding: Hashable, Sendable {
    let action: KeyAction
    let keys: [Key]
    /// What the help says.
    let words: String
    /// What the hint line says; nil for keys that are not hinted.
    let hint: String?

    /// The keys that work everywhere, in the order of the help.
    static let everywhere: [KeyBinding] = [
        .bind(
            .commands, [.control("k"), .alt("x")], "find a command; within a text ^K cuts the rest", hint: "commands"),
        .bind(.help, [Key(.function(1))], "this help", hint: "help"),
        .bind(.quickSwitch, [.control("g"), .alt("g")], "go to a topic, postbox or person", hint: "go to"),
        .bind(.firstUnread, [.alt("u")], "what is new here: where you left off", hint: "first unread"),
        .bind(.nextUnread, [.alt("a")], "next unread topic, mentions first; then back", hint: "next unread"),
        .bind(.focusTopics, [Key(.function(2))], "go to the topics", hint: "topics"),
        .bind(.openPostbox, [Key(.function(3))], "open the postbox", hint: "postbox"),
        .bind(.foldTopics, [Key(.function(5))], "fold the topics away, or show them"),
        .bind(.connectionLog, [Key(.function(8))], "open the connection log, or close it", hint: "log"),
        .bind(.openLab, [Key(.function(9))], "break this chat's connection: a rehearsal", hint: "lab"),
        .bind(.nextPane, [Key(.tab)], "next pane", hint: "pane"),
        .bind(.previousPane, [Key(.backTab)], "previous pane"),
        .bind(.previousTopic, [Key(.up, .alt), .control("p")], "previous topic"),
        .bind(.nextTopic, [Key(.down, .alt), .control("n")], "next topic"),
        .bind(.previousPlace, [.alt("/")], "back to where you were, and forth"),
        .bind(.pageUp, [Key(.pageUp)], "page up"),
        .bind(.pageDown, [Key(.pageDown)], "page down"),
        .bind(.readWhole, [Key(.function(4))], "read a message whole that is cut short"),
        .bind(.redraw, [.control("l")], "paint the screen again"),
        .bind(.suspend, [.control("z")], "suspend; the shell's fg returns"),
        .bind(.interrupt, [.control("c")], "clear the text; on no text twice: quit"),
        .bind(.quit, [.control("q")], "quit", hint: "quit"),
        .bind(.escape, [Key(.escape)], "close what lies on top, or go back to the text"),
        .bind(.topic1, [.alt("1")], "topic 1"),
        .bind(.topic2, [.alt("2")], "topic 2"),
        .bind(.topic3, [.alt("3")], "topic 3"),
        .bind(.topic4, [.alt("4")], "topic 4"),
        .bind(.topic5, [.alt("5")], "topic 5"),
        .bind(.topic6, [.alt("6")], "topic 6"),
        .bind(.topic7, [.alt("7")], "topic 7"),
        .bind(.topic8, [.alt("8")], "topic 8"),
        .bind(.topic9, [.alt("9")], "topic 9"),
    ]

    /// Binds keys to what they do.
    static func bind(_ action: KeyAction, _ keys: [Key], _ words: String, hint: String? = nil) -> KeyBinding {
        KeyBinding(action: action, keys: keys, words: words, hint: hint)
    }
}

extension Key {
    /// The key of a character by itself.
    static func plain(_ character: Character) -> Key { Key(.character(character)) }

    /// The key as a person reads it: `^L`, `Alt-a`, `PgUp`.
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
