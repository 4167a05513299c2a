import Platform

/// A colour in sRGB, and how it looks beside another.
public struct RGB: Hashable, Sendable {
    /// Red, 0…255.
    public var red: UInt8
    /// Green, 0…255.
    public var green: UInt8
    /// Blue, 0…255.
    public var blue: UInt8

    /// Makes a colour from its three components.
    public init(red: UInt8, green: UInt8, blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Makes a colour from a number such as 0xFFAF00.
    public init(_ number: UInt32) {
        self.init(
            red: UInt8(truncatingIfNeeded: number >> 16), green: UInt8(truncatingIfNeeded: number >> 8),
            blue: UInt8(truncatingIfNeeded: number))
    }

    /// The colour of an entry of xterm's palette from 16 on, which terminals show alike: a cube of 216, then 24 greys.
    /// Nil for the first 16, which differ between terminals.
    public init?(paletteEntry number: UInt8) {
        guard number >= 16 else { return nil }
        self = ColorPalette.color(ofEntry: Int32(number))
    }

    /// Black.
    public static let black = RGB(0)
    /// White.
    public static let white = RGB(0xFFFFFF)

    // MARK: Contrast

    /// The relative luminance that WCAG 2 defines, 0 for black to 1 for white.
    public var luminance: Double {
        let parts = linear
        return 0.2126 * parts.red + 0.7152 * parts.green + 0.0722 * parts.blue
    }

    /// The contrast ratio that WCAG 2 defines, 1…21. Text is readable from 4.5 on (AA), and easily from 7 on (AAA).
    public func contrast(with other: RGB) -> Double {
        let (one, two) = (luminance, other.luminance)
        return (max(one, two) + 0.05) / (min(one, two) + 0.05)
    }

    // MARK: Likeness

    /// The perceived difference between two colours, in OKLab: 0 for the same, about 0.02 for one that is just visible
    /// side by side, 1 between black and white.
    public func distance(to other: RGB) -> Double { perceived.distance(to: other.perceived) }

    /// The colour's place in OKLab: lightness from 0 for black to 1 for white, green to red and blue to yellow from
    /// negative to positive.
    public var perceived: Perceived {
        let parts = linear
        let long = cbrt(0.412_221_470_8 * parts.red + 0.536_332_536_3 * parts.green + 0.051_445_992_9 * parts.blue)
        let middle = cbrt(0.211_903_498_2 * parts.red + 0.680_699_545_1 * parts.green + 0.107_396_956_6 * parts.blue)
        let short = cbrt(0.088_302_461_9 * parts.red + 0.281_718_837_6 * parts.green + 0.629_978_700_5 * parts.blue)
        return Perceived(
            lightness: 0.210_454_255_3 * long + 0.793_617_785 * middle - 0.004_072_046_8 * short,
            greenRed: 1.977_998_495_1 * long - 2.428_592_205 * middle + 0.450_593_709_9 * short,
            blueYellow: 0.025_904_037_1 * long + 0.782_771_766_2 * middle - 0.808_675_766 * short)
    }

    /// A place in OKLab, the space in which equal distances look equally large.
    public struct Perceived: Hashable, Sendable {
        let lightness: Double
        let greenRed: Double
        let blueYellow: Double

        /// The distance between two places.
        ///
        /// - Parameter lightnessWeight: less than 1 if the hue matters more than the lightness.
        public func distance(to other: Perceived, lightnessWeight: Double = 1) -> Double {
            let light = lightnessWeight * (lightness - other.lightness)
            let (green, blue) = (greenRed - other.greenRed, blueYellow - other.blueYellow)
            return (light * light + green * green + blue * blue).squareRoot()
        }
    }

    /// A mixture of this colour and another: this one at 0, the other at 1.
    public func mixed(with other: RGB, share: Double) -> RGB {
        func part(_ from: UInt8, _ to: UInt8) -> UInt8 {
            let value = Double(from) + (Double(to) - Double(from)) * min(max(0, share), 1)
            return UInt8(value.rounded())
        }
        return RGB(
            red: part(red, other.red), green: part(green, other.green), blue: part(blue, other.blue))
    }

    /// The components as amounts of light, 0…1.
    private var linear: (red: Double, green: Double, blue: Double) {
        func light(_ part: UInt8) -> Double {
            let value = Double(part) / 255
            return value <= 0.040_45 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return (light(red), light(green), light(blue))
    }
}

extension Color {
    /// A colour by its red, green and blue parts.
    public init(_ rgb: RGB) { self = .rgb(red: rgb.red, green: rgb.green, blue: rgb.blue) }
}
