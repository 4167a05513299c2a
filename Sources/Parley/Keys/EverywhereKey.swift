import Terminal

enum EverywhereKey: String, KeyAction {
    static let title = "Everywhere"
    static let tableName = "everywhere"

    case commands, help, quickSwitch, firstUnread, nextUnread, focusTopics, openPostbox, foldTopics, connectionLog,
        openLab, nextPane, previousPane, previousTopic, nextTopic, previousPlace, pageUp, pageDown, readWhole, redraw,
        suspend, interrupt, quit, escape, topic1, topic2, topic3, topic4, topic5, topic6, topic7, topic8, topic9

    /// The topic that it goes to, from 1 to 9.
    var topicNumber: Int? { rawValue.hasPrefix("topic") ? rawValue.last?.wholeNumberValue : nil }

    /// The command that does the same without an argument, if there is one.
    var command: String? {
        switch self {
        case .help: "help"
        case .nextUnread: "next"
        case .openPostbox: "inbox"
        case .connectionLog: "log"
        case .openLab: "lab"
        case .readWhole: "read"
        case .quit: "quit"
        case .commands, .quickSwitch, .firstUnread, .focusTopics, .foldTopics, .nextPane, .previousPane, .previousTopic,
            .nextTopic, .previousPlace, .pageUp, .pageDown, .redraw, .suspend, .interrupt, .escape, .topic1, .topic2,
            .topic3, .topic4, .topic5, .topic6, .topic7, .topic8, .topic9:
            nil
        }
    }

    var binding: KeyBinding {
        switch self {
        case .commands:
            KeyBinding([.control("k"), .alt("x")], "find a command; within a text ^K cuts the rest", hint: "commands")
        case .help: KeyBinding(.function(1), "this help", hint: "help")
        case .quickSwitch: KeyBinding([.control("g"), .alt("g")], "go to a topic, postbox or person", hint: "go to")
        case .firstUnread: KeyBinding([.alt("u")], "what is new here: where you left off", hint: "first unread")
        case .nextUnread: KeyBinding([.alt("a")], "next unread topic, mentions first; then back", hint: "next unread")
        case .focusTopics: KeyBinding(.function(2), "go to the topics", hint: "topics")
        case .openPostbox: KeyBinding(.function(3), "open the postbox", hint: "postbox")
        case .foldTopics: KeyBinding(.function(5), "fold the topics away, or show them")
        case .connectionLog: KeyBinding(.function(8), "open the connection log, or close it", hint: "log")
        case .openLab: KeyBinding(.function(9), "break this chat's connection: a rehearsal", hint: "lab")
        case .nextPane: KeyBinding(.tab, "next pane", hint: "pane")
        case .previousPane: KeyBinding(.backTab, "previous pane")
        case .previousTopic: KeyBinding([Key(.up, .alt), .control("p")], "previous topic")
        case .nextTopic: KeyBinding([Key(.down, .alt), .control("n")], "next topic")
        case .previousPlace: KeyBinding([.alt("/")], "back to where you were, and forth")
        case .pageUp: KeyBinding(.pageUp, "page up")
        case .pageDown: KeyBinding(.pageDown, "page down")
        case .readWhole: KeyBinding(.function(4), "show the full message")
        case .redraw: KeyBinding([.control("l")], "paint the screen again")
        case .suspend: KeyBinding([.control("z")], "suspend; the shell's fg returns")
        case .interrupt: KeyBinding([.control("c")], "clear the text; on no text twice: quit")
        case .quit: KeyBinding([.control("q")], "quit", hint: "quit")
        case .escape: KeyBinding(.escape, "close what lies on top, or go back to the text")
        case .topic1, .topic2, .topic3, .topic4, .topic5, .topic6, .topic7, .topic8, .topic9:
            KeyBinding(rawValue.suffix(1).map { .alt($0) }, "topic \(rawValue.suffix(1))")
        }
    }
}
