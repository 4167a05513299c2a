/// Text for HTML and XML.
enum MarkupText {
    /// A text as it may stand between tags and in quotes. What neither HTML nor XML can hold, and what reorders a line,
    /// becomes U+FFFD: names and reasons come from others.
    static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped.append(contentsOf: "&amp;".unicodeScalars)
            case "<": escaped.append(contentsOf: "&lt;".unicodeScalars)
            case ">": escaped.append(contentsOf: "&gt;".unicodeScalars)
            case "\"": escaped.append(contentsOf: "&quot;".unicodeScalars)
            case "'": escaped.append(contentsOf: "&#39;".unicodeScalars)
            default: escaped.append(isPlain(scalar) ? scalar : "\u{FFFD}")
            }
        }
        return String(escaped)
    }

    /// A text without what moves a terminal's cursor or reorders a line.
    static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { plain.append(isPlain(scalar) ? scalar : "\u{FFFD}") }
        return String(plain)
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFFFE, 0xFFFF: false
        default: true
        }
    }
}
