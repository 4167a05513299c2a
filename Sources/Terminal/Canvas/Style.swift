/// A colour in a theme; the session maps it to what the terminal can show.
public enum Color: Hashable, Sendable {
    /// The terminal's own foreground or background.
    case standard
    /// An entry of the terminal's palette: 0–7 the basic colours, 8–15 their bright forms, 16–255 the xterm cube and
    /// greys.
    case indexed(UInt8)
    case rgb(red: UInt8, green: UInt8, blue: UInt8)
}

/// How a character is drawn, apart from its colours.
public struct Attributes: OptionSet, Hashable, Sendable {
    /// One bit for each attribute.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Heavier strokes.
    public static let bold = Attributes(rawValue: 1)
    /// Fainter than usual.
    public static let dim = Attributes(rawValue: 2)
    /// Slanted, if the terminal can.
    public static let italic = Attributes(rawValue: 4)
    /// Underlined.
    public static let underline = Attributes(rawValue: 8)
    /// Foreground and background exchanged.
    public static let reverse = Attributes(rawValue: 16)
}

/// Colours and attributes of a cell.
public struct Style: Hashable, Sendable {
    // Packed, because a frame compares thousands of them: 26 bits for each colour, 5 for the attributes, then the link.
    private var bits: UInt64

    /// Makes a style.
    public init(foreground: Color = .standard, background: Color = .standard, attributes: Attributes = []) {
        bits = foreground.packed | background.packed << 26 | UInt64(attributes.rawValue & 0x1F) << 52
    }

    /// The terminal's own colours, no attribute.
    public static var plain: Style { Style() }

    /// The colour of the character.
    public var foreground: Color {
        get { Color(packed: bits & 0x3FF_FFFF) }
        set { bits = bits & ~0x3FF_FFFF | newValue.packed }
    }

    /// The colour behind it.
    public var background: Color {
        get { Color(packed: bits >> 26 & 0x3FF_FFFF) }
        set { bits = bits & ~(0x3FF_FFFF << 26) | newValue.packed << 26 }
    }

    /// Its attributes.
    public var attributes: Attributes {
        get { Attributes(rawValue: UInt8(truncatingIfNeeded: bits >> 52 & 0x1F)) }
        set { bits = bits & ~(0x1F << 52) | UInt64(newValue.rawValue & 0x1F) << 52 }
    }

    /// The number of the canvas's link that the cell belongs to; 0 for none.
    var link: Int {
        get { Int(bits >> 57) }
        set { bits = bits & ~(0x7F << 57) | UInt64(newValue & 0x7F) << 57 }
    }
}

extension Color {
    /// Two bits for the case, 24 for its value.
    fileprivate var packed: UInt64 {
        switch self {
        case .standard: 0
        case .indexed(let number): 1 << 24 | UInt64(number)
        case .rgb(let red, let green, let blue): 2 << 24 | UInt64(red) << 16 | UInt64(green) << 8 | UInt64(blue)
        }
    }

    fileprivate init(packed: UInt64) {
        let value = UInt32(truncatingIfNeeded: packed)
        self =
            switch value >> 24 {
            case 1: .indexed(UInt8(truncatingIfNeeded: value))
            case 2:
                .rgb(
                    red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
                    blue: UInt8(truncatingIfNeeded: value))
            default: .standard
            }
    }
}
