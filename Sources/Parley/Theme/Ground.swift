import Terminal

/// The background of text, as far as it is known: how light or dark a colour has to be to be read on it.
struct Ground: Hashable, Sendable {
    /// Text has to be lighter than this.
    private var darkest: RGB?
    /// Text has to be darker than this.
    private var lightest: RGB?

    /// A dark ground: black, and every dark scheme up to Nord's.
    static let dark = Ground(darkest: RGB(0x2E3440))
    /// A light ground: white, and every light scheme down to Solarized's darker one.
    static let light = Ground(lightest: RGB(0xEEE8D5))
    /// A ground that may be black or white. Few colours, of medium lightness, can be read on both.
    static let unknown = Ground(darkest: .black, lightest: .white)

    /// The ground on a terminal with a palette of 16, where black and white are entries of the palette. Schemes with
    /// other grounds need terminals with more colours.
    var withBasicPalette: Ground {
        switch self {
        case .dark: Ground(.black)
        case .light: Ground(.white)
        default: self
        }
    }

    /// The luminances of text that has at least this contrast with the ground; nil if there are none.
    func luminances(contrast ratio: Double) -> ClosedRange<Double>? {
        let least = darkest.map { ratio * ($0.luminance + 0.05) - 0.05 } ?? 0
        let most = lightest.map { ($0.luminance + 0.05) / ratio - 0.05 } ?? 1
        guard least <= most, least <= 1, most >= 0 else { return nil }
        return max(0, least)...min(1, most)
    }
}

extension Ground {
    /// A ground of exactly this colour. On any colour either black or white has a contrast of 4.58 or more.
    init(_ color: RGB) {
        let isDark = color.contrast(with: .white) >= color.contrast(with: .black)
        self = isDark ? Ground(darkest: color) : Ground(lightest: color)
    }
}

extension RGB {
    /// The colour, lightened or darkened just enough to be within `luminances`; its hue stays.
    func fitted(into luminances: ClosedRange<Double>) -> RGB {
        let luminance = luminance
        guard !luminances.contains(luminance) else { return self }
        let lightens = luminance < luminances.lowerBound
        // A little beyond the bound, since the parts are rounded; the narrowest range is twice as wide.
        let margin = min(0.004, (luminances.upperBound - luminances.lowerBound) / 2)
        let wanted = lightens ? luminances.lowerBound + margin : luminances.upperBound - margin
        let end = lightens ? RGB.white : .black
        var (low, high) = (0.0, 1.0)
        for _ in 0..<12 {
            let share = (low + high) / 2
            let isShort = (mixed(with: end, share: share).luminance < wanted) == lightens
            if isShort { low = share } else { high = share }
        }
        let fitted = mixed(with: end, share: high)
        return luminances.contains(fitted.luminance) ? fitted : end
    }
}
