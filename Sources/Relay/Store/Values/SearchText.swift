/// Text as it is indexed.
///
/// SQLite splits text at everything but letters and digits. Chinese, Japanese and Korean are written with few or no
/// blanks, so that an entire sentence would be one word, found only by its beginning. Here each of their characters
/// becomes a word of its own, and a search for a phrase of such words finds any part of a text.
package enum SearchText {
    /// The text with blanks around each character of a script without blanks.
    static func split(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isUnspaced($0) || $0 == "\0" }) else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if isUnspaced(scalar) {
                result.append(" ")
                result.append(scalar)
                result.append(" ")
            } else {
                // For SQLite, a zero byte ends a text.
                result.append(scalar == "\0" ? " " : scalar)
            }
        }
        return String(result)
    }

    /// Whether a character belongs to a script without blanks: ideographs, kana, bopomofo and hangul.
    package static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x1100: false
        case 0x1100...0x11FF, 0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3040...0x318F, 0x31A0...0x31FF,
            0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA960...0xA97F, 0xAC00...0xD7FF, 0xF900...0xFAFF, 0xFF66...0xFFDC,
            0x20000...0x3FFFF:
            true
        default: false
        }
    }

    /// Whether a character is part of a word, as in SQLite: letters and digits of any script.
    package static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            true
        default: false
        }
    }
}
