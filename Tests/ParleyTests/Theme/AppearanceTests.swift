import Relay
import Terminal
import Testing

@testable import Parley

@Suite("How the screen is to look")
struct AppearanceTests {
    private static let white = TerminalReply.background(.white)
    private static let black = TerminalReply.background(.black)

    @Test("Without a word of anybody, the first frame can be read on black and on white")
    func unknown() {
        #expect(Appearance().ground == .unknown)
        #expect(Appearance().theme(colors: 256) == .standard)
        #expect(Appearance().asksTerminal && Appearance(.highContrast).asksTerminal)
    }

    @Test("The terminal's word counts more than the environment's, however late it comes, and again when it changes")
    func terminal() {
        var appearance = Appearance(environment: ["COLORFGBG": "15;0"])
        #expect(appearance.ground == .dark)
        let first = appearance.take(Self.white)
        #expect(first && appearance.ground == Ground(.white))
        let same = appearance.take(Self.white)
        #expect(!same)
        let other = appearance.take(.deviceAttributes)
        #expect(!other)
        let next = appearance.take(Self.black)
        #expect(next && appearance.ground == Ground(.black))
    }

    @Test(
        "The configuration's word counts most, and then the terminal is not asked",
        arguments: [
            (.dark, .dark), (.light, .light), (.highContrastDark, .dark), (.highContrastLight, .light),
        ] as [(ThemeSetting, Ground)])
    func configured(setting: ThemeSetting, ground: Ground) {
        var appearance = Appearance(setting, environment: ["COLORFGBG": "0;7"])
        let changes = appearance.take(Self.white)
        #expect(!changes && !appearance.asksTerminal)
        #expect(appearance.ground == ground)
        // Changed while the chat runs, it goes by what the terminal said before.
        appearance.setting = .auto
        #expect(appearance.ground == Ground(.white))
    }

    @Test("The theme without colours has none, whatever the terminal has, and asks it nothing")
    func none() {
        #expect(Appearance(.colorless).theme(colors: 256) == .colorless && !Appearance(.colorless).asksTerminal)
    }

    @Test(
        "COLORFGBG names the ground last; the Linux console is black",
        arguments: [
            (["COLORFGBG": "15;0"], .dark), (["COLORFGBG": "0;15"], .light), (["COLORFGBG": "0;default;15"], .light),
            (["COLORFGBG": "7;8"], .dark), (["COLORFGBG": "0;7"], .light), (["COLORFGBG": "15;default"], .unknown),
            (["COLORFGBG": ""], .unknown), (["COLORFGBG": "1;200"], .unknown), (["COLORFGBG": "x"], .unknown),
            (["TERM": "linux"], Ground(.black)), (["TERM": "xterm"], .unknown),
        ] as [([String: String], Ground)])
    func environment(environment: [String: String], ground: Ground) {
        #expect(Appearance(environment: environment).ground == ground)
    }

    @Test(
        "A locale without UTF-8 is for ASCII; the configuration can say otherwise",
        arguments: [
            ([:], false), (["LANG": "C"], true), (["LANG": "POSIX"], true), (["LANG": "C.UTF-8"], false),
            (["LANG": "de_DE.utf8@euro"], false), (["LANG": "de_DE.ISO-8859-15"], true), (["LC_CTYPE": "UTF-8"], false),
            (["LANG": "C.UTF-8", "LC_ALL": "C"], true), (["LANG": "C", "LC_ALL": "en_US.UTF-8"], false),
            (["LANG": "C", "LC_CTYPE": "C.UTF-8", "LC_ALL": ""], false),
        ] as [([String: String], Bool)])
    func locale(environment: [String: String], isPlain: Bool) {
        #expect(Appearance(environment: environment).usesPlainSymbols == isPlain)
        #expect(!Appearance(symbols: .unicode, environment: environment).usesPlainSymbols)
        #expect(Appearance(symbols: .ascii, environment: environment).usesPlainSymbols)
    }

    @Test("A substitute takes one column, as what it stands for, and states keep symbols of their own")
    func substitutes() {
        for (symbol, other) in PlainSymbols.table {
            #expect(SafeText(String(Character(symbol))).width == 1, "\(symbol)")
            #expect((0x21..<0x7F).contains(other.value))
        }
        let states = ConnectionStatus.State.allCases.compactMap { state in
            state.symbol.unicodeScalars.first.flatMap { PlainSymbols.table[$0] }
        }
        #expect(Set(states).count == ConnectionStatus.State.allCases.count)
    }
}
