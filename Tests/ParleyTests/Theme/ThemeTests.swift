import Relay
import Terminal
import TestSupport
import Testing

@testable import Parley

@Suite("Themes")
struct ThemeTests {
    private static let direct = 1 << 24

    /// Grounds of common schemes: black, Visual Studio Code, Dracula, Solarized, Gruvbox and Nord.
    private static let darkGrounds: [UInt32] = [0x000000, 0x1E1E1E, 0x282A36, 0x002B36, 0x282828, 0x2E3440]
    /// White, xterm's ivory, Solarized, Gruvbox, PaperColor, and Solarized's darker one.
    private static let lightGrounds: [UInt32] = [0xFFFFFF, 0xFFFFF0, 0xFDF6E3, 0xFBF1C7, 0xEEEEEE, 0xEEE8D5]

    /// The colours that an entry may have: one from the 17th on, those of the usual palettes before.
    private static func colors(_ color: Color) -> [RGB] {
        switch color {
        case .standard: []
        case .indexed(let entry):
            RGB(paletteEntry: entry).map { [$0] } ?? [BasicPalette.xterm[Int(entry)], BasicPalette.vga[Int(entry)]]
        case .rgb(let red, let green, let blue): [RGB(red: red, green: green, blue: blue)]
        }
    }

    /// The least contrast of a style's text with a ground; nil for the terminal's own colours.
    private static func contrast(_ style: Style, on ground: RGB) -> Double? {
        colors(style.foreground).map { $0.contrast(with: ground) }.min()
    }

    private static func expectReadable(
        _ theme: Theme, on grounds: [RGB], ratio: Double = 4.5, _ name: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for ground in grounds {
            for role in ThemeRole.allCases {
                #expect(theme[role].background == .standard, sourceLocation: sourceLocation)
                let found = Self.contrast(theme[role], on: ground) ?? 21
                #expect(found >= ratio, "\(name) \(role) on \(ground)", sourceLocation: sourceLocation)
            }
            for color in theme.names {
                let found = Self.contrast(Style(foreground: color), on: ground) ?? 21
                #expect(found >= ratio, "\(name) \(color) on \(ground)", sourceLocation: sourceLocation)
            }
        }
    }

    private static let tinted: [ThemeRole] = [
        .connected, .waiting, .broken, .heading, .unread, .mention, .marker, .failure,
    ]

    // MARK: Readable

    @Test(
        "Every role and every name can be read, by WCAG AA, on dark, light and unknown grounds",
        arguments: [256, direct])
    func readable(colors: Int) {
        let dark = Self.darkGrounds.map { RGB($0) }
        let light = Self.lightGrounds.map { RGB($0) }
        Self.expectReadable(Theme(ground: .dark, colors: colors), on: dark, "dark")
        Self.expectReadable(Theme(ground: .light, colors: colors), on: light, "light")
        // Of 256 no two hues have the whole contrast on both.
        let unknown = Theme(ground: .unknown, colors: colors)
        Self.expectReadable(unknown, on: [.black, .white], ratio: colors == 256 ? 3.9 : 4.5, "unknown")
        for color in unknown.names {
            for ground in [RGB.black, .white] {
                #expect(Self.contrast(Style(foreground: color), on: ground).map { $0 >= 4.5 } == true)
            }
        }
        for ground in [Ground.dark, .light, .unknown] {
            let theme = Theme(ground: ground, colors: colors)
            #expect(Self.tinted.allSatisfy { theme[$0].foreground != .standard })
            #expect(theme.waiting.foreground != theme.connected.foreground)
        }
    }

    @Test(
        "On a ground that the terminal names, whatever it is, every role and every name can be read", .processorBound,
        arguments: [256, direct])
    func anyGround(colors: Int) async {
        let steps: [UInt8] = [0, 85, 170, 255]
        var grounds = steps.flatMap { red in
            steps.flatMap { green in steps.map { RGB(red: red, green: green, blue: $0) } }
        }
        // Around the grey on which black and white are read alike.
        grounds += (110...126).map { (part: UInt8) in RGB(red: part, green: part, blue: part) }
        for ground in grounds {
            await Task.yield()
            let theme = Theme(ground: Ground(ground), colors: colors)
            Self.expectReadable(theme, on: [ground])
            #expect(Self.tinted.allSatisfy { theme[$0].foreground != .standard })
        }
    }

