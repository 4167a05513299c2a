/// Canonical composition (NFC) of a base and a mark, so that an accented letter is one scalar wherever Unicode has one.
enum Composition {
    /// The scalar that is canonically equivalent to `base` followed by `mark`, or nil.
    static func compose(_ base: UInt32, _ mark: UInt32) -> UInt32? {
        if let syllable = hangul(base, mark) { return syllable }
        guard let first = Unicode.Scalar(base), let second = Unicode.Scalar(mark) else { return nil }
        var pair = String.UnicodeScalarView()
        pair.append(first)
        pair.append(second)
        return table[String(pair)]
    }

    private static func hangul(_ first: UInt32, _ second: UInt32) -> UInt32? {
        switch (first, second) {
        case (0x1100...0x1112, 0x1161...0x1175):
            return 0xAC00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28
        case (0xAC00...0xD7A3, 0x11A8...0x11C2) where (first - 0xAC00) % 28 == 0:
            return first + (second - 0x11A7)
        default:
            return nil
        }
    }

    /// Strings compare and hash by canonical equivalence, so the composed scalars themselves serve as keys. A scalar
    /// without a decomposition only ever matches itself and does no harm.
    private static let table: [String: UInt32] = {
        let blocks: [ClosedRange<UInt32>] = [
            0xC0...0x24F, 0x385...0x3CE, 0x3D3...0x3D4, 0x400...0x4F9, 0x622...0x6D3, 0x929...0x934, 0x9CB...0x9CC,
            0xB48...0xB4C, 0xB94...0xBCC, 0xC48...0xC48, 0xCC0...0xCCB, 0xD4A...0xD4C, 0xDDA...0xDDE, 0x1026...0x1026,
            0x1E00...0x1FFC, 0x304C...0x3094, 0x309E...0x309E, 0x30AC...0x30FE,
        ]
        var table: [String: UInt32] = [:]
        table.reserveCapacity(1600)
        for value in blocks.joined() {
            guard let scalar = Unicode.Scalar(value), !scalar.properties.isFullCompositionExclusion else { continue }
            table[String(scalar)] = value
        }
        return table
    }()
}
