/// A character that stands for itself wherever it is typed: of ASCII, or a Latin, Greek or Cyrillic letter of two
/// bytes. It takes one column, joins nothing and is drawn as it is.
struct PlainLetter: Equatable {
    let scalar: UInt32

    /// - Parameter bytes: all that was read.
    init?(_ bytes: some Collection<UInt8>) {
        guard let first = bytes.first else { return nil }
        switch bytes.count {
        case 1:
            guard (0x20...0x7E).contains(first) else { return nil }
            scalar = UInt32(first)
        case 2:
            let second = bytes[bytes.index(after: bytes.startIndex)]
            guard first & 0xE0 == 0xC0, second & 0xC0 == 0x80 else { return nil }
            scalar = UInt32(first & 0x1F) << 6 | UInt32(second & 0x3F)
            guard Self.letters.contains(where: { $0.contains(scalar) }) else { return nil }
        default: return nil
        }
    }

    /// Without marks, which join what is before them, and what Unicode has left free.
    static let letters: [ClosedRange<UInt32>] = [
        0xC0...0x24F, 0x391...0x3A1, 0x3A3...0x3CE, 0x400...0x481, 0x48A...0x52F,
    ]
}
