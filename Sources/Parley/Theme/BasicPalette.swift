import Terminal

/// The sixteen basic colours of a terminal.
///
/// Every terminal has its own, and no program can find out which. An entry is used only if it can be read in both of
/// these, on which nearly all others are modelled; if none can, the text keeps the terminal's own colour.
enum BasicPalette {
    static let xterm = colors([
        0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000EE, 0xCD00CD, 0x00CDCD, 0xE5E5E5,
        0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00, 0x5C5CFF, 0xFF00FF, 0x00FFFF, 0xFFFFFF,
    ])

    /// VGA's, as on the Linux console and in the consoles of PCs.
    static let vga = colors([
        0x000000, 0xAA0000, 0x00AA00, 0xAA5500, 0x0000AA, 0xAA00AA, 0x00AAAA, 0xAAAAAA,
        0x555555, 0xFF5555, 0x55FF55, 0xFFFF55, 0x5555FF, 0xFF55FF, 0x55FFFF, 0xFFFFFF,
    ])

    private static func colors(_ numbers: [UInt32]) -> [RGB] { numbers.map { RGB($0) } }

    /// Whether text in this entry, 0…15, has a luminance of the range in every palette, so that it can be read.
    static func isReadable(_ entry: UInt8, in luminances: ClosedRange<Double>) -> Bool {
        [xterm, vga].allSatisfy { luminances.contains($0[Int(entry)].luminance) }
    }

    static func areDistinct(_ one: UInt8, _ other: UInt8, by distance: Double) -> Bool {
        [xterm, vga].allSatisfy { $0[Int(one)].distance(to: $0[Int(other)]) >= distance }
    }
}
