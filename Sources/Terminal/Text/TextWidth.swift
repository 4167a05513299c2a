/// The columns that characters take, in their safe form.
///
/// Terminals disagree on joined emoji, skin tones, variation selectors and recent characters. The widths here are those
/// of the form that `SafeText` draws instead, on which they all agree.
enum TextWidth {
    /// The columns of a character: 0 for one that the gate drops, usually 1 or 2, more for a few that take more cells.
    static func width(of character: Character) -> Int {
        if let ascii = character.asciiValue, ascii >= 0x20, ascii < 0x7F { return 1 }
        return SafeText(String(character)).width
    }

    /// What the gate does with a scalar on its own.
    enum Kind {
        /// Drawn as one space; in `SafeText.lines` a tab goes to the next stop.
        case blank, tab, lineBreak
        /// Combines with the character before it.
        case mark
        /// Joins the emoji around it.
        case joiner
        case base(width: Int)
        /// Half of a flag.
        case regionalIndicator
        /// Not known to every terminal: drawn as U+FFFD.
        case unknown
        case dropped
    }

    /// Whether a scalar is a character of one column whatever precedes it: printable ASCII, Latin letters, and the
    /// signs of which every frame has hundreds: dashes and dots, arrows, lines and corners, bars and balls.
    static func isPlain(_ value: UInt32) -> Bool {
        switch value {
        case 0x20..<0x7F: true
        case 0xA0..<0x300: value != 0xAD
        case 0x2010...0x2027, 0x2190...0x21FF, 0x2500...0x25FC: true
        default: false
        }
    }

    static func kind(of scalar: Unicode.Scalar) -> Kind {
        let value = scalar.value
        if isPlain(value) { return .base(width: 1) }
        switch value {
        case 0x09: return .tab
        case 0x0A, 0x0D, 0x2028, 0x2029: return .lineBreak
        case 0x0B, 0x0C, 0x85: return .blank
        case 0..<0x20, 0x7F..<0xA0: return .dropped
        case 0x200D: return .joiner
        case 0x20E3: return .dropped
        case 0xAC00...0xD7A3, 0x3041...0x3096, 0x4E00...0x9FFF: return .base(width: 2)
        case 0x1F1E6...0x1F1FF: return .regionalIndicator
        case 0x1160...0x11FF, 0xD7B0...0xD7FB: return scalar.properties.isDefaultIgnorableCodePoint ? .dropped : .mark
        default: break
        }
        let properties = scalar.properties
        if properties.isDefaultIgnorableCodePoint || properties.isVariationSelector || properties.isBidiControl {
            return .dropped
        }
        switch properties.generalCategory {
        case .control, .format, .surrogate: return .dropped
        case .lineSeparator, .paragraphSeparator: return .lineBreak
        case .unassigned: return .unknown
        case .privateUse: return .base(width: 1)
        case .nonspacingMark, .enclosingMark: return isYoung(properties) ? .dropped : .mark
        default:
            if isYoung(properties) { return .unknown }
            return .base(width: WideRanges.contains(value) ? 2 : 1)
        }
    }

    /// Whether it is newer than Unicode 14: system libraries and terminals still disagree on its width.
    private static func isYoung(_ properties: Unicode.Scalar.Properties) -> Bool {
        guard let age = properties.age else { return true }
        return age.major > 14
    }

    static func isSkinTone(_ value: UInt32) -> Bool {
        value >= 0x1F3FB && value <= 0x1F3FF
    }

    /// Whether it is a base that a joiner or a skin tone can change.
    static func isPictograph(_ value: UInt32) -> Bool {
        guard value >= 0x203C, let scalar = Unicode.Scalar(value) else { return false }
        return scalar.properties.isEmoji
    }
}
