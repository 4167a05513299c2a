@testable import Terminal

/// A reproducible source of chance.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension Unicode.Scalar {
    /// True for what must never reach a screen or count as text.
    var isForbidden: Bool {
        properties.generalCategory == .control || properties.generalCategory == .format || properties.isBidiControl
            || properties.generalCategory == .lineSeparator || properties.generalCategory == .paragraphSeparator
            || properties.isVariationSelector || properties.isDefaultIgnorableCodePoint
    }
}

extension String {
    /// True when one of its scalars is forbidden.
    var hasForbidden: Bool { unicodeScalars.contains(where: \.isForbidden) }
}

/// Texts made of everything that has ever broken a terminal client, and of chance.
func hostileTexts(count: Int, seed: UInt64) -> [String] {
    let pieces: [String] = [
        "\u{1B}[31m", "\u{1B}]0;title\u{07}", "\u{1B}]52;c;aGk=\u{1B}\\", "\u{9B}2J", "\u{90}q\u{9C}", "\u{7F}",
        "\u{0}",
        "\r", "\n", "\r\n", "\t", "\u{85}", "\u{2028}", "\u{2029}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{FEFF}",
        "\u{AD}", "\u{E0041}", "\u{200D}", "\u{FE0F}", "\u{20E3}", "\u{1F3FD}", "👍", "👨‍👩‍👧", "🇩", "🇩🇪", "漢", "字",
        "e", "\u{301}", "\u{323}", "\u{1100}", "\u{1161}", "\u{11A8}", "한", "क्षि", "\u{1FAE9}", "\u{E000}", "a", " ",
        "1", "\u{600}", "\u{3164}", "\u{FFFF}", "ａ", "\u{0BC6}", "\u{0BBE}", "か", "\u{3099}", "❤",
    ]
    var generator = SeededGenerator(seed: seed)
    return (0..<count).map { _ in
        var text = ""
        for _ in 0..<Int.random(in: 0...24, using: &generator) {
            if Int.random(in: 0..<4, using: &generator) == 0 {
                let value = UInt32.random(in: 0...0x10FFFF, using: &generator)
                if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
            } else if let piece = pieces.randomElement(using: &generator) {
                text.unicodeScalars.append(contentsOf: piece.unicodeScalars)
            }
        }
        return text
    }
}
