import Terminal

/// One key with its meaning. The table below is the only place that names keys: the dispatch, the help and the hints
/// are made from it.
struct KeyBinding: Hashable, Sendable {
    /// Where a key has its meaning.
    enum Scope: String, Hashable, Sendable, CaseIterable {
        case everywhere = "Everywhere"
        case compose = "Compose"
        case sidebar = "Topics"
        case conversation = "Conversation"
        case inbox = "Postbox"
        case log = "Connection log"
    }

    let scope: Scope
    let action: KeyAction
    let keys: [Key]
    /// What the help says.
    let words: String
    /// What the hint line says; nil for keys that are not hinted.
    let hint: String?

    /// All bindings, in the order of the help.
    static let all: [KeyBinding] = [
        bind(.everywhere, .help, [Key(.function(1))], "this help", hint: "help"),
        bind(.everywhere, .focusTopics, [Key(.function(2))], "go to the topics", hint: "topics"),
        bind(.everywhere, .openPostbox, [Key(.function(3))], "open the postbox", hint: "postbox"),
        bind(.everywhere, .connectionLog, [Key(.function(8))], "open the connection log, or close it", hint: "log"),
        bind(.everywhere, .nextPane, [Key(.tab)], "next pane; in a /command: complete it", hint: "pane"),
        bind(.everywhere, .previousPane, [Key(.backTab)], "previous pane"),
        bind(.everywhere, .previousTopic, [Key(.up, .alt), .control("p")], "previous topic"),
        bind(.everywhere, .nextTopic, [Key(.down, .alt), .control("n")], "next topic"),
        bind(.everywhere, .nextUnread, [.alt("a")], "next topic with unread messages", hint: "next unread"),
        bind(.everywhere, .pageUp, [Key(.pageUp)], "page up"),
        bind(.everywhere, .pageDown, [Key(.pageDown)], "page down"),
        bind(.everywhere, .redraw, [.control("l")], "paint the screen again"),
        bind(.everywhere, .suspend, [.control("z")], "suspend; the shell's fg returns"),
        bind(.everywhere, .interrupt, [.control("c")], "clear the text; on no text twice: quit"),
        bind(.everywhere, .quit, [.control("q")], "quit", hint: "quit"),
        bind(.everywhere, .escape, [Key(.escape)], "close what lies on top, or go back to the text"),

        bind(.compose, .send, [Key(.enter)], "send", hint: "send"),
        bind(.compose, .newLine, [Key(.enter, .alt), .control("j")], "new line", hint: "new line"),
        bind(.compose, .toEnd, [Key(.end, .control)], "newest message"),

        bind(.sidebar, .open, [Key(.enter)], "open", hint: "open"),
        bind(.sidebar, .up, [Key(.up)], "up"),
        bind(.sidebar, .down, [Key(.down)], "down"),
        bind(.sidebar, .toBeginning, [Key(.home)], "first"),
        bind(.sidebar, .toEnd, [Key(.end)], "last"),

        bind(.conversation, .up, [Key(.up)], "a line up"),
        bind(.conversation, .down, [Key(.down)], "a line down"),
        bind(.conversation, .toBeginning, [Key(.home)], "oldest message"),
        bind(.conversation, .toEnd, [Key(.end)], "newest message", hint: "newest"),
        bind(.conversation, .open, [Key(.enter)], "go back to the text"),

        bind(.inbox, .open, [Key(.enter)], "open the letter, or close it", hint: "read"),
        bind(.inbox, .mark, [plain(" ")], "mark, or unmark", hint: "mark"),
        bind(.inbox, .delete, [plain("d"), Key(.delete)], "delete the letter", hint: "delete"),
        bind(.inbox, .deleteMarked, [plain("D")], "delete the marked letters", hint: "delete marked"),
        bind(.inbox, .reply, [plain("r")], "reply", hint: "reply"),
        bind(.inbox, .write, [plain("c")], "write a letter"),
        bind(.inbox, .nextPage, [plain("n")], "next page", hint: "next page"),
        bind(.inbox, .previousPage, [plain("p")], "previous page"),
        bind(.inbox, .refresh, [plain("R")], "list again"),
        bind(.inbox, .markAll, [plain("*")], "mark all on this page, or none"),
        bind(.inbox, .up, [Key(.up), plain("k")], "up"),
        bind(.inbox, .down, [Key(.down), plain("j")], "down"),
        bind(.inbox, .toBeginning, [Key(.home)], "first letter"),
        bind(.inbox, .toEnd, [Key(.end)], "last letter"),

        bind(.log, .escape, [Key(.escape)], "close it", hint: "close"),
        bind(.log, .up, [Key(.up)], "a line up", hint: "scroll"),
        bind(.log, .down, [Key(.down)], "a line down"),
        bind(.log, .toBeginning, [Key(.home)], "oldest entry", hint: "oldest"),
        bind(.log, .toEnd, [Key(.end)], "newest entry, and those that follow", hint: "newest"),
    ]

    /// The action of a key in a pane, looked up there first and then everywhere.
    static func action(of key: Key, in scope: Scope) -> KeyAction? {
        table[scope]?[key] ?? table[.everywhere]?[key]
    }

    /// The keys as a person reads them.
    var label: String { keys.map(\.label).joined(separator: " ") }

    private static let table: [Scope: [Key: KeyAction]] = {
        var table: [Scope: [Key: KeyAction]] = [:]
        for binding in all {
            for key in binding.keys { table[binding.scope, default: [:]][key] = binding.action }
        }
        return table
    }()

    private static func plain(_ character: Character) -> Key { Key(.character(character)) }

    private static func bind(
        _ scope: Scope, _ action: KeyAction, _ keys: [Key], _ words: String, hint: String? = nil
    ) -> KeyBinding {
        KeyBinding(scope: scope, action: action, keys: keys, words: words, hint: hint)
    }
}

extension Key {
    /// The key as a person reads it: `^L`, `Alt-a`, `PgUp`.
    var label: String {
        var prefix = ""
        if modifiers.contains(.alt) { prefix += "Alt-" }
        if modifiers.contains(.shift) { prefix += "Shift-" }
        if modifiers.contains(.control) {
            if case .character(let character) = code { return prefix + "^" + character.uppercased() }
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
