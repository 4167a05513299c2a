/// The colours that a terminal can show, and the nearest of them to a theme's. A pure value.
struct ColorPalette: Sendable {
    /// The number of colours: 0 none, 8, 16, 256, or 2²⁴ for direct colour.
    let count: Int

    /// ncurses's number for a colour, -1 for the terminal's own, and whether bold stands for its brightness.
    func index(of color: Color) -> (number: Int32, needsBold: Bool) {
        switch color {
        case .standard: (-1, false)
        case .indexed(let number): index(ofEntry: Int32(number))
        case .rgb(let red, let green, let blue): index(of: RGB(red: red, green: green, blue: blue))
        }
    }

    private func index(ofEntry number: Int32) -> (number: Int32, needsBold: Bool) {
        if number < count, count <= 256 || number < 8 { return (number, false) }
        if number < 16, count >= 8, count < 16 { return (number - 8, true) }
        return index(of: Self.color(ofEntry: number))
    }

    private func index(of color: RGB) -> (number: Int32, needsBold: Bool) {
        switch count {
        case 0x100_0000...:
            // The first eight numbers are the basic colours, not the darkest blues.
            let number = Int32(color.red) << 16 | Int32(color.green) << 8 | Int32(color.blue)
            return (number < 8 ? 0 : number, false)
        case 256...: return (Self.nearest(to: color, among: 16..<256), false)
        case 16...: return (Self.nearest(to: color, among: 0..<16), false)
        case 8...:
            let number = Self.nearest(to: color, among: 0..<16)
            return (number & 7, number >= 8)
        default: return (-1, false)
        }
    }

    private static let levels: [UInt8] = [0, 95, 135, 175, 215, 255]

    private static let basic: [RGB] = [
        0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000D7, 0xCD00D7, 0x00CDD7, 0xE5E5E5,
        0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00, 0x0000FF, 0xFF00FF, 0x00FFFF, 0xFFFFFF,
    ].map { RGB($0) }

    /// The colour of an entry in xterm's palette.
    static func color(ofEntry number: Int32) -> RGB {
        if number < 16 { return basic[Int(number)] }
        if number < 232 {
            let cube = Int(number) - 16
            return RGB(red: levels[cube / 36], green: levels[cube / 6 % 6], blue: levels[cube % 6])
        }
        let grey = UInt8(8 + (number - 232) * 10)
        return RGB(red: grey, green: grey, blue: grey)
    }

    private static func nearest(to wanted: RGB, among range: Range<Int32>) -> Int32 {
        func distance(_ number: Int32) -> Int {
            let color = color(ofEntry: number)
            let red = Int(color.red) - Int(wanted.red)
            let green = Int(color.green) - Int(wanted.green)
            let blue = Int(color.blue) - Int(wanted.blue)
            // The eye sees green best and blue least.
            return 3 * red * red + 4 * green * green + 2 * blue * blue
        }
        return range.min { distance($0) < distance($1) } ?? range.lowerBound
    }
}
