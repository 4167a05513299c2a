/// What a terminal can show of colours, and the nearest of them to each colour that a theme names.
///
/// A pure value.
struct ColorPalette: Sendable {
    /// The number of colours: 0 none, 8, 16, 256, or 2²⁴ for direct colour.
    let count: Int

    /// The number that ncurses has for a colour, -1 for the terminal's own, and whether bold replaces brightness.
    func index(of color: Color) -> (number: Int, needsBold: Bool) {
        switch color {
        case .standard: (-1, false)
        case .indexed(let number): index(ofEntry: Int(number))
        case .rgb(let red, let green, let blue): index(of: (Int(red), Int(green), Int(blue)))
        }
    }

    private func index(ofEntry number: Int) -> (number: Int, needsBold: Bool) {
        if number < count, count <= 256 || number < 8 { return (number, false) }
        if number < 16, count >= 8, count < 16 { return (number - 8, true) }
        return index(of: Self.parts(ofEntry: number))
    }

    private func index(of parts: Parts) -> (number: Int, needsBold: Bool) {
        switch count {
        case 0x100_0000...:
            // The first eight numbers are the basic colours, not the darkest blues.
            let number = parts.red << 16 | parts.green << 8 | parts.blue
            return (number < 8 ? 0 : number, false)
        case 256...: return (Self.nearest(to: parts, among: 16..<256), false)
        case 16...: return (Self.nearest(to: parts, among: 0..<16), false)
        case 8...:
            let number = Self.nearest(to: parts, among: 0..<16)
            return (number & 7, number >= 8)
        default: return (-1, false)
        }
    }

    typealias Parts = (red: Int, green: Int, blue: Int)

    private static let levels = [0, 95, 135, 175, 215, 255]

    /// The colour of an entry in xterm's palette.
    static func parts(ofEntry number: Int) -> Parts {
        switch number {
        case 0: return (0, 0, 0)
        case 7: return (229, 229, 229)
        case 8: return (127, 127, 127)
        case 1..<7: return (number & 1 != 0 ? 205 : 0, number & 2 != 0 ? 205 : 0, number & 4 != 0 ? 215 : 0)
        case 9..<16: return (number & 1 != 0 ? 255 : 0, number & 2 != 0 ? 255 : 0, number & 4 != 0 ? 255 : 0)
        case 16..<232:
            let cube = number - 16
            return (levels[cube / 36], levels[cube / 6 % 6], levels[cube % 6])
        default:
            let grey = 8 + (number - 232) * 10
            return (grey, grey, grey)
        }
    }

    private static func nearest(to wanted: Parts, among range: Range<Int>) -> Int {
        var best = range.lowerBound
        var bestDistance = Int.max
        for number in range {
            let parts = parts(ofEntry: number)
            let red = parts.red - wanted.red
            let green = parts.green - wanted.green
            let blue = parts.blue - wanted.blue
            // The eye sees green best and blue least.
            let distance = 3 * red * red + 4 * green * green + 2 * blue * blue
            if distance < bestDistance {
                best = number
                bestDistance = distance
            }
        }
        return best
    }
}
