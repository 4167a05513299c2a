import Terminal

/// What is known of how the screen should look, and the theme that follows: the configuration comes first, then the
/// terminal's reply, then the environment.
///
/// The first frame does not wait for the terminal: without a reply or anything else to go by, it is drawn in colours
/// that can be read on black and on white.
struct Appearance: Hashable, Sendable {
    /// The configured colours; the terminal's reply is kept while they change.
    var setting: ThemeSetting
    var symbols: SymbolSetting
    private let lacksSymbols: Bool
    private let supposed: Ground?
    private var told: RGB?

    init(_ setting: ThemeSetting = .auto, symbols: SymbolSetting = .auto, environment: [String: String] = [:]) {
        self.setting = setting
        self.symbols = symbols
        lacksSymbols = Self.lacksSymbols(environment)
        supposed = Self.ground(environment)
    }

    /// Whether the terminal's reply would change anything.
    var asksTerminal: Bool { setting == .auto || setting == .highContrast }

    /// Whether symbols and lines are drawn in ASCII.
    var usesPlainSymbols: Bool { symbols == .ascii || symbols == .auto && lacksSymbols }

    /// Handles a reply of the terminal, however late it is; true if the theme has to be made again.
    mutating func take(_ reply: TerminalReply) -> Bool {
        guard case .background(let color) = reply, color != told else { return false }
        told = color
        return asksTerminal
    }

    var ground: Ground { setting.look.ground ?? told.map { Ground($0) } ?? supposed ?? .unknown }

    func theme(colors: Int) -> Theme {
        Theme(
            ground: ground, colors: setting == .colorless ? 0 : colors, contrast: setting.look.contrast,
            substitutes: usesPlainSymbols ? PlainSymbols.table : nil)
    }

    // MARK: The environment

    /// rxvt and some others tell the palette entries of text and ground, as in `15;0` or `15;default;0`.
    private static func ground(_ environment: [String: String]) -> Ground? {
        if let last = environment["COLORFGBG"]?.split(separator: ";", omittingEmptySubsequences: false).last,
            let entry = Int(last)
        {
            switch entry {
            case 0...6, 8: return .dark
            case 7, 9...15: return .light
            default: break
            }
        }
        // The console has no other ground, and cannot be asked.
        return environment["TERM"] == "linux" ? Ground(.black) : nil
    }

    /// The first of the three variables that is set decides, as for every program. If none is, UTF-8 is assumed, which
    /// most terminals show.
    private static func lacksSymbols(_ environment: [String: String]) -> Bool {
        let set = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let set else { return false }
        let name = set.prefix { $0 != "@" }
        guard let charset = name.split(separator: ".", maxSplits: 1).last else { return false }
        return !charset.lowercased().filter { $0 != "-" }.hasPrefix("utf8")
    }
}