    @Test("With high contrast every role has 7 to 1", arguments: [256, direct])
    func highContrast(colors: Int) {
        for (ground, shown) in [
            (Ground.dark, Self.darkGrounds), (.light, Self.lightGrounds), (Ground(.black), [0]),
            (Ground(.white), [0xFFFFFF]),
        ] as [(Ground, [UInt32])] {
            let theme = Theme(ground: ground, colors: colors, contrast: .high)
            Self.expectReadable(theme, on: shown.map { RGB($0) }, ratio: 7)
            #expect(theme.time == .plain && theme.hint == .plain)
            #expect(theme.waiting.foreground != .standard)
        }
        // Nothing has 7 to 1 on black and on white: what is not known keeps the terminal's own colours.
        let unknown = Theme(ground: .unknown, colors: colors, contrast: .high)
        #expect(ThemeRole.allCases.allSatisfy { unknown[$0].foreground == .standard } && unknown.names.isEmpty)
        #expect(unknown.waiting.attributes == .bold)
    }

    @Test("With 8 or 16 colours every role can be read in xterm's palette and in VGA's", arguments: [8, 16])
    func basic(colors: Int) {
        for (ground, shown) in [(Ground.dark, RGB.black), (.light, .white), (Ground(RGB(0x1E1E1E)), RGB(0x1E1E1E))]
            as [(Ground, RGB)]
        {
            let theme = Theme(ground: ground, colors: colors)
            Self.expectReadable(theme, on: [shown])
            // Terminals with few colours show the first eight in bold as the second eight.
            let styles =
                ThemeRole.allCases.map { theme[$0] } + theme.names.map { theme.emphasized(Style(foreground: $0)) }
            for style in styles where style.attributes.contains(.bold) {
                guard case .indexed(let entry) = style.foreground, entry < 8 else { continue }
                let bright = Style(foreground: .indexed(entry + 8))
                #expect(Self.contrast(bright, on: shown).map { $0 >= 4.5 } == true, "\(style) on \(shown)")
            }
        }
        let dark = Theme(ground: .dark, colors: colors)
        #expect(dark.connected.foreground == .indexed(2) && dark.waiting.foreground == .indexed(11))
        #expect(dark.broken.foreground == .indexed(9))
        let light = Theme(ground: .light, colors: colors)
        #expect(light.waiting.foreground == .indexed(5) && light.broken.foreground == .indexed(1))
        #expect(light.broken.attributes == [])
        // What can be told on black and on white alike is little, and quieter text keeps the terminal's own colour.
        let unknown = Theme(ground: .unknown, colors: colors)
        Self.expectReadable(unknown, on: [.black, .white], ratio: 3.1, "unknown")
        #expect(unknown.waiting.foreground == .indexed(5) && unknown.broken.foreground == .indexed(9))
        #expect(unknown.unread.foreground == .indexed(12) && unknown.mention.foreground == .indexed(12))
        #expect(unknown.dimmed.foreground == .standard && unknown.names.isEmpty)
    }

    @Test(
        "What is new, who is called, what waits and what failed are told apart by hue, whatever is known of the ground",
        arguments: [8, 16, 256, direct])
    func hues(colors: Int) {
        let roles: [ThemeRole] = [.unread, .mention, .waiting, .failure]
        for (name, ground) in [
            ("unknown", Ground.unknown), ("dark", .dark), ("light", .light), ("black", Ground(.black)),
            ("white", Ground(.white)),
        ] {
            let theme = Theme(ground: ground, colors: colors)
            for (index, one) in roles.enumerated() {
                for other in roles[..<index] {
                    let (left, right) = (theme[one], theme[other])
                    // With few colours a name that is called is told from what is new by being reversed.
                    if left.foreground == right.foreground, colors <= 16, ground == .unknown {
                        #expect(left.attributes.contains(.reverse) != right.attributes.contains(.reverse))
                        continue
                    }
                    let distances = zip(Self.colors(left.foreground), Self.colors(right.foreground)).map {
                        $0.distance(to: $1)
                    }
                    #expect(distances.min().map { $0 >= 0.12 } == true, "\(name): \(one) and \(other), \(distances)")
                }
            }
        }
    }

