import Terminal

/// The styles of the screen's parts on one terminal: the roles' looks, rendered in the terminal's colours on its
/// ground. A style never carries a meaning alone: a symbol or a word says the same.
///
/// - From 256 colours on, each is fitted to the ground so that it can be read: with 256, the nearest entry that can be
///   read is used, with direct colour the fitted colour itself. The first sixteen entries are the terminal's own and
///   are not used then.
/// - With 8 or 16, entries are used that can be read in the usual palettes (`BasicPalette`).
/// - Without any, only attributes remain.
struct Theme: Hashable, Sendable {
    enum Contrast: Hashable, Sendable {
        /// At least 4.5, WCAG's AA.
        case standard
        /// At least 7, WCAG's AAA, where the ground allows it, and nothing quieter than the rest.
        case high

        var ratio: Double { self == .high ? 7 : 4.5 }
    }

    /// The least distance between two names' colours, in OKLab.
    static let nameDistance = 0.09

    /// Colours for names; none if colours are off.
    let names: [Color]
    /// The substitutes for symbols; nil if the terminal shows them all.
    var substitutes: [Unicode.Scalar: Unicode.Scalar]?
    /// One for each role, in order.
    let styles: [Style]
    /// Entries of a palette of 16 that bold makes so bright that they cannot be read.
    var fadesInBold: Set<Color> = []

    /// Can be read whatever the terminal's ground is, in 256 colours.
    static let standard = Theme(colors: 256)

    /// For NO_COLOR and terminals without colours: attributes only.
    static let colorless = Theme(colors: 0)

    subscript(role: ThemeRole) -> Style { styles[role.rawValue] }

    // MARK: Styles that depend

    /// The style of a mention's sign or count.
    var calling: Style {
        Style(foreground: mention.foreground, attributes: mention.attributes.subtracting(.reverse))
    }

    /// The style of a search match in a text.
    func found(in style: Style) -> Style {
        var style = emphasized(style)
        style.attributes.insert(.underline)
        return style
    }

    /// The selected row: reversed in one colour, since reversed text of several would be a patchwork.
    func selection(over style: Style) -> Style {
        Style(attributes: style.attributes.subtracting(.dim).union(.reverse))
    }

    /// The style in bold, if its colour can still be read then.
    func emphasized(_ style: Style) -> Style {
        var style = style
        if !fadesInBold.contains(style.foreground) { style.attributes.insert(.bold) }
        return style
    }

    /// The style of a name, the same every day on the same terminal.
    func style(ofName name: String) -> Style {
        guard !names.isEmpty else { return .plain }
        return Style(foreground: names[Int(StableHash.of(name) % UInt64(names.count))])
    }
}

extension Theme {
    /// Renders the roles on a ground in as many colours as the terminal has; 0 for none.
    init(
        ground: Ground = .unknown, colors: Int, contrast: Contrast = .standard,
        substitutes: [Unicode.Scalar: Unicode.Scalar]? = nil
    ) {
        guard colors >= 8 else {
            let styles = ThemeRole.allCases.map { Style(attributes: $0.look.colorless) }
            self.init(names: [], substitutes: substitutes, styles: styles)
            return
        }
        let ink = Ink(ground: ground, colors: colors, contrast: contrast)
        let fading = ink.fadesInBold
        let inks = Dictionary(uniqueKeysWithValues: Tone.allCases.map { ($0, ink.color($0)) })
        let styles = ThemeRole.allCases.map { role in
            let color = inks[role.look.tone] ?? .standard
            let faded: Attributes = fading.contains(color) ? .bold : []
            return Style(foreground: color, attributes: role.look.attributes.subtracting(faded))
        }
        self.init(names: ink.names, substitutes: substitutes, styles: styles, fadesInBold: fading)
    }

    var title: Style { self[.title] }
    var connected: Style { self[.connected] }
    var waiting: Style { self[.waiting] }
    var broken: Style { self[.broken] }
    var heading: Style { self[.heading] }
    var rule: Style { self[.rule] }
    var unread: Style { self[.unread] }
    var mention: Style { self[.mention] }
    var time: Style { self[.time] }
    var dimmed: Style { self[.dimmed] }
    var marker: Style { self[.marker] }
    var failure: Style { self[.failure] }
    var hintKey: Style { self[.hintKey] }
    var hint: Style { self[.hint] }
    var question: Style { self[.question] }
    var overlay: Style { self[.overlay] }
    var code: Style { self[.code] }
    var quote: Style { self[.quote] }
    var link: Style { self[.link] }
}

