import Terminal
import Testing

@testable import Parley

/// A theme, and what a terminal has for it.
enum ScreenLook: String, CaseIterable, CustomTestStringConvertible {
    case dark
    case light
    case directDark
    case directLight
    case sixteen
    case sixteenLight
    case none
    case ascii

    /// The screens on which each look is tried.
    static let sizes = [
        Size(rows: 40, columns: 120), Size(rows: 24, columns: 80), Size(rows: 12, columns: 40),
        Size(rows: 5, columns: 20),
    ]

    var testDescription: String { rawValue }

    var theme: Theme {
        switch self {
        case .dark: Appearance(.dark).theme(colors: 256)
        case .light: Appearance(.light).theme(colors: 256)
        case .directDark: Appearance(.dark).theme(colors: 1 << 24)
        case .directLight: Appearance(.light).theme(colors: 1 << 24)
        case .sixteen: Appearance(.dark).theme(colors: 16)
        case .sixteenLight: Appearance(.light).theme(colors: 16)
        case .none: Appearance(.colorless).theme(colors: 256)
        case .ascii: Appearance(.dark, symbols: .ascii).theme(colors: 256)
        }
    }

    /// Whether a terminal of the theme's kind has a colour, and shows it as the theme means it.
    func has(_ color: Color) -> Bool {
        switch (self, color) {
        case (_, .standard): true
        case (.dark, .indexed(let entry)), (.light, .indexed(let entry)), (.ascii, .indexed(let entry)): entry >= 16
        case (.sixteen, .indexed(let entry)), (.sixteenLight, .indexed(let entry)): entry < 16
        case (.directDark, .rgb), (.directLight, .rgb): true
        default: false
        }
    }
}
