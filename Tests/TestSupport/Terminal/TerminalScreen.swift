/// What a person would see at one moment.
public struct TerminalScreen: Hashable, Sendable, CustomStringConvertible {
    /// Each row's text, without the blanks at its end.
    public internal(set) var rows: [String]
    /// The number of columns.
    public internal(set) var columns: Int
    /// The cursor's row, from 0.
    public internal(set) var cursorRow: Int
    /// The cursor's column, from 0.
    public internal(set) var cursorColumn: Int
    /// What the program has asked the terminal for, among it title, alternate screen and cursor visibility.
    public internal(set) var modes: TerminalModes

    /// The rows as one text.
    public var text: String { rows.joined(separator: "\n") }

    /// Whether a row shows this text.
    public func contains(_ text: String) -> Bool { rows.contains { $0.contains(text) } }

    /// The first row, from 0, that shows this text.
    public func row(containing text: String) -> Int? { rows.firstIndex { $0.contains(text) } }

    /// The screen in a frame, with the cursor's place and the modes: for messages of failed tests.
    public var description: String {
        let edge = String(repeating: "─", count: columns)
        let cursor = "cursor \(cursorRow),\(cursorColumn)\(modes.isCursorVisible ? "" : " hidden")"
        return "┌\(edge)┐\n" + rows.map { "│\($0)" }.joined(separator: "\n") + "\n└\(edge)┘\n"
            + "\(cursor); title “\(modes.title)”; terminal: \(modes)"
    }
}

/// One cell of a terminal's screen.
public struct TerminalCell: Hashable, Sendable {
    /// A colour as the program asked for it.
    public enum Color: Hashable, Sendable {
        /// The terminal's own.
        case standard
        /// Of the palette of 256.
        case indexed(UInt8)
        /// Direct.
        case rgb(UInt8, UInt8, UInt8)
    }

    /// The character with its marks; empty in the right half of a wide one.
    public var text: String
    /// 1 or 2 columns.
    public var width: Int
    /// Bold (SGR 1).
    public var isBold: Bool
    /// Underlined (SGR 4, 21).
    public var isUnderlined: Bool
    /// Italic (SGR 3).
    public var isItalic: Bool
    /// Foreground and background exchanged (SGR 7).
    public var isReversed: Bool
    /// The colour of the character.
    public var foreground: Color
    /// The colour behind it.
    public var background: Color
}