    @Test("Without colours nothing that is to be read is faint")
    func colorless() {
        for role in ThemeRole.allCases {
            #expect(Theme.colorless[role].foreground == .standard && Theme.colorless[role].background == .standard)
            #expect(role == .rule || !Theme.colorless[role].attributes.contains(.dim))
        }
        #expect(Theme.colorless.names.isEmpty && Theme.colorless.style(ofName: "bob") == .plain)
    }

    // MARK: Names

    @Test("The colours of two names never look nearly alike")
    func names() {
        let cases: [(Ground, Int, Int)] = [
            (.dark, 256, 10), (.dark, Self.direct, 10), (.light, 256, 10), (.light, Self.direct, 9),
            (.unknown, 256, 5), (.unknown, Self.direct, 6), (Ground(.black), 256, 12), (Ground(.white), 256, 12),
            (.dark, 16, 5), (.light, 16, 3),
        ]
        for (ground, colors, least) in cases {
            let names = Theme(ground: ground, colors: colors).names
            #expect(names.count >= least, "\(colors) colours: \(names.count)")
            for (index, one) in names.enumerated() {
                for other in names[..<index] {
                    for (left, right) in zip(Self.colors(one), Self.colors(other)) {
                        #expect(left.distance(to: right) >= Theme.nameDistance, "\(one) and \(other)")
                    }
                }
            }
        }
    }

    @Test("On white, the whole screen of an outage can be read: the state, what waits, and where it is said")
    func outageOnWhite() {
        let desk = Scene.outage(Size(rows: 24, columns: 80))
        for colors in [16, 256, Self.direct] {
            let theme = Theme(ground: Ground(.white), colors: colors)
            let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: theme)
            for row in 0..<24 {
                for column in 0..<80 {
                    let found = Self.contrast(frame[row, column].style, on: .white) ?? 21
                    #expect(found >= 4.5, "row \(row), column \(column) of \(frame.text(row: row))")
                }
            }
        }
    }

    // MARK: The same screen

    @Test("In every theme the screen says the same")
    func sameText() {
        for desk in [Scene.chat(Size(rows: 24, columns: 80)), Scene.outage(Size(rows: 12, columns: 40))] {
            let expected = desk.screen()
            for setting in ThemeSetting.allCases {
                for colors in [0, 8, 16, 88, 256, Self.direct] {
                    let theme = Appearance(setting, symbols: .unicode).theme(colors: colors)
                    let frame = render(desk.model, size: desk.model.size, now: desk.model.now.instant, theme: theme)
                    #expect(frame.rows == expected)
                }
            }
        }
    }

    @Test("In ASCII no symbol of the program's own is left, on any screen")
    func onlyASCII() {
        let theme = Appearance(symbols: .ascii).theme(colors: 0)
        for size in [Size(rows: 40, columns: 120), Size(rows: 12, columns: 40), Size(rows: 5, columns: 20)] {
            for desk in [Scene.outage(size), Scene.inbox(size), Scene.log(size), Scene.help(size)] {
                let frame = render(desk.model, size: size, now: desk.model.now.instant, theme: theme)
                let own = frame.rows.joined().unicodeScalars.filter { !$0.isASCII }
                // A name and a text of the scene are no symbols.
                #expect(
                    own.allSatisfy { "李小龍日本語のテキスト👍".unicodeScalars.contains($0) },
                    "\(String(String.UnicodeScalarView(own)))")
            }
        }
    }
}
