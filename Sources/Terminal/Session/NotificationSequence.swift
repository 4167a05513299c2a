/// A few words that call the person to the terminal while they look elsewhere. They may be anyone's text; what reaches
/// the terminal of them is safe and short.
public struct TerminalNotification: Hashable, Sendable {
    /// What happened, and where.
    public var title: String
    /// The rest of it.
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
    /// OSC 99: a title and a text, with a name by which the next one takes the place of this one (kitty).
    case osc99
}

/// The bytes of a notification. No text can end them, or hold anything that a terminal obeys.
enum NotificationSequence {
    private static let titleColumns = 80
    private static let bodyColumns = 160
    /// Bytes of either at most: terminals refuse payloads above twice that.
    private static let byteLimit = 1_024

    /// Asks whether the terminal takes OSC 99. What does not know it passes over it.
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
        // tmux passes this on to its terminal where `allow-passthrough` is on, and drops it where it is off.
        let escaped = sequence.utf8.flatMap { $0 == 0x1B ? [$0, $0] : [$0] }
        return Array("\u{1B}Ptmux;".utf8) + escaped + Array("\u{1B}\\".utf8)
    }

    private static func shown(_ text: String, columns: Int) -> String {
        var shown = SafeText(String(text.prefix(columns * 4))).truncated(columns: columns)
        // A character can have many bytes.
        while shown.description.utf8.count > byteLimit { shown = shown.truncated(columns: shown.width / 2) }
        return shown.description
    }

    /// Both as one text. A number at its beginning would name another request of the terminal's.
    private static func line(_ title: String, _ body: String) -> String {
        let text = title.isEmpty || body.isEmpty ? title + body : "\(title): \(body)"
        return text.first?.isNumber == true ? "· \(text)" : text
    }

    /// A text without what divides the parts of the sequence. The terminal looks at bytes: a mark behind a semicolon
    /// makes it no other one.
    private static func undivided(_ text: String) -> String {
        let comma = UInt8(ascii: ",")
        return String(decoding: text.utf8.map { $0 == UInt8(ascii: ";") ? comma : $0 }, as: UTF8.self)
    }
}
