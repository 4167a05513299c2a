extension Unicode.Scalar {
    /// Whether a line ends with it: line feed, carriage return, and the separators of lines and paragraphs.
    ///
    /// The one rule for all text that is read, drawn, edited or quoted. The other control characters that separate
    /// words are blanks: tab, and those of ``isBlankControl``.
    public var breaksLine: Bool {
        switch value {
        case 0x0A, 0x0D, 0x2028, 0x2029: true
        default: false
        }
    }

    /// Whether it is a control character that is drawn as one blank: vertical tab, form feed, next line.
    public var isBlankControl: Bool { value == 0x0B || value == 0x0C || value == 0x85 }
}

extension Character {
    /// Whether a line ends with it: CR LF, or a scalar that ends one.
    public var breaksLine: Bool { unicodeScalars.first?.breaksLine ?? false }
}