/// The colours of a terminal that can be read on a ground.
private struct Ink {
    private enum Depth { case basic, indexed, direct }

    private let depth: Depth
    private let contrast: Theme.Contrast
    /// The luminances that can be read; nil if none has the wanted contrast.
    private let luminances: ClosedRange<Double>?
    /// The luminances of colours with a meaning. If the ground may be black or white and the colours are few, those
    /// with full contrast on both look alike, so these have a little less.
    private let toneLuminances: ClosedRange<Double>?
    /// The entries of 256 that have one of these.
    private let entries: [(number: UInt8, luminance: Double, place: RGB.Perceived)]

    init(ground: Ground, colors: Int, contrast: Theme.Contrast) {
        depth = colors < 256 ? .basic : colors < 1 << 24 ? .indexed : .direct
        self.contrast = contrast
        let shown = depth == .basic ? ground.withBasicPalette : ground
        luminances = shown.luminances(contrast: contrast.ratio)
        let isEither = ground == .unknown && contrast == .standard && depth != .direct
        let range = isEither ? shown.luminances(contrast: depth == .basic ? 3.1 : 3.9) : luminances
        toneLuminances = range
        guard depth == .indexed, let range else {
            entries = []
            return
        }
        entries = (16...UInt8.max).compactMap { number in
            guard let color = RGB(paletteEntry: number), case let luminance = color.luminance,
                range.contains(luminance)
            else { return nil }
            return (number, luminance, color.perceived)
        }
    }

    /// The colour of a tone; the terminal's own if none can be read.
    func color(_ tone: Tone) -> Color {
        guard let luminances = toneLuminances, tone != .quiet || contrast == .standard, let colors = tone.colors
        else { return .standard }
        let color = luminances.upperBound < 0.5 ? colors.deep : colors.color
        switch depth {
        case .basic:
            let entry = colors.basic.first { BasicPalette.isReadable($0, in: luminances) }
            return entry.map { .indexed($0) } ?? .standard
        case .indexed:
            return nearest(to: color.fitted(into: luminances), in: luminances).map { .indexed($0) } ?? .standard
        case .direct: return Color(color.fitted(into: luminances))
        }
    }

    /// Colours that look different on this ground.
    var names: [Color] {
        guard let luminances else { return [] }
        if depth == .basic {
            var kept: [UInt8] = []
            for entry in Tone.basicNames where BasicPalette.isReadable(entry, in: luminances) {
                let isNew = kept.allSatisfy { BasicPalette.areDistinct(entry, $0, by: Theme.nameDistance) }
                if isNew { kept.append(entry) }
            }
            return kept.map { .indexed($0) }
        }
        var kept: [(color: Color, place: RGB.Perceived)] = []
        for wanted in Tone.names {
            var shown = wanted.fitted(into: luminances)
            var color = Color(shown)
            if depth == .indexed {
                guard let number = nearest(to: shown, in: luminances), let entry = RGB(paletteEntry: number) else {
                    continue
                }
                shown = entry
                color = .indexed(number)
            }
            let place = shown.perceived
            if kept.allSatisfy({ $0.place.distance(to: place) >= Theme.nameDistance }) { kept.append((color, place)) }
        }
        return kept.map(\.color)
    }

    /// Terminals with few colours show the first eight in bold as the second eight.
    var fadesInBold: Set<Color> {
        guard depth == .basic, let luminances = toneLuminances else { return [] }
        return Set((UInt8(0)..<8).filter { !BasicPalette.isReadable($0 + 8, in: luminances) }.map { .indexed($0) })
    }

    /// The entry of 256 that looks most like a colour. Its hue counts more than its lightness, which was fitted.
    private func nearest(to color: RGB, in luminances: ClosedRange<Double>) -> UInt8? {
        let place = color.perceived
        let readable = entries.lazy.filter { luminances.contains($0.luminance) }
        let distances = readable.map { ($0.number, $0.place.distance(to: place, lightnessWeight: 0.4)) }
        return distances.min { $0.1 < $1.1 }?.0
    }
}
