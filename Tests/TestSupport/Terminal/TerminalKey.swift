/// A key as a person presses it.
public enum TerminalKey: Hashable, Sendable {
    case enter, tab, backTab, escape, backspace, delete, insert
    case up, down, left, right, home, end, pageUp, pageDown
    /// F1 to F12.
    case f(Int)
    /// A letter, or one of `@ [ \ ] ^ _`, held with Control.
    case ctrl(Character)
    /// A character held with Alt.
    case alt(Character)

    /// What an xterm-like terminal sends for this key.
    ///
    /// - Parameter application: whether the program has asked for application cursor keys (DECCKM).
    public func bytes(application: Bool = false) -> [UInt8] {
        let cursor = application ? "\u{1B}O" : "\u{1B}["
        let text: String
        switch self {
        case .enter: text = "\r"
        case .tab: text = "\t"
        case .backTab: text = "\u{1B}[Z"
        case .escape: text = "\u{1B}"
        case .backspace: text = "\u{7F}"
        case .delete: text = "\u{1B}[3~"
        case .insert: text = "\u{1B}[2~"
        case .up: text = cursor + "A"
        case .down: text = cursor + "B"
        case .right: text = cursor + "C"
        case .left: text = cursor + "D"
        case .home: text = cursor + "H"
        case .end: text = cursor + "F"
        case .pageUp: text = "\u{1B}[5~"
        case .pageDown: text = "\u{1B}[6~"
        case .f(let number): text = Self.function(number)
        case .ctrl(let character):
            return [(Array(String(character).uppercased().utf8).first ?? 0x40) & 0x1F]
        case .alt(let character): text = "\u{1B}\(character)"
        }
        return Array(text.utf8)
    }

    private static func function(_ number: Int) -> String {
        let codes = [15, 17, 18, 19, 20, 21, 23, 24]
        switch number {
        case 1...4: return "\u{1B}O" + ["P", "Q", "R", "S"][number - 1]
        case 5...12: return "\u{1B}[\(codes[number - 5])~"
        default: return ""
        }
    }
}
