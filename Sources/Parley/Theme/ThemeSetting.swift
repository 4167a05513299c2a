import Terminal

/// The colours of the screen, a value in the configuration file.
enum ThemeSetting: String, CaseIterable, Hashable, Sendable, Decodable {
    /// For the ground that the terminal reports.
    case auto
    case dark
    case light
    /// As `auto`, with more contrast.
    case highContrast = "high-contrast"
    case highContrastDark = "high-contrast-dark"
    case highContrastLight = "high-contrast-light"
    /// No colours, as with NO_COLOR.
    case colorless = "none"

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "theme") }

    /// The ground that it names, and the contrast of text on it.
    var look: (ground: Ground?, contrast: Theme.Contrast) {
        switch self {
        case .auto, .colorless: (nil, .standard)
        case .dark: (.dark, .standard)
        case .light: (.light, .standard)
        case .highContrast: (nil, .high)
        case .highContrastDark: (.dark, .high)
        case .highContrastLight: (.light, .high)
        }
    }
}

/// The characters that the screen is drawn with, a value in the configuration file.
enum SymbolSetting: String, CaseIterable, Hashable, Sendable, Decodable {
    /// ASCII if the locale is not UTF-8.
    case auto
    case unicode
    case ascii

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "set of symbols") }
}

/// Whether the terminal is told where links lead, a value in the configuration file.
enum LinkSetting: String, CaseIterable, Hashable, Sendable, Decodable {
    /// If its type supports them.
    case auto
    /// Whatever its type is.
    case osc8
    case off

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "way of links") }

    var use: LinkUse {
        switch self {
        case .auto: .auto
        case .osc8: .always
        case .off: .never
        }
    }
}

extension RawRepresentable where RawValue == String, Self: CaseIterable {
    /// The case that a text names; the error lists all cases.
    static func named(in decoder: any Decoder, kind: String) throws -> Self {
        let name = try decoder.singleValueContainer().decode(String.self)
        if let value = Self(rawValue: name) { return value }
        let known = allCases.map(\.rawValue).joined(separator: ", ")
        let words = "“\(name)” is no \(kind); these are: \(known)"
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: words))
    }
}
