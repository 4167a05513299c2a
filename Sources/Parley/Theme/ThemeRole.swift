import Terminal

/// A part of the screen with a look of its own, which is defined here once for every terminal.
enum ThemeRole: Int, CaseIterable, Hashable, Sendable {
    case title, connected, waiting, broken, heading, rule, unread
    /// The person's name in a mention.
    case mention
    case time, dimmed, marker, failure, hintKey, hint, question, overlay
    /// Parts of a message.
    case code, quote, link

    /// Its colour, its attributes besides, and those without colours. Terminals differ in how faint dim text is, so
    /// nothing that is meant to be read is dim.
    var look: (tone: Tone, attributes: Attributes, colorless: Attributes) {
        switch self {
        case .title: (.plain, .bold, .bold)
        case .overlay: (.plain, [], [])
        case .heading: (.accent, .bold, .bold)
        case .hintKey: (.accent, [], .bold)
        case .code: (.accent, [], [])
        case .link: (.accent, .underline, .underline)
        case .connected: (.good, .bold, .bold)
        case .waiting: (.attention, .bold, .bold)
        case .question: (.attention, [.bold, .reverse], [.bold, .reverse])
        case .unread: (.fresh, .bold, .bold)
        case .marker: (.fresh, [], .bold)
        case .mention: (.calling, [.bold, .reverse], [.bold, .reverse])
        case .broken: (.bad, .bold, [.bold, .reverse])
        case .failure: (.bad, [], .bold)
        case .rule: (.quiet, [], .dim)
        case .time, .dimmed, .hint, .quote: (.quiet, [], [])
        }
    }
}

/// A colour of the theme, by its meaning. A colour never carries that alone: a symbol or a word says the same.
enum Tone: CaseIterable, Hashable, Sendable {
    /// The terminal's own colour of text.
    case plain
    /// Where things are, and which keys lead there.
    case accent
    case good
    /// Something waits, or is silent.
    case attention
    case fresh
    case calling
    /// Something failed, or is lost.
    case bad
    /// There to be found, not to be noticed.
    case quiet

    /// The colour at its best on a dark ground, before it is fitted, and for a ground that is light, or may be: as deep
    /// as possible, since pale ones look alike once they are dark enough. Of the entries of a palette of 16, best
    /// first, the first that can be read is used. Nil for the terminal's own.
    var colors: (color: RGB, deep: RGB, basic: [UInt8])? {
        switch self {
        case .plain: nil
        case .accent: (RGB(0x5F9FFF), RGB(0x005FFF), [6, 14, 4, 12])
        case .good: (RGB(0x5FD75F), RGB(0x008700), [2, 10])
        case .attention: (RGB(0xFFAF00), RGB(0xAF5F00), [11, 5])
        case .fresh: (RGB(0x5FD7D7), RGB(0x008787), [14, 4, 12])
        case .calling: (RGB(0xFF87FF), RGB(0xD700D7), [13, 12])
        case .bad: (RGB(0xFF6767), RGB(0xFF0000), [9, 1])
        case .quiet: (RGB(0xA8A8A8), RGB(0x767676), [7])
        }
    }

    /// Colours for people's names, best first; of those that look alike on a ground, only the first is used.
    static let names =
        ([
            0x5FAF5F, 0xFFAF5F, 0x5FAFFF, 0xD75FD7, 0xAFAF00, 0x00AFAF, 0xFF875F, 0xAF87FF, 0xFF5FAF, 0x87D7FF,
            0xD7D787, 0xAFD75F, 0xD7AFAF, 0x8787AF, 0x870087, 0x005F00, 0x5F00AF, 0x5F0000, 0x00005F, 0x875F00,
            0x005F87, 0x00875F, 0x5F5FFF, 0x875FD7, 0xAF5F5F, 0xD700AF,
        ] as [UInt32]).map { RGB($0) }

    /// The same, in entries of a palette of 16.
    static let basicNames: [UInt8] = [6, 2, 13, 11, 9, 14, 10, 5, 4, 1, 3, 12]
}
