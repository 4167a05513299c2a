/// What it takes to lay out a character in its row, in two bytes.
struct DrawnCharacter {
    /// The columns it takes, or ``lineBreak``.
    let columns: UInt8
    /// The character's only byte in UTF-8; 0 if it has more.
    let byte: UInt8

    static let lineBreak = UInt8.max

    init(_ character: Character) {
        let bytes = character.utf8
        byte = bytes.count == 1 ? bytes.first ?? 0 : 0
        if character.breaksLine {
            columns = Self.lineBreak
        } else if character == "\t" {
            columns = 1
        } else {
            columns = UInt8(clamping: min(TextWidth.width(of: character), Int(Self.lineBreak) - 1))
        }
    }

    var isBreak: Bool { columns == Self.lineBreak }

    /// Whether it is a blank, so that a row can end after it.
    var isBlank: Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == 0x0B || byte == 0x0C }

    /// A shortcut for printable ASCII, which most characters are; nil for others.
    var plain: Cluster? { byte >= 0x20 && byte < 0x7F ? Cluster(ascii: byte) : nil }

    /// The columns it takes in a row of `width`.
    func columns(in width: Int) -> Int { isBreak ? 0 : min(Int(columns), width) }
}
