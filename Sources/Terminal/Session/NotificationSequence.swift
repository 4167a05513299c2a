/// A notification for a person who looks elsewhere. Its texts may be anyone's; they are made safe and short for the
/// terminal.
public struct TerminalNotification: Hashable, Sendable {
    /// What happened, and where.
    public var title: String
    /// The details.
    public var body: String

    /// Makes a notification.
    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// A way in which a terminal can notify the person.
public enum NotificationMethod: Hashable, Sendable {
    /// The bell.
    case bell
    /// OSC 9: one text (iTerm2).
    case osc9
    /// OSC 777: a title and a text (rxvt-unicode, foot, WezTerm, Ghostty).
    case osc777
    /// OSC 99: a title and a text, with an identifier by which the next one replaces this one (kitty).
    case osc99
}

/// The bytes of a notification. No text can end them, or contain a control sequence.
enum NotificationSequence {
    private static let titleColumns = 80
    private static let bodyColumns = 160
    /// The most bytes of either: terminals refuse payloads above twice that.
    private static let byteLimit = 1_024

    /// Asks whether the terminal supports OSC 99. One that does not ignores it.
    static let question = "\u{1B}]99;\(NotificationReply.identifier):p=?;\u{1B}\\"

    static func bytes(_ notification: TerminalNotification, by method: NotificationMethod, isInTmux: Bool) -> [UInt8] {
        let title = shown(notification.title, columns: titleColumns)
        let body = shown(notification.body, columns: bodyColumns)
        let sequence: String
        switch method {
        case .bell: return [0x07]
        case .osc9: sequence = "\u{1B}]9;\(line(title, body))\u{1B}\\"
        case .osc777: sequence = "\u{1B}]777;notify;\(undivided(title));\(undivided(body))\u{1B}\\"
        case .osc99:
            let name = NotificationReply.identifier
            sequence = "\u{1B}]99;\(name):d=0;\(title)\u{1B}\\" + "\u{1B}]99;\(name):p=body;\(body)\u{1B}\\"
        }
        guard isInTmux else { return Array(sequence.utf8) }
        // tmux passes this on to its terminal if `allow-passthrough` is on, and drops it otherwise.
        let escaped = sequence.utf8.flatMap { $0 == 0x1B ? [$0, $0] : [$0] }
        return Array("\u{1B}Ptmux;".utf8) + escaped + Array("\u{1B}\\".utf8)
    }

    private static func shown(_ text: String, columns: Int) -> String {
        var shown = SafeText(String(text.prefix(columns * 4))).truncated(columns: columns)
        // A character can have many bytes.
        while shown.description.utf8.count > byteLimit { shown = shown.truncated(columns: shown.width / 2) }
        return shown.description
    }

    /// Both as one text. A number at its beginning would make it another request to the terminal.
    private static func line(_ title: String, _ body: String) -> String {
        let text = title.isEmpty || body.isEmpty ? title + body : "\(title): \(body)"
        return text.first?.isNumber == true ? "· \(text)" : text
    }

    /// A text without the separator of the sequence's parts. The terminal compares bytes, so that a semicolon with a
    /// combining mark is one, too.
    private static func undivided(_ text: String) -> String {
        let comma = UInt8(ascii: ",")
        return String(decoding: text.utf8.map { $0 == UInt8(ascii: ";") ? comma : $0 }, as: UTF8.self)
    }
}
