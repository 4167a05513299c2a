/// A key press.
public struct Key: Hashable, Sendable {
    /// Which key.
    public enum Code: Hashable, Sendable {
        /// A character; with `.control`, a lower-case letter or one of `@ [ \ ] ^ _` and space.
        case character(Character)
        /// A function key, from 1.
        case function(Int)
        case enter, tab, backTab, backspace, delete, insert, escape
        case up, down, left, right, home, end, pageUp, pageDown
    }

    /// The keys held down with it: one bit for each, as xterm numbers them.
    public struct Modifiers: OptionSet, Hashable, Sendable {
        /// The set's bits.
        public let rawValue: UInt8

        /// Makes a set from its bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Shift; not set for a character that shift itself produced.
        public static let shift = Modifiers(rawValue: 1)
        /// Alt, Option or Meta.
        public static let alt = Modifiers(rawValue: 2)
        /// Control.
        public static let control = Modifiers(rawValue: 4)
    }

    /// Which key.
    public var code: Code
    /// The keys held down with it.
    public var modifiers: Modifiers

    /// Makes a key press.
    public init(_ code: Code, _ modifiers: Modifiers = []) {
        self.code = code
        self.modifiers = modifiers
    }

    /// A character with control held down.
    public static func control(_ character: Character) -> Key {
        Key(.character(character), .control)
    }

    /// A character with alt held down.
    public static func alt(_ character: Character) -> Key {
        Key(.character(character), .alt)
    }
}

/// What the mouse did.
public struct MouseEvent: Hashable, Sendable {
    /// The kind of a mouse event; a drag is a move with a button held down, and the wheel scrolls.
    public enum Kind: Hashable, Sendable {
        case press, release, drag, scrollUp, scrollDown
    }

    /// A button of the mouse; none for the wheel, and if the terminal named none.
    public enum Button: Hashable, Sendable {
        case left, middle, right, none
    }

    /// What happened.
    public var kind: Kind
    /// The button.
    public var button: Button
    /// The row, from 0.
    public var row: Int
    /// The column, from 0.
    public var column: Int
    /// The keys held down.
    public var modifiers: Key.Modifiers

    /// Makes a mouse event.
    public init(kind: Kind, button: Button, row: Int, column: Int, modifiers: Key.Modifiers = []) {
        self.kind = kind
        self.button = button
        self.row = row
        self.column = column
        self.modifiers = modifiers
    }
}

/// The terminal's answer to a question; never text.
public enum TerminalReply: Hashable, Sendable {
    /// DECRQM: the state of a private mode; 0 not known, 1 set, 2 reset, 3 always set, 4 never set.
    case mode(number: Int, state: Int)
    /// DA1: the terminal's kind. Every terminal answers, so it ends a list of questions.
    case deviceAttributes
    /// CPR: where the cursor is, from 0.
    case cursorPosition(row: Int, column: Int)
    /// OSC 11: the colour behind the text.
    case background(RGB)
    /// OSC 99: the terminal supports notifications.
    case notifications
}

/// Input from the terminal.
public enum InputEvent: Equatable, Sendable {
    /// A key press.
    case key(Key)
    /// A bracketed paste: no control characters but line feed and tab, at most `InputParser.pasteLimit` bytes.
    case paste(String)
    /// The paste before was longer than that; its end is lost.
    case pasteCut
    /// The mouse.
    case mouse(MouseEvent)
    /// The terminal's window came into focus, or went out of it.
    case focusIn, focusOut
    /// An answer to a question; the session uses it.
    case reply(TerminalReply)
}
