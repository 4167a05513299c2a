import Terminal

/// The styles of the screen's parts. A style never carries a meaning alone: a symbol or a word says the same.
struct Theme: Hashable, Sendable {
    var title: Style
    var connected: Style
    var waiting: Style
    var broken: Style
    var heading: Style
    var rule: Style
    var unread: Style
    var time: Style
    var own: Style
    var dimmed: Style
    var marker: Style
    var failure: Style
    var hintKey: Style
    var hint: Style
    var question: Style
    var overlay: Style
    /// Colours for names; none where colours are off.
    var names: [Color]

    /// What a search has found in a text.
    func found(in style: Style) -> Style {
        var style = style
        style.attributes.formUnion([.bold, .underline])
        return style
    }

    /// The selected row: reversed in one colour, since reversed words of several would be a patchwork.
    func selection(over style: Style) -> Style {
        Style(attributes: style.attributes.subtracting(.dim).union(.reverse))
    }

    /// Colours of the 256-colour palette that read well on dark and on light grounds.
    static let standard = Theme(
        title: Style(attributes: .bold),
        connected: Style(foreground: .indexed(2), attributes: .bold),
        waiting: Style(foreground: .indexed(3), attributes: .bold),
        broken: Style(foreground: .indexed(1), attributes: .bold),
        heading: Style(foreground: .indexed(6), attributes: .bold),
        rule: Style(foreground: .indexed(8)),
        unread: Style(foreground: .indexed(3), attributes: .bold),
        time: Style(foreground: .indexed(8)),
        own: Style(attributes: .bold),
        dimmed: Style(foreground: .indexed(8)),
        marker: Style(foreground: .indexed(3)),
        failure: Style(foreground: .indexed(1)),
        hintKey: Style(foreground: .indexed(6)),
        hint: Style(foreground: .indexed(8)),
        question: Style(foreground: .indexed(3), attributes: [.bold, .reverse]),
        overlay: .plain,
        names: [31, 35, 37, 61, 67, 71, 97, 103, 107, 109, 130, 131, 133, 136, 139, 166, 167, 168, 172, 173]
            .map { .indexed($0) }
    )

    /// For NO_COLOR and terminals without colours: attributes only.
    static let colorless = Theme(
        title: Style(attributes: .bold),
        connected: Style(attributes: .bold),
        waiting: Style(attributes: .bold),
        broken: Style(attributes: [.bold, .reverse]),
        heading: Style(attributes: .bold),
        rule: Style(attributes: .dim),
        unread: Style(attributes: .bold),
        time: Style(attributes: .dim),
        own: Style(attributes: .bold),
        dimmed: Style(attributes: .dim),
        marker: Style(attributes: .bold),
        failure: Style(attributes: .bold),
        hintKey: Style(attributes: .bold),
        hint: Style(attributes: .dim),
        question: Style(attributes: [.bold, .reverse]),
        overlay: .plain,
        names: []
    )

    /// The style of a name, the same for the same name every day.
    func style(ofName name: String) -> Style {
        guard !names.isEmpty else { return .plain }
        return Style(foreground: names[Int(StableHash.of(name) % UInt64(names.count))])
    }
}
